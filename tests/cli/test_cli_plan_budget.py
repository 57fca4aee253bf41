"""`crda-spec plan` for a graph that claims more than the test of a graph looks at."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture
def wide(tmp_path):
    """Seventy features, two of them causes of the target, the others each an effect of the one before."""
    rng = np.random.default_rng(0)
    names = [f"x{k:02}" for k in range(70)]
    lines = [",".join([*names, "y"]), *(",".join(f"{v:.3f}" for v in row) for row in rng.normal(size=(40, 71)))]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "spec.yaml").write_text(
        "version: 1\nrecipe: paper\nname: wide\ndataset:\n  source: {kind: csv, path: wide.csv}\n  target: y\n"
        f"causal:\n  graph:\n    kind: edges\n    edges:\n      - {' -> '.join(names)}\n      - '{{x00 x01}} -> y'\n"
        "regressor: {kind: ridge}\n"
    )
    return tmp_path / "spec.yaml"


def test_the_plan_says_how_many_of_the_independencies_are_tested(wide, command):
    text = command("crda-spec", "plan", wide).out
    start = text.index("  test of the graph:")
    assert text[start : text.index("  screen:")] == (
        "  test of the graph: of the 2414 independencies that the graph implies, the 2000\n"
        "    nearest the target (the others are not tested), alpha 0.05 over all of them\n"
        "    together; compared with 100 permuted graphs; if refuted: recertify (add the\n"
        "    suggested arrows; noise is carried if no cause is lost)\n"
    )


def test_machines_get_the_statements_and_the_count(wide, command):
    planned = json.loads(command("crda-spec", "plan", wide, "--json").out)
    assert planned["certificate"]["independencies"] == 71 * 70 // 2 - 69 - 2
    implied = planned["falsify"]["implied"]
    assert len(implied) == 2000
    assert sum(" _||_ y" in each for each in implied) == 68

"""docs/labels.md quotes what was measured, and its spec loads."""

import json
import re
from pathlib import Path

import yaml

from crda_spec.spec.run import Counterfactual

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "labels.md").read_text(encoding="utf-8")


def figures(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["figures"]


def test_the_table_is_what_was_measured():
    told = figures("labels")
    rows = re.findall(
        r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", TEXT, re.MULTILINE
    )
    assert [row[0] for row in rows] == ["plain", "none", "half", "own", "matched", "own_scaled"]
    for rule, *values in rows:
        keys = ("mean", "quantile", "coverage", "simulation", "moved_simulation")
        assert [float(value) for value in values] == [told[f"{rule}_{key}"] for key in keys]
    assert f"{told['seeds']} seeds" in TEXT
    worst = {
        key: max(told[name] for name in told if name.endswith(f"_{key}_se")) for key in ("mean", "quantile", "coverage")
    }
    quoted = "at most {mean} for the mean, {quantile} for the quantile, {coverage} for the coverage".format(**worst)
    assert quoted in TEXT


def test_the_costs_are_what_was_measured():
    told = figures("generation")
    assert told["peak_rows"] == 10 * told["rows"] == 10_000_000
    assert f"took {told['peak_mb']:.0f} MB" in TEXT
    assert f"took {told['generation_ratio']:.2f} times" in TEXT
    assert f"{told['generation_ratio_noise']:.2f} with noise carried" in TEXT
    assert f"{told['generation_ratio_single']:.2f} with a single such model" in TEXT


def test_the_example_is_a_valid_section():
    (block,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    section = yaml.safe_load(block)["counterfactual"]
    assert Counterfactual.model_validate_json(json.dumps(section)).noise.kind == "location_scale"

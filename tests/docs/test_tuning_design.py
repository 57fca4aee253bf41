"""docs/design/tuning.md: its table is the code's, and its counts are those of `crda-spec plan`."""

import re
from pathlib import Path

from crda_spec.pipeline import estimate
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec
from crda_spec.spec.tune import PINNED_KNOBS, Knobs, usual_knobs

PAGE = (Path(__file__).parents[2] / "docs" / "design" / "tuning.md").read_text()
SPEC = """version: 1
recipe: paper
name: counted
dataset:
  source: {kind: synthetic, world: paper_synthetic, rows: 300}
  target: y
regressor: {kind: xgboost}
tune:
  kind: randomized
  augmentation: {kind: tpe}
"""


def test_the_table_of_knobs_is_the_codes():
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:`|how).*?\| (.*) \|$", PAGE, flags=re.MULTILINE))
    assert list(rows) == ["max_features", "factor", "reach", "retention", "weight", "teacher", "policy"]
    assert set(rows) == set(Knobs.model_fields)
    for name, cells in rows.items():
        paper, ours = (cell.strip() for cell in cells.split(" | "))
        usual = getattr(usual_knobs("paper", "mlp"), name)
        assert paper.startswith("pinned") == (name in PINNED_KNOBS["paper"])
        assert (paper == "not searched") == (usual is None and name not in PINNED_KNOBS["paper"])
        if usual is not None:
            said = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", paper)]
            assert said == list(usual) or said == [*usual[:2], usual[-1]]
        for kind, told in (("xgboost", _for(ours, "trees")), ("mlp", _for(ours, "others"))):
            mine = getattr(usual_knobs("distilled", kind), name)
            assert (told == "not searched") == (mine is None)
            if mine is not None and name in ("factor", "retention", "weight"):
                assert [float(one) for one in told.split(", ")] == list(mine)
            elif name in ("teacher", "policy"):
                assert [one.split()[0] for one in told.split(", ")] == [one.kind for one in mine]


def _for(cell, students):
    """`trees: 1, 2; others: 3, 4` -> the part that is about these students."""
    parts = dict(part.split(": ", 1) for part in cell.split("; ")) if "; " in cell else {}
    return parts.get(students, cell)


def cost(folder, text):
    (folder / "spec.yaml").write_text(text)
    return estimate(build_plan(*load_spec(folder / "spec.yaml")))


def test_the_counts_are_those_of_the_plan(tmp_path):
    nested = cost(tmp_path, SPEC)
    apart = cost(tmp_path, SPEC + "  on: {kind: split}\n")
    assert f"= {nested.fits_per_fold} fits" in PAGE
    assert f"at most {nested.fits_at_most}," in PAGE
    assert f"takes {apart.fits_to_tune} + {apart.fits_at_most - apart.fits_to_tune} fits" in PAGE

"""The paper's linear-regression study: with `linear` and no graph, what does the gate say on the nine tables?

    python benchmarks/linear_study.py [--quick]

The paper's Table 11 shows changes within noise and p-values near a half for ordinary least squares. Its residuals are
uncorrelated with every feature by construction, so a screen of them has not screened anything, and our run abstains
before the gate. `--quick` uses 300 rows of each table.

- `abstained`: on how many of the tables the plain model is kept because nothing may move.
- `decisions`: by table.  `paper`: the paper's change in percent and p-value with all rows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from _harness import arguments, publish, say

from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.pipeline import run
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

# The paper's Table 11, the largest n of each table: change in percent of the test error, p-value of its gate.
PAPER = {
    "CPU Performance": (0.05, 0.456),
    "Satellite Image": (0.04, 0.347),
    "Wind Power": (0.0, 0.528),
    "Synthetic Regression": (0.03, 0.419),
    "Concrete Strength": (0.01, 0.477),
    "Energy Efficiency": (0.21, 0.436),
    "House Price": (0.22, 0.445),
    "Parkinson's Monitoring": (0.01, 0.429),
    "Wine Quality": (0.01, 0.505),
}
SPEC = """
version: 1
recipe: paper
name: linear
dataset:
  source: {kind: benchmark, name: NAME}
  target: "TARGET"
  sample: ROWS
  duplicates: {kind: drop}
  split: {kind: fraction, test: 0.2}
regressor: {kind: linear}
execution: {jobs: 1}
"""


def decision(name: str, rows: int) -> tuple[str, str]:
    """What the run says of one table, and why."""
    with tempfile.TemporaryDirectory() as folder:
        text = SPEC.replace("NAME", name).replace("TARGET", BENCHMARKS[name].target).replace("ROWS", str(rows))
        file = Path(folder) / "spec.yaml"
        file.write_text(text, encoding="utf-8")
        verdict = run(build_plan(*load_spec(file)), progress=Silent()).verdict
    return verdict.decision, verdict.reason


def main() -> None:
    """Runs, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    decisions = {}
    for name, table in BENCHMARKS.items():
        found, reason = decision(name, min(300, table.rows) if quick else table.rows)
        decisions[table.title] = [found, reason]
        change, p_value = PAPER[table.title]
        say(f"{table.title:24} paper {change:+.2f} %, p {p_value:.3f}; ours: {found}, {reason}")
    figures = {
        "abstained": sum(found == "abstained" for found, _ in decisions.values()),
        "accepted": sum(found == "accepted" for found, _ in decisions.values()),
        "tables": len(decisions),
        "decisions": decisions,
        "paper": PAPER,
    }
    publish("linear_study", figures, quick=quick)


if __name__ == "__main__":
    main()

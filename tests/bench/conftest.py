"""Small suites of real cells, and how the tests run them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crda_spec.bench import measure
from crda_spec.bench.bench import Benched, bench
from crda_spec.report.suite_live import CellNews

TINY = """version: 1
name: tiny
tables: [crop_yield, hidden_confounder]
sizes: [60]
seeds: 2
regressors: [linear]
augmenters: [none, mixup, paper]
"""


@dataclass
class Heard:
    """What a watcher was told."""

    news: list[CellNews] = field(default_factory=list)
    left: list[float | None] = field(default_factory=list)

    def cell(self, news: CellNews, *, done: int, total: int, left: float | None) -> None:
        self.news.append(news)
        self.left.append(left)
        assert 0 < done == len(self.news) <= total


@pytest.fixture
def heard() -> Heard:
    """Somebody to tell."""
    return Heard()


Run = Callable[..., Benched]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the text of a suite into a folder below `tmp_path`."""

    def start(text: str = TINY, *, out: str = "out", **how: object) -> Benched:
        file = tmp_path / "suite.yaml"
        file.write_text(text, encoding="utf-8")
        settings = {"jobs": 1, "only": None, "budget": None, "quick": False, "watch": Heard(), **how}
        return bench(file, out=tmp_path / out, **settings)

    return start


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of the cells that are computed from here on, in this process."""
    labels: list[str] = []
    known = measure.figures_of

    def counted(cell, spec, draft):
        labels.append(cell.label)
        return known(cell, spec, draft)

    monkeypatch.setattr(measure, "figures_of", counted)
    return labels

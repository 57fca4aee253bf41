"""What test rows say changes nothing that is fitted, and neither does the number of threads."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from pipeline_parts import Notes, run_spec
from threadpoolctl import threadpool_info, threadpool_limits

from crda_spec.audit.canonical import canonical_json, plain
from crda_spec.audit.models import model_files
from crda_spec.pipeline import run
from crda_spec.regressors import Ridge
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

ROWS = 90
SPEC = """
version: 1
recipe: paper
name: unseen
seed: 3
dataset:
  source: {kind: csv, path: rows.csv}
  target: y
  split: {kind: column, column: part, test: [test]}
  missing: {kind: impute}
GRAPH
regressor: {kind: REGRESSOR}
gate: {kind: wilcoxon, folds: 5}
execution: {jobs: 1}
"""
GRAPH = 'causal: {graph: {kind: edges, edges: ["{ward side a count} -> y", b <-> y]}}'


def written(strange=None, *, wild=False):
    """A table with a category of four labels and one of two; `strange` and `wild` are for test rows alone."""
    rng = np.random.default_rng(0)
    lines = ["part,ward,side,a,b,count,y"]
    for row in range(ROWS):
        ward, side = "dgkp"[rng.integers(4)], "lr"[rng.integers(2)]
        a, b, noise = rng.normal(size=3).round(6).tolist()
        count = int(rng.integers(1, 40))
        y = round({"d": 0.0, "g": 1.0, "k": 3.0, "p": 1.5}[ward] + a + 0.05 * count + 0.3 * noise, 6)
        gap = row % 11 == 0
        test = row % 4 == 1
        if test and strange is not None:
            ward, side = strange[row // 4 % 2], strange[row // 4 % 2]
        if test and wild:
            a, b, count, y = 1e60 * a, -1e90, 10**9 + row, 1e70 * noise
        lines.append(f"{'test' if test else 'train'},{ward},{side},{'' if gap else a},{b},{count},{y}")
    return "\n".join(lines) + "\n"


def outcome(folder, table, regressor, graph, *overrides):
    (folder / "rows.csv").write_text(table)
    return run_spec(folder, SPEC.replace("REGRESSOR", regressor).replace("GRAPH", graph), *overrides)


def decided(result):
    """All that was learnt and decided, but for the numbers that labels happen to have."""
    made = result.counterfactuals
    drawn = b"" if made is None else made.prediction.tobytes() + made.y.tobytes() + made.action.source.tobytes()
    return (
        canonical_json(plain(result.certificate)),
        result.teacher.in_sample.tobytes(),
        result.abduction.noise.tobytes(),
        drawn,
        result.watched.tobytes(),
        result.gate_fold.tobytes(),
        result.verdict,
        canonical_json(result.settings),
        result.model.predict(result.split.train.x).tobytes(),
        result.cost.fits,
    )


def fitted(result):
    """Every byte of the training table and of every model."""
    made = result.counterfactuals
    return (
        result.split.train.x.tobytes(),
        b"" if made is None else made.action.x.tobytes(),
        model_files(result.model),
        [model_files(member) for member in result.teacher.members],
    )


every_regressor = pytest.mark.parametrize(
    ("regressor", "overrides"),
    [
        pytest.param("xgboost, n_estimators: 60", (), id="xgboost"),
        pytest.param("mlp, max_iter: 12, hidden_layer_sizes: [16]", (), id="mlp"),
        pytest.param("ridge", (), id="ridge"),
        pytest.param(
            "ridge",
            ("tune={kind: randomized, trials: 3, folds: 3}", "counterfactual.teacher={kind: crossfit, folds: 3}"),
            id="ridge-tuned-crossfit",
        ),
    ],
)


@every_regressor
@pytest.mark.parametrize("graph", [GRAPH, ""], ids=["declared", "discovered"])
def test_labels_and_values_of_test_rows_reach_nothing_that_is_fitted(tmp_path, regressor, overrides, graph):
    """New labels come after the known ones, so that even the codes of training rows stay."""
    clean = outcome(tmp_path, written(), regressor, graph, *overrides)
    dirty = outcome(tmp_path, written(("x", "zz"), wild=True), regressor, graph, *overrides)
    assert dirty.split.train.features[0].labels == ("d", "g", "k", "p", "x", "zz")
    assert [column.type for column in dirty.split.train.features] == [
        column.type for column in clean.split.train.features
    ]
    assert len(clean.verdict.folds) == 5  # there was something to move
    assert decided(clean) == decided(dirty)
    assert fitted(clean) == fitted(dirty)
    assert clean.score.plain != dirty.score.plain  # the edit is real: the scores do change


@every_regressor
def test_labels_of_test_rows_that_shift_all_codes_change_no_learnt_number(tmp_path, regressor, overrides):
    """Labels are coded in their order, so these give every known label another number. Nothing else may move."""
    clean = outcome(tmp_path, written(), regressor, GRAPH, *overrides)
    dirty = outcome(tmp_path, written(("a", "m")), regressor, GRAPH, *overrides)
    ward = dirty.split.train.x[:, 0]
    assert sorted(set(ward.tolist())) == [1.0, 2.0, 3.0, 5.0]
    assert decided(clean) == decided(dirty)
    assert (dirty.model.encoder.labels[0], dirty.model.encoder.labels[1]) == ((1, 2, 3, 5), (1, 3))
    assert clean.score.plain != dirty.score.plain


@dataclass(frozen=True, slots=True)
class CountsThreads:
    """Ridge that notes how many threads each library may use while it trains."""

    kind: ClassVar[str] = "counts"
    stopping: ClassVar[None] = None
    alpha: float = 1.0
    seen: ClassVar[list] = []

    def train(self, design, *, seed):
        self.seen.append({library["num_threads"] for library in threadpool_info()})
        return Ridge(alpha=self.alpha).train(design, seed=seed)


def test_every_fit_runs_on_one_thread_whatever_the_machine_allows(tmp_path):
    (tmp_path / "rows.csv").write_text(written())
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC.replace("REGRESSOR", "ridge").replace("GRAPH", GRAPH))
    plan = build_plan(*load_spec(file))
    plan = replace(plan, procedure=replace(plan.procedure, regressor=CountsThreads()))
    CountsThreads.seen.clear()
    with threadpool_limits(limits=2):
        assert 2 in {library["num_threads"] for library in threadpool_info()}
        result = run(plan, progress=Notes())
    assert result.cost.fits == 2 * 5 + 2
    assert CountsThreads.seen == [{1}] * (12 + 1)  # one more is the report's control, which the method does not need


@every_regressor
def test_one_thread_and_two_leave_the_same_bytes(tmp_path, regressor, overrides):
    results = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            results.append(outcome(tmp_path, written(), regressor, GRAPH, *overrides))
    one, two = results
    assert decided(one) == decided(two)
    assert fitted(one) == fitted(two)
    assert one.score == two.score

"""The published code's way: what it does otherwise, on small rows."""

import json

import numpy as np
import pytest

import crda_spec
from crda_spec.bench.published import STEPS, _augmented, _Knobs, _Rows, _scaled, _screened

SUITE = """version: 1
name: published
tables:
  - {name: own, dataset: {source: {kind: synthetic, world: paper_synthetic, rows: 80}, target: y}}
sizes: [80]
seeds: 1
regressors: [REGRESSOR]
augmenters: [paper, mixup]
protocols: [matched, published]
"""
SMALL = {"linear": "linear", "xgboost": "{kind: xgboost, n_estimators: 20, max_depth: 2}"}


@pytest.mark.parametrize("kind", SMALL)
def test_both_protocols_stand_side_by_side(kind, run):
    frame = run(SUITE.replace("REGRESSOR", SMALL[kind])).frame
    published = frame[frame["protocol"] == "published"].set_index("arm")
    assert list(published.index) == list(STEPS)
    assert set(frame.loc[frame["protocol"] == "matched", "augmenter"]) == {"paper", "mixup"}
    assert set(published["augmenter"]) == {"paper"}  # the published code ran nothing else
    # Ten against one is ten against ten, times ten plain against one.
    ratio = 1.0 + published["change_percent"] / 100.0
    assert ratio["published"] == pytest.approx(ratio["ten_plain"] * ratio["ten_ten"])
    # The target lies in [0, 1], so that an error is one of the paper's, not of the column's unit.
    assert 0.0 < published["plain"].iloc[0] < 1.0
    assert (published["train_rows"] == frame["train_rows"].iloc[0]).all()
    assert (published["synthetic_rows"] == int(1.25 * 64)).all()


def test_the_searches_of_the_published_code(run, computed):
    tune = "spec: {tune: {kind: randomized, trials: 2, folds: 2, augmentation: {kind: tpe, trials: 3}}}\n"
    frame = run((SUITE + tune).replace("REGRESSOR", "xgboost").replace("[matched, published]", "[published]")).frame
    # Plain: 2 trials of 2 folds and itself; 3 trials of knobs; ten and ten; one augmented model.
    assert set(frame["fits"]) == {2 * 2 + 1 + 3 + 20 + 1}
    assert len(computed) == 1


def test_scaling_sees_all_rows():
    x = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    scaled, y = _scaled(x, np.array([10.0, 20.0, 30.0]))
    assert scaled[:, 0] == pytest.approx([-(1.5**0.5), 0.0, 1.5**0.5])
    assert scaled[:, 1] == pytest.approx([0.0, 0.0, 0.0])
    assert list(y) == [0.0, 0.5, 1.0]


def test_one_draw_moves_all_features_of_a_row_and_noise_is_repeated():
    rows = _Rows(x=np.arange(1.0, 13.0).reshape(4, 3), y=np.zeros(4))
    noise = np.array([1.0, 2.0, 3.0, 4.0])
    knobs = _Knobs(features=2, factor=1.5, reach=0.5, weight=1.0)
    rng = np.random.default_rng(0)
    made = _augmented(rows, noise, lambda x: np.zeros(len(x)), (2, 0, 1), knobs, rng=rng)
    assert len(made.y) == 6
    assert list(made.y) == [1.0, 2.0, 3.0, 4.0, 1.0, 2.0]
    source = rows.x[[0, 1, 2, 3, 0, 1]]
    share = made.x / source
    assert share[:, 2] == pytest.approx(share[:, 0])
    assert list(share[:, 1]) == [1.0] * 6
    assert ((share[:, 0] >= 0.5) & (share[:, 0] <= 1.5)).all()
    assert len(set(share[:, 0])) == 6


def test_the_screen_leaves_features_without_ties_and_always_one():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    noise = rng.normal(size=400)
    x[:, 0] += noise
    y = 3 * x[:, 2] + x[:, 1] + noise
    assert _screened(x, y, noise) == (2, 1)
    assert _screened(x[:, :1], y, noise) == (0,)


def test_it_sees_the_rows_that_matched_sees(run):
    """A plain model without settings is the same in both protocols, but for the units of its columns."""
    suite = SUITE.replace("REGRESSOR", "linear").replace("rows: 80}", "rows: 200}").replace("[80]", "[120]")
    done = run(suite)
    frame = done.frame.set_index(["protocol", "augmenter", "arm"])["plain"]
    assert (done.frame["train_rows"] == 96).all()
    spans = frame["matched", "paper", "augmented"] / frame["published", "paper", "published"]
    assert spans == pytest.approx(np.ptp(targets(done)) ** 2)


def targets(done):
    """The targets of all rows of the cell, training and test rows alike."""
    (file, *_) = (done.folder / "cells").glob("*.json")
    spec = json.loads(file.read_text())["spec"]
    spec["dataset"]["split"] = {"kind": "none"}
    return crda_spec.run(spec).result.split.train.y

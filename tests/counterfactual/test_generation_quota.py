"""Quotas of blocks, and blocks made one at a time: exact in total, fair to every row, and the same in any company."""

from dataclasses import replace

import numpy as np
import pytest
from counterfactual_parts import GUARDS, mixed, numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.counterfactual.generation import BLOCK, Generation, Quota, cannot_stream, generate_block
from crda_spec.counterfactual.perturbation import Perturbation, Sources
from crda_spec.counterfactual.policies import Conditional, Interpolate, Jitter, Resample, Scale
from crda_spec.counterfactual.predict import LabelRule
from crda_spec.counterfactual.support import NeighbourSupport


class Half:
    def predict(self, x):
        return 0.5 * np.nan_to_num(x[:, 0])


@given(sources=st.integers(1, 10**8), made=st.integers(1, 10**9))
def test_the_quotas_of_the_blocks_add_up_and_no_block_outgrows_memory(sources, made):
    quota = Quota(sources=sources, made=made)
    last = quota.blocks - 1
    assert (quota.blocks - 1) * quota.block < sources <= quota.blocks * quota.block
    few = {0, 1, 2, last // 2, last}
    for number in (one for one in few if 0 <= one <= last):
        here = min(quota.block, sources - number * quota.block)
        assert abs(quota.of(number) - here * made / sources) < 1
        assert quota.of(number) <= max(BLOCK, made // sources) + 1
    if quota.blocks <= 2000:
        assert sum(map(quota.of, range(quota.blocks))) == made


def generation(train, **other):
    said = {
        "train": train,
        "noise": np.zeros(len(train)),
        "teacher": Half(),
        "scale": None,
        "moved": ("free", "count", "ward"),
        "perturbation": Perturbation(default=Jitter()),
        "rule": LabelRule(retention=1.0, weight=0.5),
        "seed": 3,
    }
    return Generation(**(said | other))


@given(quota=st.integers(1, 200), number=st.integers(0, 9))
def test_every_row_of_a_block_gives_as_many_as_the_others_or_one_more(quota, number):
    train = mixed(40)
    made = generate_block(generation(train), train.x, train.y, number=number, quota=quota)
    assert len(made) == quota
    times = np.bincount(made.action.source, minlength=40)
    assert times.max() - times.min() <= 1
    again = generate_block(generation(train), train.x, train.y, number=number, quota=quota)
    assert again.action.x.tobytes() == made.action.x.tobytes()
    other = generate_block(generation(train), train.x, train.y, number=number + 1, quota=quota)
    assert other.action.x.tobytes() != made.action.x.tobytes()


def test_a_rows_noise_is_its_outcome_minus_the_teachers_word():
    train, rows = mixed(40), mixed(30, seed=5)
    made = generate_block(generation(train), rows.x, rows.y, number=0, quota=45)
    source = made.action.source
    assert made.noise.tobytes() == (rows.y - Half().predict(rows.x))[source].tobytes()
    assert made.y.tobytes() == (Half().predict(made.action.x) + made.noise).tobytes()
    kept = [at for at, name in enumerate(train.names) if name not in made.action.moved]
    assert made.action.x[:, kept].tobytes() == rows.x[source][:, kept].tobytes()
    assert (made.basis, made.draw, made.noise_rows.tobytes()) == ("certificate", "own", source.tobytes())


def test_without_noise_no_outcome_is_needed_and_with_it_one_is():
    train = mixed(40)
    silent = generation(train, rule=LabelRule(retention=0.0, weight=0.5, basis="support"))
    assert not silent.needs_outcomes
    made = generate_block(silent, train.x, None, number=0, quota=10)
    assert (made.basis, made.y.tobytes()) == ("support", Half().predict(made.action.x).tobytes())
    with pytest.raises(ValueError, match=r"^the rows' own noise needs their outcomes$"):
        generate_block(generation(train), train.x, None, number=0, quota=10)


def test_matched_noise_is_lent_by_training_rows():
    rng = np.random.default_rng(0)
    train = numbers(rng.normal(size=(50, 2)), rng.normal(size=50))
    matched = LabelRule(retention=1.0, weight=0.5, draw="matched")
    lent = generation(train, moved=("a",), rule=matched, noise=np.arange(50.0))
    assert not lent.needs_outcomes
    made = generate_block(lent, rng.normal(size=(20, 2)), None, number=0, quota=30)
    assert made.noise.tolist() == made.noise_rows.tolist()


def test_one_feature_at_a_time():
    train = mixed(60, missing=0.0)
    one = generation(
        train, perturbation=Perturbation(default=Scale(share="cell"), features_per_row=1), moved=("free", "kept")
    )
    made = generate_block(one, train.x, train.y, number=0, quota=300)
    changed = made.action.x[:, [0, 6]] != train.x[made.action.source][:, [0, 6]]
    assert (changed.sum(axis=1) == 1).all()
    assert 100 < changed[:, 0].sum() < 200


@pytest.mark.parametrize("per_row", [None, 1])
def test_a_share_of_the_rows_rests(per_row):
    train = mixed(60, missing=0.0)
    perturbation = Perturbation(default=Scale(share="cell"), features_per_row=per_row or "all", copy_fraction=0.3)
    made = generate_block(
        generation(train, perturbation=perturbation, moved=("free", "kept")), train.x, train.y, number=0, quota=1000
    )
    still = (made.action.x == train.x[made.action.source]).all(axis=1)
    assert still.sum() == 300


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1]))
@settings(max_examples=20)
def test_a_row_moves_towards_any_training_row_with_one_partner_and_one_mix(seed, per_row):
    train, fresh = mixed(30, missing=0.0), mixed(50, missing=0.0, seed=5)
    moved = ("free", "kept")
    perturbation = Perturbation(default=Interpolate(reach=0.5), features_per_row=per_row or "all")
    made = generate_block(
        replace(generation(train, perturbation=perturbation, moved=moved), seed=seed),
        fresh.x,
        fresh.y,
        number=3,
        quota=120,
    )
    partner, at = made.action.partner, list(train.positions(moved))
    assert partner is not None
    assert ((partner >= 0) & (partner < len(train))).all()
    before, end = fresh.x[made.action.source][:, at], train.x[partner][:, at]
    with np.errstate(invalid="ignore", divide="ignore"):
        mix = (made.action.x[:, at] - before) / (end - before)
    mix[end == before] = np.nan
    known = mix[~np.isnan(mix)]
    assert ((known >= -1e-9) & (known <= 0.5 + 1e-9)).all()
    if per_row is None:
        assert np.nanmax(np.abs(mix[:, 0] - mix[:, 1])) < 1e-6
    rest = [position for position in range(len(train.features)) if position not in at]
    np.testing.assert_array_equal(made.action.x[:, rest], fresh.x[made.action.source][:, rest])


def test_every_training_row_is_as_likely_a_partner_of_a_row_from_elsewhere():
    train, fresh = mixed(5, missing=0.0), mixed(400, missing=0.0, seed=5)
    one = generation(train, perturbation=Perturbation(default=Interpolate()), moved=("free",))
    made = generate_block(one, fresh.x, fresh.y, number=0, quota=4000)
    counts = np.bincount(made.action.partner, minlength=5)
    assert counts.sum() == 4000
    assert (abs(counts - 800) < 5 * np.sqrt(4000 * 0.2 * 0.8)).all()


def test_what_needs_all_rows_at_once_is_refused_with_its_place():
    train = mixed(40)
    perturbation = Perturbation(
        default=Interpolate(partner="near"),
        features={"count": Conditional(), "ward": Resample(weights="neighbour"), "free": Scale()},
        support=NeighbourSupport(),
        sources=Sources(kind="leverage"),
        on_violation="error",
    )
    found = [
        complaint.headline() for complaint in cannot_stream(perturbation, train, ("free", "bounded", "count", "ward"))
    ]
    hint = (
        "use a policy that looks for none, such as scale, quantile, resample or interpolate towards any, and run again"
    )
    assert found == [
        "perturbation.features.bounded: 'bounded' was moved by interpolate, which looks for other rows like it; "
        + hint,
        "perturbation.features.count: 'count' was moved by conditional, which looks for other rows like it; " + hint,
        "perturbation.features.ward: 'ward' was moved by resample, which looks for other rows like it; " + hint,
        "perturbation.sources: source rows were drawn by weight; use kind: every, and run again",
        "perturbation.on_violation: one bad row would end it; use clip or redraw, and run again",
    ]
    calm = perturbation.model_copy(update={"sources": Sources(kind="every"), "on_violation": "redraw"})
    assert list(cannot_stream(calm, train, ("free",))) == []


def test_a_proposal_that_breaks_a_contract_is_drawn_again_if_that_is_the_rule():
    """A wide jitter often leaves the bounds: clipping piles rows up at the ends, drawing again does not."""
    train = mixed(60, missing=0.0)
    piled, drawn = (
        generate_block(
            generation(train, perturbation=Perturbation(default=Jitter(sd=0.5), on_violation=rule), moved=("bounded",)),
            train.x,
            train.y,
            number=0,
            quota=3000,
        ).action
        for rule in ("clip", "redraw")
    )
    (at,) = train.positions(("bounded",))
    ends = [float(np.isin(made.x[:, at], [-1.0, 1.5]).mean()) for made in (piled, drawn)]
    assert ends[0] > 0.1
    assert ends[1] < 0.02
    assert (piled.redrawn, piled.clipped["bounded"]) == (0, drawn.redrawn)
    assert drawn.clipped["bounded"] < 0.05 * drawn.redrawn


def guarded(train, guard, **perturbation):
    guarding = Perturbation(default=Jitter(sd=0.5), support=guard, **perturbation)
    return generation(
        train, perturbation=guarding, moved=("a",), region=guard.learn(train, rows=BLOCK, seed=3, index=(0,))
    )


def tied(n, seed):
    """Two columns that are nearly one."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return numbers(np.column_stack([a, a + 0.01 * rng.normal(size=n), rng.normal(size=n)]), a)


@pytest.mark.parametrize("kind", ["neighbours", "mahalanobis"])
@pytest.mark.parametrize("outside", ["drop", "redraw"])
def test_no_row_that_is_kept_breaks_a_tie_of_the_training_rows(kind, outside):
    train, fresh = tied(300, 0), tied(500, 1)
    made = generate_block(
        guarded(train, GUARDS[kind](on_outside=outside)), fresh.x, fresh.y, number=0, quota=2000
    ).action
    apart = np.abs(made.x[:, 0] - made.x[:, 1])
    assert made.dropped > 0
    assert len(made.x) == 2000 - made.dropped
    assert (made.redrawn > 0) == (outside == "redraw")
    assert apart.max() < 0.2


@given(
    seed=st.integers(0, 2**16), share=st.sampled_from([0.0, 0.4]), kind=st.sampled_from(["neighbours", "mahalanobis"])
)
@settings(max_examples=40)
def test_rows_of_the_run_itself_are_judged_as_the_run_judged_them(seed, share, kind):
    """A source at the place of a training row is that row: it does not count as a neighbour of what is made of it."""
    train, guard = tied(40, seed), GUARDS[kind](quantile=0.9)
    one = guarded(train, guard, copy_fraction=share)
    support = guard.learn(train, rows=BLOCK, seed=3, index=(0,))
    free = generate_block(replace(one, region=None), train.x, train.y, number=0, quota=200).action
    kept = generate_block(one, train.x, train.y, number=0, quota=200).action
    inside = ~support.outside(free.x, free.source)
    assert kept.x.tobytes() == free.x[inside].tobytes()
    assert kept.source.tolist() == free.source[inside].tolist()
    assert kept.astray == 0


def test_sources_that_lie_off_the_training_rows_are_counted():
    train, fresh = tied(200, 0), tied(50, 1)
    away = fresh.x.copy()
    away[:7] += 100.0
    made = generate_block(guarded(train, NeighbourSupport(quantile=0.99)), away, fresh.y, number=0, quota=200).action
    assert 7 <= made.astray < 12

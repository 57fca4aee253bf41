"""Two bases: what may move when noise is carried, and what may when it is not."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from counterfactual_parts import declared, numbers
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.counterfactual.act import Propagation
from crda_spec.counterfactual.basis import basis_of, movable_features, movements, restated
from crda_spec.counterfactual.partition import Partition
from crda_spec.records import Action, Certificate, DrawnGraph, FeatureVerdict, Followed, Outranked, Stated
from crda_spec.report.words.causal import held_sentence, movement_sentence
from crda_spec.scm.formats.edges import from_edges

CLASSES = ("irrelevant", "cause", "blocked", "held")


def certificate(**features):
    """name -> (class, rank); `held`: a cause that the ranking left out."""
    verdicts = tuple(
        FeatureVerdict(
            name=name,
            status="cause" if status == "held" else status,
            reason=Stated(code="separated", names=(name, "y")),
            held=Outranked(place=3, of=3, limit=2) if status == "held" else None,
            evidence={"rank_score": rank},
        )
        for name, (status, rank) in features.items()
    )
    return Certificate(basis="declared", graph=DrawnGraph(nodes=(), edges=()), features=verdicts, assumes=())


CERTIFICATE = certificate(
    a=("cause", 0.2), b=("blocked", 0.9), c=("held", 0.5), d=("irrelevant", 0.0), e=("blocked", 0.5)
)


supported = partial(Partition, basis="support")


@pytest.mark.parametrize(("retention", "basis"), [(0.0, "support"), (1e-12, "certificate"), (1.0, "certificate")])
def test_any_noise_at_all_needs_the_certificate(retention, basis):
    assert basis_of(retention, supported()) == basis
    assert basis_of(retention, Partition()) == "certificate"


def test_a_row_without_noise_keeps_to_the_certificate_where_the_user_asks_for_it():
    found = movable_features(CERTIFICATE, Partition(), retention=0.0)
    assert (found.basis, found.names, found.uncertified) == ("certificate", ("a", "d"), ())


def test_a_row_with_noise_moves_what_the_certificate_chose_and_nothing_else():
    found = movable_features(CERTIFICATE, Partition(perturb=("b",), max_features=1), retention=0.1)
    assert (found.basis, found.names, found.uncertified) == ("certificate", ("a", "d"), ())


@pytest.mark.parametrize(
    ("choice", "names", "uncertified"),
    [
        pytest.param(supported(), ("a", "b", "c", "d", "e"), ("b", "e"), id="all"),
        pytest.param(supported(max_features=2), ("b", "c"), ("b",), id="best-ranked-ties-in-table-order"),
        pytest.param(supported(max_features=2, keep=("b", "c")), ("a", "e"), ("e",), id="keep"),
        pytest.param(supported(perturb=("e", "d")), ("d", "e"), ("e",), id="perturb"),
        pytest.param(supported(perturb=("e", "d"), max_features=1), ("e",), ("e",), id="perturb-and-rank"),
        pytest.param(supported(keep=("a", "b", "c", "d", "e")), (), (), id="nothing"),
    ],
)
def test_a_row_without_noise_moves_what_the_user_wants(choice, names, uncertified):
    found = movable_features(CERTIFICATE, choice, retention=0.0)
    assert (found.basis, found.names, found.uncertified) == ("support", names, uncertified)


@given(
    statuses=st.lists(st.sampled_from(CLASSES), min_size=1, max_size=6),
    ranks=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    most=st.none() | st.integers(1, 6),
    retention=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_noise_never_travels_with_a_feature_that_is_tied_to_it(statuses, ranks, most, retention):
    features = {f"x{at}": (status, ranks[at]) for at, status in enumerate(statuses)}
    found = movable_features(certificate(**features), supported(max_features=most), retention=retention)
    blocked = {name for name, (status, _) in features.items() if status == "blocked"}
    assert set(found.uncertified) == blocked & set(found.names)
    assert list(found.names) == [name for name in features if name in found.names]
    if found.basis == "certificate":
        assert blocked.isdisjoint(found.names)
    else:
        assert len(found.names) == min(len(features), most or len(features))


def test_on_either_basis_a_feature_stays_whose_effects_cannot_follow():
    """a causes b, which the user holds fixed; so a moves only when its effects need not follow."""
    names = ("a", "b", "c")
    edges = ["a -> b", "{a b c} -> y"]
    graph = from_edges(edges, columns=(*names, "y"), target="y", features=names)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    train = numbers(x, x.sum(axis=1) + rng.normal(size=60))
    found = declared(edges, names, keep=("b",)).partition(train, rng.normal(size=60), seed=0, index=(0,))
    following = Propagation(graph=graph, keep=("b",))
    moves = movable_features(found, supported(keep=("b",)), retention=0.0, propagation=following)
    assert moves.names == ("c",)
    assert {name: (why.kind, why.follower) for name, why in moves.stuck.items()} == {"a": ("held_fixed", "b")}
    assert movable_features(found, supported(keep=("b",)), retention=0.0).names == ("a", "c")
    following.mechanisms(train, moves.names)  # what may move can be computed


def action(moved, propagated=()):
    follows = dict.fromkeys(propagated, Followed(kind="additive", parents=("a",)))
    return Action(
        x=np.empty((0, 5)), source=np.empty(0, np.int64), moved=moved, policies={}, clipped={}, propagated=follows
    )


def test_with_noise_every_feature_says_on_what_it_moves_or_why_it_stays():
    movable = movable_features(CERTIFICATE, Partition(), retention=1.0)
    found = {one.name: one for one in movements(CERTIFICATE, movable, action(("a", "d")))}
    assert [(one.moves, one.basis, one.certified) for one in found.values()] == [
        ("moves", "certificate", True),
        ("stays", None, False),
        ("stays", None, True),
        ("moves", "certificate", True),
        ("stays", None, False),
    ]
    assert movement_sentence(found["a"]) == "moves: the certificate allows it"
    assert movement_sentence(found["b"]) == "stays: it is not certified, and new rows keep to the certificate"


def test_without_noise_what_is_not_certified_moves_and_says_so():
    choice = supported(max_features=2, keep=("a",))
    movable = movable_features(CERTIFICATE, choice, retention=0.0)
    found = {one.name: one for one in movements(CERTIFICATE, movable, action(movable.names))}
    assert (found["b"].moves, found["b"].basis, found["b"].certified) == ("moves", "support", False)
    assert movement_sentence(found["b"]) == "moves: carries no noise, so only the data's support is claimed"
    assert movement_sentence(found["a"]) == "stays: partition.keep holds it fixed"
    assert movement_sentence(found["d"]) == "stays: ranks 4 of 4 and partition.max_features is 2"
    (moved,) = [one for one in restated(CERTIFICATE, movable).features if one.name == "c"]
    assert (moved.status, moved.held) == ("cause", None), "it moves, so nothing holds it"
    low = replace(
        CERTIFICATE,
        features=tuple(
            replace(one, held=Outranked(place=3, of=3, limit=2)) if one.name == "d" else one
            for one in CERTIFICATE.features
        ),
    )
    ((status, said),) = [
        (one.status, held_sentence(one.held)) for one in restated(low, movable).features if one.name == "d"
    ]
    assert status == "irrelevant", "what is held keeps its class"
    assert said == "it may move, but ranks 4 of 4 and partition.max_features is 2", "one ranking, the one that chose"
    assert restated(CERTIFICATE, movable_features(CERTIFICATE, choice, retention=0.5)) is CERTIFICATE


def test_when_no_row_was_made_nothing_moves():
    movable = movable_features(CERTIFICATE, supported(), retention=0.0)
    assert {movement_sentence(one) for one in movements(CERTIFICATE, movable, None)} == {"stays: no row was made"}


def test_what_follows_has_the_same_basis():
    movable = movable_features(CERTIFICATE, Partition(), retention=1.0)
    found = {one.name: one for one in movements(CERTIFICATE, movable, action(("a",), ("d",)))}
    assert (found["d"].moves, found["d"].basis) == ("follows", "certificate")

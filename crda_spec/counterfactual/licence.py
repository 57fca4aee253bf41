"""The two licences: from the certificate, and what the user wants, to what moves.

A row that carries noise makes a claim: that this noise would have been the same at the new x. Only the certificate can
license it, so only features in its X_P move. A row that carries none claims nothing of the noise: it repeats the
teacher's word at the new x, which is as good as the data's support there. Then the user's own choice decides, and the
certificate stays in the record as evidence.
"""

from __future__ import annotations

from dataclasses import replace

from crda_spec.counterfactual.act import Propagation
from crda_spec.counterfactual.partition import Partition
from crda_spec.records import Action, Certificate, FeatureVerdict, Licence, Licensed, Movement
from crda_spec.scm.propagation import propagable

_BARRED = ("blocked", "undrawn")  # what only a row without noise may move


def licence_of(retention: float) -> Licence:
    """On what a row stands that carries this much noise."""
    return "certificate" if retention > 0 else "support"


def licensed(
    certificate: Certificate, choice: Partition, *, retention: float, propagation: Propagation | None = None
) -> Licensed:
    """What moves. Under `support` all features are candidates: the user's pins and the paper's ranking choose.

    propagation: when the effects of moved features follow them, a feature whose effects cannot follow stays fixed
    under either licence.
    """
    licence = licence_of(retention)
    if licence == "certificate":
        return Licensed(licence=licence, names=certificate.perturbed)
    left = {verdict.name: why for verdict in certificate.features if (why := choice.leaves(verdict.name))}
    wanted = [verdict for verdict in certificate.features if verdict.name not in left]
    # As in `choose`: the most tied to the target and least to the residual first, equal ranks in the table's order.
    ranked = [one.name for one in sorted(wanted, key=lambda verdict: -verdict.evidence.get("rank_score", 0.0))]
    stuck: dict[str, str] = {}
    taken = ranked[: choice.max_features]
    while propagation is not None and taken:
        names = [verdict.name for verdict in certificate.features]
        obstacles = propagable(propagation.graph, names, taken, keep=propagation.keep).obstacles
        if not obstacles:
            break
        stuck |= {name: obstacle.reason for name, obstacle in obstacles.items()}
        taken = [name for name in ranked if name not in stuck][: choice.max_features]
    moved = tuple(verdict.name for verdict in certificate.features if verdict.name in taken)
    # What the choice or the ranking left out is not uncertified: its status is `kept`.
    barred = {verdict.name for verdict in certificate.features if verdict.status in _BARRED}
    for place, name in enumerate(ranked, start=1):
        if name not in taken and name not in stuck:
            left[name] = f"ranks {place} of {len(ranked)} and partition.max_features is {choice.max_features}"
    return Licensed(
        licence=licence,
        names=moved,
        uncertified=tuple(name for name in moved if name in barred),
        stuck=stuck,
        left=left,
    )


def restated(certificate: Certificate, permit: Licensed) -> Certificate:
    """The certificate of a run whose rows carry no noise: what its own ranking left alone may move all the same.

    The ranking that a reader is told is then the one that chose: among all features, not among the certified ones.
    """
    if permit.licence == "certificate":
        return certificate

    def reason(verdict: FeatureVerdict) -> str:
        if verdict.status != "kept":
            return verdict.reason
        if verdict.name in permit.names:
            return "it could carry its noise, too"
        return f"it may move, but {permit.left[verdict.name]}" if verdict.name in permit.left else verdict.reason

    return replace(
        certificate, features=tuple(replace(verdict, reason=reason(verdict)) for verdict in certificate.features)
    )


_WITH_NOISE = "moves: the certificate lets a row carry its noise to the new place"
_WITHOUT = "moves: carries no noise, so only the data's support is claimed"


def movements(certificate: Certificate, permit: Licensed, action: Action | None) -> tuple[Movement, ...]:
    """What becomes of every feature. action: what was done; None when no row was made."""
    moved, followed = ((), ()) if action is None else (action.moved, tuple(action.propagated))

    def movement(verdict: FeatureVerdict) -> Movement:
        name, certified = verdict.name, verdict.status not in _BARRED
        if name in moved:
            said = _WITH_NOISE if permit.licence == "certificate" else _WITHOUT
            return Movement(name=name, certified=certified, moves="moves", licence=permit.licence, sentence=said)
        if name in followed:
            said = "follows: a moved feature causes it"
            return Movement(name=name, certified=certified, moves="follows", licence=permit.licence, sentence=said)
        why = "no row was made" if name in permit.names and action is None else _stays(verdict, permit)
        return Movement(name=name, certified=certified, moves="stays", licence=None, sentence=f"stays: {why}")

    return tuple(movement(verdict) for verdict in certificate.features)


def _stays(verdict: FeatureVerdict, permit: Licensed) -> str:
    """Why a feature does not move."""
    known = {**permit.stuck, **permit.left}
    if verdict.name in known:
        return known[verdict.name]
    if verdict.status in _BARRED:
        return "its rows would carry noise, and it is not certified"
    return verdict.reason.removeprefix("it may move, but ")

"""The basis of a label: from the certificate, and what the user wants, to what moves.

- `invariance`: only irrelevant features changed, which the graph separates from the target. The outcome is the source
  row's own, by a theorem; the row's label never depends on them.
- `certificate`: only features in X_P moved. Such a row may carry its source's noise.
- `support`: any feature moved, the row carries no noise, and the teacher alone labels it, which is as good as the
  data's support there. The certificate stays in the record as evidence.
- `augmenter`: another method (`augmenters/`) made the row and its label, and claims nothing. So does the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from crda_spec import records
from crda_spec.counterfactual.act import Propagation
from crda_spec.counterfactual.partition import Partition
from crda_spec.independence import adjust
from crda_spec.independence.gcm import Gcm
from crda_spec.records import Action, Basis, Certificate, FeatureVerdict, MovableFeatures, Movement, Reason, Stated
from crda_spec.scm.propagation import propagable

Invariance = Literal["off", "trusted", "declared"]


def basis_of(retention: float, choice: Partition) -> Basis:
    """What lets features move: a row that carries noise needs the certificate, whatever the user would like."""
    return "certificate" if retention > 0 else choice.basis


def trusted_irrelevant(
    certificate: Certificate, trust: records.Trust | None, invariance: Invariance
) -> tuple[str, ...]:
    """The features on which no label may depend: the graph's word, and where it is to be earned, the rows' as well."""
    taken = invariance == "declared" or (invariance == "trusted" and trust is not None and trust.passed)
    return certificate.irrelevant if taken else ()


def contradicted_features(train: records.Table, irrelevant: Sequence[str], *, alpha: float = 0.05) -> tuple[str, ...]:
    """The irrelevant features that the rows tie to the target once the others are known, the worst first.

    The generalised covariance measure of the target and each of them given the boundary, Holm over all of them.
    """
    gcm = Gcm.of_table(train)
    place = {name: position for position, name in enumerate(gcm.names)}
    boundary = tuple(place[name] for name in train.names if name not in set(irrelevant))
    p = np.array([gcm.test(place[train.target.name], place[name], boundary)[1] for name in irrelevant])
    adjusted = adjust(p, "holm")
    return tuple(irrelevant[at] for at in np.argsort(p, kind="stable").tolist() if adjusted[at] <= alpha)


def movable_features(
    certificate: Certificate,
    choice: Partition,
    *,
    retention: float,
    propagation: Propagation | None = None,
    irrelevant: tuple[str, ...] = (),
) -> MovableFeatures:
    """What moves. Under `support` all features are candidates: the user's pins and the paper's ranking choose.

    propagation: when the effects of moved features follow them, a feature whose effects cannot follow stays fixed
    under either basis.
    irrelevant: what labels may not depend on.
    """
    basis = basis_of(retention, choice)
    if basis == "certificate":
        return MovableFeatures(basis=basis, names=certificate.perturbed, irrelevant=irrelevant)
    names = [verdict.name for verdict in certificate.features]
    left: dict[str, Reason] = {name: why for name in names if (why := choice.leaves(name))}
    wanted = [verdict for verdict in certificate.features if verdict.name not in left]
    # As in `choose`: the most tied to the target and least to the residual first, equal ranks in the table's order.
    ranked = [one.name for one in sorted(wanted, key=lambda verdict: -verdict.evidence.get("rank_score", 0.0))]
    stuck: dict[str, records.Obstacle] = {}
    taken = ranked[: choice.max_features]
    while propagation is not None and taken:
        obstacles = propagable(propagation.graph, names, taken, keep=propagation.keep).obstacles
        if not obstacles:
            break
        stuck |= obstacles
        taken = [name for name in ranked if name not in stuck][: choice.max_features]
    moved = tuple(verdict.name for verdict in certificate.features if verdict.name in taken)
    blocked = {verdict.name for verdict in certificate.features if verdict.status == "blocked"}
    for place, name in enumerate(ranked, start=1):
        if name not in taken and name not in stuck:
            left[name] = records.Outranked(place=place, of=len(ranked), limit=choice.max_features)
    return MovableFeatures(
        basis=basis,
        names=moved,
        irrelevant=irrelevant,
        uncertified=tuple(name for name in moved if name in blocked),
        stuck=stuck,
        left=left,
    )


def restated(certificate: Certificate, movable: MovableFeatures) -> Certificate:
    """The certificate of a run whose rows carry no noise: a feature is held by the ranking that chose in this run.

    That one ranks all features, not the certified ones alone, so it may move what the certificate's own left out.
    """
    if movable.basis != "support":
        return certificate

    def held(verdict: FeatureVerdict) -> Reason | None:
        if verdict.held is None or verdict.name in certificate.propagated:
            return verdict.held
        return None if verdict.name in movable.names else movable.left.get(verdict.name, verdict.held)

    return replace(
        certificate, features=tuple(replace(verdict, held=held(verdict)) for verdict in certificate.features)
    )


def movements(certificate: Certificate, movable: MovableFeatures, action: Action | None) -> tuple[Movement, ...]:
    """What becomes of every feature. action: what was done; None when no row was made."""
    moved, followed = ((), ()) if action is None else (action.moved, tuple(action.propagated))
    stays: dict[str, Reason] = {**movable.stuck, **movable.left}

    def movement(verdict: FeatureVerdict) -> Movement:
        name, certified = verdict.name, verdict.status != "blocked"
        if name in moved:
            basis: records.RowBasis = "invariance" if name in movable.irrelevant else movable.basis
            return Movement(name=name, certified=certified, moves="moves", basis=basis)
        if name in followed:
            return Movement(name=name, certified=certified, moves="follows", basis=movable.basis)
        if movable.basis == "augmenter" and action is not None:
            return Movement(
                name=name, certified=certified, moves="stays", basis=None, why=Stated(code="augmenter_keeps")
            )
        why = stays.get(name, (verdict.held or verdict.reason) if certified else Stated(code="not_certified"))
        if name in movable.names and action is None:
            why = Stated(code="no_rows")
        return Movement(name=name, certified=certified, moves="stays", basis=None, why=why)

    return tuple(movement(verdict) for verdict in certificate.features)

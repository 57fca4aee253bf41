"""The two licences: from the certificate, and what the user wants, to what moves.

A row that carries noise makes a claim: that this noise would have been the same at the new x. Only the certificate can
license it, so only features in its X_P move. A row that carries none claims nothing of the noise: it repeats the
teacher's word at the new x, which is as good as the data's support there. Then the user's own choice decides, and the
certificate stays in the record as evidence.
"""

from __future__ import annotations

from crda_spec.counterfactual.partition.choice import Choice
from crda_spec.counterfactual.propagate import Propagation
from crda_spec.records import Certificate, Licence, Licensed
from crda_spec.scm.propagation import propagable


def licence_of(retention: float) -> Licence:
    """On what a row stands that carries this much noise."""
    return "certificate" if retention > 0 else "support"


def licensed(
    certificate: Certificate, choice: Choice, *, retention: float, propagation: Propagation | None = None
) -> Licensed:
    """What moves. Under `support` all features are candidates: the user's pins and the paper's ranking choose.

    propagation: when the effects of moved features follow them, a feature whose effects cannot follow stays fixed
    under either licence.
    """
    licence = licence_of(retention)
    if licence == "certificate":
        return Licensed(licence=licence, names=certificate.perturbed)
    wanted = [
        verdict
        for verdict in certificate.features
        if verdict.name not in choice.keep and (choice.perturb is None or verdict.name in choice.perturb)
    ]
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
    barred = {verdict.name for verdict in certificate.features if verdict.status in ("blocked", "undrawn")}
    return Licensed(
        licence=licence, names=moved, uncertified=tuple(name for name in moved if name in barred), stuck=stuck
    )

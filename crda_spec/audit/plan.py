"""What a run would do, before anything is fitted: certificate, tests, rows and fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from crda_spec.audit.record import known_record
from crda_spec.gate.cost import CostEstimate
from crda_spec.pipeline import estimate
from crda_spec.records import Stated, movable
from crda_spec.report.words.causal import reason_sentence
from crda_spec.report.words.plan import plan_lines
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import KnownGraph, known_graph, partition_of
from crda_spec.spec.check_models import searched_knobs
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec
from crda_spec.spec.tune import CandidateTuning

if TYPE_CHECKING:
    import pandas as pd

_PROVEN = ("noise_side", "largest", "lemma_holds", "remedies", "assumes", "independencies")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a run would do, before anything is fitted.

    Attributes
    ----------
    facts : dict
        All of it, as ``crda-spec plan --json`` prints it.

    """

    facts: dict[str, Any]
    lines: tuple[str, ...]  # for people
    reasons: Mapping[str, str]  # by feature: why it moves or stays

    @property
    def rows(self) -> dict[str, int]:
        """How many rows train, test and are made."""
        return dict(self.facts["rows"])

    @property
    def fits(self) -> dict[str, Any]:
        """How many models are fitted; ``at_most`` is an upper bound of all."""
        return dict(self.facts["fits"])

    @property
    def certificate(self) -> pd.DataFrame:
        """Each feature's class, whether it may move, and why; no row without a declared graph."""
        import pandas as pd

        rows = [(one["status"], one["may_move"], self.reasons[one["name"]]) for one in self.facts["features"]]
        index = pd.Index([one["name"] for one in self.facts["features"]], name="feature")
        return pd.DataFrame(rows, columns=["class", "may move", "reason"], index=index)

    @property
    def tests(self) -> dict[str, Any]:
        """The tests that the data will be asked: of the graph, of each feature, of the new rows."""
        return {name: self.facts[name] for name in ("falsify", "screen", "gate")}

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        """For notebooks: the plan as the terminal prints it."""
        return f"<pre>{escape(str(self))}</pre>"


def plan_of(spec: RunSpec, draft: Draft) -> RunPlan:
    """Reads and checks the data, asks the graph, counts the fits."""
    with draft.placing():
        cost = estimate(build_plan(spec, draft))
        known = None if spec.causal.graph is None else known_graph(spec, draft)
        facts = _content(spec, draft, cost, known)
    short = {one.name: reason_sentence(one.reason, subject=False) for one in cost.features}
    reasons = {one.name: reason_sentence(one.reason) for one in cost.features}
    causes = {} if known is None else known.graph.confounders
    hidden = {name: f"the hidden cause of {' and '.join(ends)}" for name, ends in causes.items()}
    return RunPlan(facts=facts, lines=tuple(plan_lines(facts, short, hidden)), reasons=reasons)


def _content(spec: RunSpec, draft: Draft, cost: CostEstimate, known: KnownGraph | None) -> dict[str, Any]:
    choice = partition_of(spec, None if known is None else known.graph)
    certificate = _certificate(spec, draft, known, [one.name for one in cost.features])
    certified = {one.name: one.perturbable for one in cost.features}
    # Whether how much noise the new rows carry, and so their basis, is not known before the folds are.
    basis = "searched" if "retention" in searched_knobs(draft) else cost.basis
    # A row without noise may move any feature, unless the effects of what moves are to follow it and cannot.
    any_moves = basis != "certificate" and not spec.perturbation.propagate
    held_back = {one.name: reason_sentence(one.reason) for one in cost.features if not one.perturbable}
    discovery = None if certificate or spec.causal.discovery is None else spec.causal.discovery.model_dump(mode="json")
    return {
        "name": spec.name,
        "target": spec.dataset.target,
        "rows": {"train": cost.train_rows, "test": cost.test_rows, "synthetic": cost.synthetic_rows}
        | ({"tuning": cost.tuning_rows} if cost.tuning_rows else {}),
        **({} if spec.dataset.weights is None else {"weights": spec.dataset.weights}),
        "features": [
            {
                "name": one["name"],
                "certified": certified[one["name"]],
                "may_move": any_moves or certified[one["name"]],
                "basis": basis if any_moves or certified[one["name"]] else None,
                "held_by_spec": choice.leaves(one["name"]) is not None,
                **{key: one[key] for key in ("status", "reason", "witness", "lines", "blockers", "lemma")},
                **_held_back(one, held_back),
                "follows": one["follows"],
            }
            for one in certificate.get("features", ())
        ],
        "may_move": list(movable(cost.features)),
        "basis": basis,
        "decided_by": "the declared graph" if certificate else "PC and the screen, from residuals",
        "certificate": {key: certificate[key] for key in _PROVEN} if certificate else None,
        "propagate": spec.perturbation.propagate,
        "max_features": choice.max_features,
        "falsify": {**spec.falsify.model_dump(mode="json"), "implied": certificate["implied"]} if certificate else None,
        "discovery": discovery,
        "screen": choice.screen.model_dump(mode="json"),
        "signs": _signs_content(spec),
        "tuning": _tuning_content(spec, draft),
        "gate": spec.gate.model_dump(mode="json"),
        "fits": {
            **{key: getattr(cost, f"fits_{key}") for key in ("per_fold", "on_all", "at_most", "unshared", "to_tune")},
            "refits": cost.refits,
            "ensemble": cost.fits_of_ensemble,
            "report": cost.fits_of_controls,
        },
        **({} if cost.time is None else {"time": asdict(cost.time)}),
    }


def _held_back(feature: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """What becomes of a feature that the graph alone would free: its effects are to follow, and cannot."""
    if feature["status"] == "blocked" or feature["name"] not in reasons:
        return {}
    return {"status": "blocked", "reason": reasons[feature["name"]], "lemma": ""}


def _certificate(spec: RunSpec, draft: Draft, known: KnownGraph | None, features: Sequence[str]) -> dict[str, Any]:
    """What the declared graph proves, each line of it with its place in the file; empty without a graph."""
    written = spec.causal.graph
    if written is None or known is None:
        return {}
    graph = known.graph
    # A graph does not remember at which position of the spec's list a parent of the noise stands.
    listed = {f"{name} -> {graph.noise}": f"causal.graph.noise.{at}" for at, name in enumerate(written.noise)}
    implied, independencies = known.implied()
    record = {**known_record(graph, features), "implied": list(implied), "independencies": independencies}
    following = {verdict.name for verdict in known.verdicts if verdict.held == Stated(code="follows")}
    for feature in record["features"]:
        feature["follows"] = feature["name"] in following
        for line in feature["lines"]:
            line["where"] = listed.get(line["edge"], line["where"])
            line["place"] = draft.place_of(line["where"])
    return record


def _signs_content(spec: RunSpec) -> dict[str, Any] | None:
    """The declared signs, which kinds of the committee hold them and which cannot; None when none is declared."""
    if not spec.causal.monotone:
        return None
    teacher = spec.counterfactual.teacher
    members = teacher.members if teacher.kind == "committee" else ()
    kinds = [spec.regressor if one.kind == "student" else one for one in members]
    return {
        "declared": dict(spec.causal.monotone),
        "held_by": list(
            dict.fromkeys(one.kind for one in kinds if one.holds_signs and not getattr(one, "monotone", False))
        ),
        "left_alone": list(dict.fromkeys(one.kind for one in kinds if not one.holds_signs)),
        "student": getattr(spec.regressor, "monotone", False),
    }


def _tuning_content(spec: RunSpec, draft: Draft) -> dict[str, Any] | None:
    """The searches as data; None when nothing is searched."""
    tune, searches = spec.tune, {}
    if tune.kind != "none":
        names = sorted(spec.regressor.open_space())
        searches["regressor"] = {"kind": tune.kind, "trials": tune.trials, "folds": tune.folds, "searched": names}
    if isinstance(tune.augmentation, CandidateTuning):
        names = ["declared", *tune.augmentation.candidates]
        settings = {"kind": "candidates", "trials": len(names), "folds": tune.augmentation.folds}
        searches["augmentation"] = {**settings, "searched": names}
    elif tune.augmentation is not None:
        settings = tune.augmentation.model_dump(mode="json", exclude={"knobs"})
        searches["augmentation"] = {**settings, "searched": sorted(searched_knobs(draft))}
    return {"on": tune.on.kind, **searches} if searches else None

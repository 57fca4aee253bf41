"""`crda-spec plan`: the certificate, the tests, the rows and the cost of a run, before anything is fitted."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crda_spec.cli.options import AsJson, Overrides, SpecFile
from crda_spec.errors import CrdaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crda_spec.gate.cost import CostEstimate
    from crda_spec.records import TimeOrder
    from crda_spec.spec.check import KnownGraph
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec


def gate_line(gate: Mapping[str, Any]) -> str:
    """The gate's settings but for those that ask for nothing."""
    if not gate["enabled"]:
        return "UNGATED: switched off, nobody will test whether augmentation helps"
    idle = {"enabled": True, "min_effect": 0.0, "stop": "never", "repeats": 1, "starts": 1}
    names = list(gate["candidates"])
    told = {key: value for key, value in gate.items() if not key.startswith("candidate") and idle.get(key, "") != value}
    among = f", chosen among declared, {', '.join(names)} on {gate['candidate_folds']} inner folds" if names else ""
    return settings_line(told) + among


def settings_line(chosen: Mapping[str, Any]) -> str:
    """A member of a family and its settings: `wilcoxon, folds 10, alpha 0.05`."""
    settings = (
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in chosen.items()
        if key not in ("kind", "knowledge", "methods") and value is not None
    )
    return ", ".join((str(chosen["kind"]), *settings)).replace("_", " ")


def fits_line(fits: Mapping[str, int], folds: int) -> str:
    """How many models are fitted, and where: `67 instead of 122, because ...`."""
    if fits["at_most"] < fits["unshared"]:
        return f"{fits['at_most']} instead of {fits['unshared']}, because teacher and gate share fold models"
    on_all = "" if fits["on_all"] == fits["per_fold"] else f"{fits['on_all']} "
    first = f"{fits['to_tune']} to tune, " if fits["to_tune"] else ""
    where = f"{first}{fits['per_fold']} in each of {folds} folds and {on_all}on all rows"
    more = f", {fits['ensemble']} for the ensemble" if fits["ensemble"] else ""
    return f"{fits['at_most']} ({where}{more})"


def time_content(order: TimeOrder | None) -> dict[str, Any]:
    """For `--json`; nothing at all when rows have no order."""
    from dataclasses import asdict

    return {} if order is None else {"time": asdict(order)}


def time_lines(told: dict[str, Any] | None) -> Iterator[tuple[str, int]]:
    """For people: each line with its indent."""
    if told is None:
        return
    test = "" if told["test"] is None else f", {_span(told['test'])} to test"
    tuning = "" if told["tuning"] is None else f", {_span(told['tuning'])} to tune"
    yield f"time: rows in the order of {told['column']}; {_span(told['train'])} to train{test}{tuning}", 2
    for fold in told["folds"]:
        yield f"fold {fold['fold']}: fitted up to {fold['trained']['last']}, scored on {_span(fold['held_out'])}", 4


def _span(span: dict[str, str]) -> str:
    return span["first"] if span["first"] == span["last"] else f"{span['first']} to {span['last']}"


def tuning_content(spec: RunSpec, draft: Draft) -> dict[str, Any] | None:
    """The searches as data; None when nothing is searched."""
    from crda_spec.spec.check import searched_knobs

    tune, found = spec.tune, {}
    if tune.kind != "none":
        names = sorted(spec.regressor.open_space())
        found["regressor"] = {"kind": tune.kind, "trials": tune.trials, "folds": tune.folds, "searched": names}
    if tune.augmentation is not None:
        parts = {name: getattr(spec, name) for name in type(spec).model_fields}
        said = tune.augmentation.model_dump(mode="json", exclude={"knobs"})
        found["augmentation"] = {**said, "searched": sorted(searched_knobs(draft, parts))}
    return {"on": tune.on.kind, **found} if found else None


def tuning_lines(tuning: Mapping[str, Any], *, folds: int, rows: int) -> Iterator[str]:
    """The same for people, one line a search."""
    where = f"once, on {rows} training rows set aside" if rows else f"in each of {folds} folds and on all rows"
    for name in ("regressor", "augmentation"):
        if name in tuning:
            one = tuning[name]
            yield (
                f"tuning of the {name}: {one['kind']}, {one['trials']} trials on {one['folds']} inner folds, {where}, "
                f"of {', '.join(one['searched'])}"
            )
    limit = tuning.get("augmentation", {}).get("seconds")
    if limit is not None:
        yield f"a search ends after {limit:g} s: such a run cannot be repeated to the byte"


_WIDTH = 80  # of any terminal; a name or place that does not fit stays whole, so that it can be copied
_HARD = "\N{NO-BREAK SPACE}"  # keeps an edge and its place on one line
_LICENCES = {
    "support": (
        "the new rows carry no noise (retention 0), so any feature may move, and only the data's support is claimed; "
        "what the graph says of it stands beside"
    ),
    "searched": (
        "how much noise the new rows carry (retention) is searched inside the folds: with noise only certified "
        "features move, without it any may"
    ),
}
_IF_REFUTED = {
    "abstain": "nothing is augmented",
    "warn": "the run goes on and says so",
    "ignore": "the run goes on, and only the record says so",
}


def plan(spec: SpecFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Show the certificate, the tests, the rows and the number of fits, before anything is fitted.

    Reads and checks the data. The count of fits is an upper bound: a fold in which nothing may move fits one less.
    """
    from crda_spec.api import estimate
    from crda_spec.report.words.causal import reason_sentence
    from crda_spec.spec.build import build_plan
    from crda_spec.spec.check import known_graph, load_spec

    found, draft = load_spec(spec, overrides=overrides or ())
    try:
        outlook = estimate(build_plan(found, draft))
        known = None if found.causal.graph is None else known_graph(found, draft)
        content = _content(found, draft, outlook, known)
    except CrdaError as error:
        raise type(error)(draft.placed(complaint) for complaint in error.complaints) from error
    if as_json:
        sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    else:
        reasons = {one.name: reason_sentence(one.reason, subject=False) for one in outlook.features}
        causes = {} if known is None else known.graph.confounders
        hidden = {name: f"the hidden cause of {' and '.join(ends)}" for name, ends in causes.items()}
        sys.stdout.write("".join(f"{line}\n" for line in _lines(content, reasons, hidden)))


def _content(spec: RunSpec, draft: Draft, outlook: CostEstimate, known: KnownGraph | None) -> dict[str, Any]:
    from crda_spec.report.words.causal import reason_sentence

    choice = spec.partition
    certificate = _certificate(spec, draft, known, [one.name for one in outlook.features])
    certified = {one.name: one.perturbable for one in outlook.features}
    licence = "searched" if _searches_retention(spec, draft) else outlook.licence
    # A row without noise may move any feature, unless the effects of what moves are to follow it and cannot.
    any_moves = licence != "certificate" and not spec.perturbation.propagate
    held_back = {one.name: reason_sentence(one.reason) for one in outlook.features if not one.perturbable}
    discovery = None if certificate or spec.causal.discovery is None else spec.causal.discovery.model_dump(mode="json")
    return {
        "name": spec.name,
        "target": spec.dataset.target,
        "rows": {"train": outlook.train_rows, "test": outlook.test_rows, "synthetic": outlook.synthetic_rows}
        | ({"tuning": outlook.tuning_rows} if outlook.tuning_rows else {}),
        **({} if spec.dataset.weights is None else {"weights": spec.dataset.weights}),
        "features": [
            {
                "name": one["name"],
                "certified": certified[one["name"]],
                "may_move": any_moves or certified[one["name"]],
                "licence": licence if any_moves or certified[one["name"]] else None,
                "held_by_spec": one["name"] in choice.keep or one["name"] not in (choice.perturb or (one["name"],)),
                **{key: one[key] for key in ("status", "reason", "witness", "lines", "blockers", "lemma")},
                **_held_back(one, held_back),
                "follows": one["follows"],
            }
            for one in certificate.get("features", ())
        ],
        "licence": licence,
        "decided_by": "the declared graph" if certificate else "PC and the screen, from residuals",
        "certificate": {
            key: certificate[key]
            for key in ("noise_side", "largest", "lemma_holds", "remedies", "assumes", "independencies")
        }
        if certificate
        else None,
        "propagate": spec.perturbation.propagate,
        "max_features": choice.max_features,
        "falsify": {**spec.falsify.model_dump(mode="json"), "implied": certificate["implied"]} if certificate else None,
        "discovery": discovery,
        "screen": choice.screen.model_dump(mode="json"),
        "tuning": tuning_content(spec, draft),
        "gate": spec.gate.model_dump(mode="json"),
        "fits": {
            "per_fold": outlook.fits_per_fold,
            "on_all": outlook.fits_on_all,
            "at_most": outlook.fits_at_most,
            "unshared": outlook.fits_unshared,
            "to_tune": outlook.fits_to_tune,
            "ensemble": outlook.fits_of_ensemble,
            "report": int(spec.output.diagnostics),
        },
        **time_content(outlook.time),
    }


def _searches_retention(spec: RunSpec, draft: Draft) -> bool:
    """Whether how much noise the new rows carry, and so their licence, is not known before the folds are."""
    from crda_spec.spec.check_models import searched_knobs

    return spec.tune.augmentation is not None and "retention" in searched_knobs(draft, draft.parts)


def _held_back(feature: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """What becomes of a feature that the graph alone would free: its effects are to follow, and cannot."""
    if feature["status"] in ("blocked", "undrawn") or feature["name"] not in reasons:
        return {}
    return {"status": "blocked", "reason": reasons[feature["name"]], "lemma": ""}


def _certificate(spec: RunSpec, draft: Draft, known: KnownGraph | None, features: Sequence[str]) -> dict[str, Any]:
    """What the declared graph proves, each line of it with its place in the file; empty without a graph."""
    from crda_spec.api import place_of
    from crda_spec.audit.record import foreseen_record

    written = spec.causal.graph
    if written is None or known is None:
        return {}
    graph = known.graph
    # A graph does not remember at which position of the spec's list a parent of the noise stands.
    listed = {f"{name} -> {graph.noise}": f"causal.graph.noise.{at}" for at, name in enumerate(written.noise)}
    implied, independencies = known.implied()
    record = {**foreseen_record(graph, features), "implied": list(implied), "independencies": independencies}
    following = {verdict.name for verdict in known.verdicts if verdict.status == "follows"}
    for feature in record["features"]:
        feature["follows"] = feature["name"] in following
        for line in feature["lines"]:
            line["where"] = listed.get(line["edge"], line["where"])
            line["place"] = place_of(line["where"], draft)
    return record


def _lines(content: dict[str, Any], reasons: Mapping[str, str], hidden: Mapping[str, str]) -> Iterator[str]:
    """The plan for people. reasons: of each feature, to stand after its name. hidden: what hidden causes are called."""
    rows, fits = content["rows"], content["fits"]
    yield f"Plan of {content['name']}"
    aside = f", {rows['tuning']} to tune" if "tuning" in rows else ""
    yield f"  rows: {rows['train']} to train, {rows['test']} to test{aside}, {rows['synthetic']} to make"
    if "weights" in content:
        yield from _wrapped(f"weights: each row counts as '{content['weights']}' says, in fits and scores", first=2)
    for line, indent in time_lines(content.get("time")):
        yield from _wrapped(line, first=indent)
    yield f"  what may move: decided by {content['decided_by']}"
    if content["licence"] in _LICENCES:
        yield from _wrapped(_LICENCES[content["licence"]], first=4)
    for alike in _alike(content["features"], reasons, hidden):
        yield from _feature(alike[0], reasons, hidden)
        if alike[1:]:
            yield from _wrapped(f"the same holds for: {', '.join(one['name'] for one in alike[1:])}", first=11)
    if content["propagate"]:
        yield "    what a moved feature causes follows it, by equations fitted to the graph"
    if content["max_features"] is not None:
        most = content["max_features"]
        yield f"    at most {most} of them move (max_features): those most tied to the target"
    if content["certificate"] is not None:
        yield from _proof(content, hidden)
    if content["tuning"] is not None:
        said = tuning_lines(content["tuning"], folds=content["gate"]["folds"], rows=rows.get("tuning", 0))
        for line in said:
            yield from _wrapped(line, first=2)
    yield from _tests(content)
    if fits["ensemble"]:
        many = fits["ensemble"] // 2 + 1
        cost = f"{fits['ensemble']} of the fits below, or {many - 1} if the gate does not accept"
        yield from _wrapped(f"ensemble: the mean of {many} models is handed over; {cost}", first=2)
    report = ", and 1 for the report" if fits["report"] else ""
    yield f"  fits: at most {fits_line(fits, content['gate']['folds'])}{report}"


def _alike(
    features: Iterable[dict[str, Any]], reasons: Mapping[str, str], hidden: Mapping[str, str]
) -> list[list[dict[str, Any]]]:
    """The features in groups about which the plan would say the same, but for their names."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for feature in features:
        said = " ".join(" ".join(_feature(feature, reasons, hidden)).split())  # however long the names make the lines
        groups.setdefault(said.replace(feature["name"], ""), []).append(feature)
    return list(groups.values())


def _word(feature: dict[str, Any]) -> str:
    if not feature["may_move"]:
        return "fixed"
    if feature["follows"]:
        return "joins"
    return "kept " if feature["held_by_spec"] else "moves"


def _feature(feature: dict[str, Any], reasons: Mapping[str, str], hidden: Mapping[str, str]) -> Iterator[str]:
    """A verdict, the lines that cause it, and what would close the path."""
    name = feature["name"]
    reason = reasons[name]
    if feature["may_move"] and not feature["certified"]:
        reason = f"not certified, but without noise it may: {reason}"
    yield from _wrapped(f"{_word(feature)}  {name}: {reason}", first=4, margin=11)
    if feature["lines"]:
        written = (f"{line['edge']} ({line['place']})".replace(" ", _HARD) for line in feature["lines"])
        yield from _wrapped(f"written: {', '.join(written)}", first=11)
    if feature["blockers"]:
        names = " or ".join(hidden.get(name, name) for name in feature["blockers"])
        yield from _wrapped(f"this path would close if one could hold fixed: {names}", first=11)
    if feature["status"] == "irrelevant":
        yield from _wrapped(f"lemma: {feature['lemma']}", first=11)


def _proof(content: dict[str, Any], hidden: Mapping[str, str]) -> Iterator[str]:
    """The lemma's check, what would free more, and what all this rests on."""
    certificate, target = content["certificate"], content["target"]
    moving = [one["status"] for one in content["features"] if one["certified"]]
    causes, silent = moving.count("direct_cause"), moving.count("irrelevant")
    parts = (f"direct causes of {target}: {causes}", f"irrelevant to it: {silent}")
    holds = "holds" if certificate["lemma_holds"] else "FAILS, which is an error of ours: please report it"
    noise, *others = certificate["noise_side"]
    side = ", ".join(
        (f"{noise} (the noise of {target})", *(f"{hidden.get(name, name)} (not a feature)" for name in others))
    )
    them = "what moves" if content["licence"] == "certificate" else "what is certified"
    yield from _wrapped(f"{them} is separated from: {side}", first=2)
    nothing = "nothing may move" if content["licence"] == "certificate" else "nothing is certified"
    yield from _wrapped(f"lemma of the paper: {holds} ({'; '.join(parts) if moving else nothing})", first=2)
    if certificate["remedies"]:
        yield "  what would free more:"
        yield from _items(remedy["sentence"] for remedy in certificate["remedies"])
    yield "  this holds only if:"
    yield from _items(certificate["assumes"])


def _tests(content: dict[str, Any]) -> Iterator[str]:
    """The tests that will run, in their order."""
    falsify = content["falsify"]
    if falsify is not None:
        what = _claims(tested=len(falsify["implied"]), implied=content["certificate"]["independencies"])
        test = f"{what}, alpha {falsify['alpha']:g} over all of them together"
        against = f"; compared with {falsify['permutations']} permuted graphs" if falsify["permutations"] else ""
        then = f"; if refuted: {falsify['on_falsified']} ({_IF_REFUTED[falsify['on_falsified']]})"
        yield from _wrapped(f"test of the graph: {test}{against}{then}", first=2)
    for name, said in (("search", "discovery"), ("screen", "screen"), ("gate", "gate")):
        if content[said] is not None:
            told = gate_line(content[said]) if name == "gate" else settings_line(content[said])
            yield from _wrapped(f"{name}: {told}", first=2)


def _claims(*, tested: int, implied: int) -> str:
    """What the graph is tested on: `the 9 independencies that the graph implies`."""
    if tested < implied:
        all_ = f"of the {implied} independencies that the graph implies"
        return f"{all_}, the {tested} nearest the target (the others are not tested)"
    return f"the {implied} independencies that the graph implies" if implied != 1 else "the 1 independence it implies"


def _items(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from _wrapped(f"- {sentence}", first=4, margin=6)


def _wrapped(text: str, *, first: int, margin: int | None = None) -> list[str]:
    """The text in lines of at most `_WIDTH`, the first indented by `first`, the others by `margin`."""
    lines = textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * first,
        subsequent_indent=" " * (first + 2 if margin is None else margin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_HARD, " ") for line in lines]

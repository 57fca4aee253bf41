"""`crda-spec plan`: the certificate, the tests, the rows and the cost of a run, before anything is fitted."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crda_spec.cli.options import AsJson, Overrides, SpecFile
from crda_spec.cli.places import place_of
from crda_spec.cli.plan_gate import fits_line, gate_line, settings_line
from crda_spec.cli.plan_time import time_content, time_lines
from crda_spec.cli.plan_tuning import tuning_content, tuning_lines
from crda_spec.errors import CrdaError

if TYPE_CHECKING:
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec

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
    from crda_spec.check import load_spec

    found, draft = load_spec(spec, overrides=overrides or ())
    try:
        content = _content(found, draft)
    except CrdaError as error:
        raise type(error)(draft.placed(complaint) for complaint in error.complaints) from error
    if as_json:
        sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(content)))


def _content(spec: RunSpec, draft: Draft) -> dict[str, Any]:
    from crda_spec.build import build_plan
    from crda_spec.pipeline import foresee

    outlook, choice = foresee(build_plan(spec, draft)), spec.partition
    certificate = _certificate(spec, draft, [one.name for one in outlook.features])
    certified = {one.name: one.perturbable for one in outlook.features}
    licence = "searched" if _searches_retention(spec, draft) else outlook.licence
    # A row without noise may move any feature, unless the effects of what moves are to follow it and cannot.
    any_moves = licence != "certificate" and not spec.perturbation.propagate
    held_back = {one.name: one.reason for one in outlook.features if not one.perturbable}
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
    from crda_spec.check.tuning import searched_knobs

    return spec.tune.augmentation is not None and "retention" in searched_knobs(draft, draft.parts)


def _held_back(feature: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """What becomes of a feature that the graph alone would free: its effects are to follow, and cannot."""
    if feature["status"] in ("blocked", "undrawn") or feature["name"] not in reasons:
        return {}
    return {"status": "blocked", "reason": reasons[feature["name"]], "lemma": ""}


def _certificate(spec: RunSpec, draft: Draft, features: Sequence[str]) -> dict[str, Any]:
    """What the declared graph proves, each line of it with its place in the file; empty without a graph."""
    from crda_spec.audit.certificate import foreseen_record
    from crda_spec.check import known_graph

    written = spec.causal.graph
    if written is None:
        return {}
    known = known_graph(spec, draft)
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


def _lines(content: dict[str, Any]) -> Iterator[str]:
    """The plan for people."""
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
    for alike in _alike(content["features"]):
        yield from _feature(alike[0])
        if alike[1:]:
            yield from _wrapped(f"the same holds for: {', '.join(one['name'] for one in alike[1:])}", first=11)
    if content["propagate"]:
        yield "    what a moved feature causes follows it, by equations fitted to the graph"
    if content["max_features"] is not None:
        most = content["max_features"]
        yield f"    at most {most} of them move (max_features): those most tied to the target"
    if content["certificate"] is not None:
        yield from _proof(content)
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


def _alike(features: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The features in groups about which the plan would say the same, but for their names."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for feature in features:
        said = " ".join(" ".join(_feature(feature)).split())  # however long the names make the lines
        groups.setdefault(said.replace(feature["name"], ""), []).append(feature)
    return list(groups.values())


def _word(feature: dict[str, Any]) -> str:
    if not feature["may_move"]:
        return "fixed"
    if feature["follows"]:
        return "joins"
    return "kept " if feature["held_by_spec"] else "moves"


def _feature(feature: dict[str, Any]) -> Iterator[str]:
    """A verdict, the lines that cause it, and what would close the path."""
    name, reason = feature["name"], feature["reason"]
    for start in (f"{name} is ", f"{name} acts "):  # after "name: " it need not be said again
        if reason.startswith(start):
            reason = start.removeprefix(f"{name} ").removeprefix("is ") + reason.removeprefix(start)
    if feature["may_move"] and not feature["certified"]:
        reason = f"not certified, but without noise it may: {reason}"
    yield from _wrapped(f"{_word(feature)}  {name}: {reason}", first=4, margin=11)
    if feature["lines"]:
        written = (f"{line['edge']} ({line['place']})".replace(" ", _HARD) for line in feature["lines"])
        yield from _wrapped(f"written: {', '.join(written)}", first=11)
    if feature["blockers"]:
        names = " or ".join(_hidden(name) for name in feature["blockers"])
        yield from _wrapped(f"this path would close if one could hold fixed: {names}", first=11)
    if feature["status"] == "irrelevant":
        yield from _wrapped(f"lemma: {feature['lemma']}", first=11)


def _hidden(name: str) -> str:
    """`(a <-> b)` is the name of a hidden common cause."""
    return f"the hidden cause of {name[1:-1].replace(' <-> ', ' and ')}" if " <-> " in name else name


def _proof(content: dict[str, Any]) -> Iterator[str]:
    """The lemma's check, what would free more, and what all this rests on."""
    certificate, target = content["certificate"], content["target"]
    moving = [one["status"] for one in content["features"] if one["certified"]]
    causes, silent = moving.count("direct_cause"), moving.count("irrelevant")
    parts = (f"direct causes of {target}: {causes}", f"irrelevant to it: {silent}")
    holds = "holds" if certificate["lemma_holds"] else "FAILS, which is an error of ours: please report it"
    noise, *others = certificate["noise_side"]
    side = ", ".join((f"{noise} (the noise of {target})", *(f"{_hidden(name)} (not a feature)" for name in others)))
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

"""The plan of a run in words, for the terminal: what may move and why, the tests, the rows and the fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crda_spec.report.words.numbers import count, named, wrapped

_MANY = 3  # names that only the list of remedies tells
_WIDTH = 80  # of any terminal; a name or place that does not fit stays whole, so that it can be copied
_HARD = "\N{NO-BREAK SPACE}"  # keeps an edge and its place on one line
_BASES = {
    "support": (
        "the new rows carry no noise (retention 0), so any feature may move, and only the data's support is claimed"
    ),
    "augmenter": "an augmenter makes the new rows in its own way, and nothing is claimed of them",
    "searched": (
        "how much noise the new rows carry (retention) is searched inside the folds: with noise only certified "
        "features move, without it any may"
    ),
}
_NOISE = {"certificate": "", "support": " with noise", "augmenter": " with noise", "searched": " with noise"}
_IF_REFUTED = {
    "recertify": "add the suggested arrows; noise is carried if no cause is lost",
    "abstain": "nothing is augmented",
    "warn": "the run goes on and says so",
    "ignore": "the run goes on, and only the record says so",
}


def plan_lines(content: dict[str, Any], reasons: Mapping[str, str], hidden: Mapping[str, str]) -> Iterator[str]:
    """The plan for people. reasons: of each feature, to stand after its name. hidden: what hidden causes are called."""
    rows, fits = content["rows"], content["fits"]
    yield f"Plan of {content['name']}"
    aside = f", {rows['tuning']} to tune" if "tuning" in rows else ""
    yield f"  rows: {rows['train']} to train, {rows['test'] or 'none'} to test{aside}, {rows['synthetic']} to make"
    if "weights" in content:
        yield from _wrapped(f"weights: each row counts as '{content['weights']}' says, in fits and scores", first=2)
    if "time" in content:
        yield from _time_lines(content["time"])
    free, all_of_them = len(content["may_move"]), len(content["features"])
    known = f"{free} of {count(all_of_them, 'feature')}, " if all_of_them else ""
    yield f"  what may move{_NOISE[content['basis']]}: {known}decided by {content['decided_by']}"
    yield from _without_graph(content) if content["certificate"] is None else _first_remedy(content)
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
    yield from _sign_lines(content["signs"])
    if content["tuning"] is not None:
        yield from _tuning_lines(content["tuning"], folds=content["gate"]["folds"], rows=rows.get("tuning", 0))
    yield from _tests(content)
    if fits["ensemble"]:
        cost = f"{fits['ensemble']} of the fits below"
        many = fits["ensemble"] + 1
        if rows["test"]:  # there as many plain models are fitted, to compare
            many = fits["ensemble"] // 2 + 1
            cost += f", or {many - 1} if the gate does not accept"
        yield from _wrapped(f"ensemble: the mean of {many} models is handed over; {cost}", first=2)
    report = f", and {fits['report']} for the report" if fits["report"] else ""
    yield f"  fits: at most {_fits_line(fits, content['gate']['folds'])}{report}"
    if fits["refits"]:
        yield f"    {fits['refits']} of these at most are repeated on all their rows, once early stopping has ended"


def _without_graph(content: dict[str, Any]) -> Iterator[str]:
    """What takes the place of a graph, and what one would add."""
    target, basis = content["target"], content["basis"]
    if basis in _BASES:
        yield from _wrapped(_BASES[basis], first=4)
    if basis == "augmenter":
        return
    if basis != "support":
        counts = "what the search and the screen let through counts as a cause, and no feature as irrelevant"
        yield from _wrapped(f"no graph: {counts}", first=4)
    adds = f"which features are causes of {target}, which are irrelevant to it and move freely, and which must stay"
    yield from _wrapped(f"a graph that you draw (causal.graph) would add: {adds}", first=4)


def _first_remedy(content: dict[str, Any]) -> Iterator[str]:
    """The basis; and where no cause may move because of features that could be left out, what to do."""
    basis = content["basis"]
    if basis in _BASES:
        beside = "; what the graph says of it stands beside" if basis in ("support", "augmenter") else ""
        yield from _wrapped(_BASES[basis] + beside, first=4)
    left_out = [one for one in content["certificate"]["remedies"] if one["kind"] == "leave_out"]
    if left_out and not any(one["certified"] and one["status"] != "irrelevant" for one in content["features"]):
        names, freed = left_out[0]["names"], len(left_out[0]["frees"])
        out = named(names) if len(names) < _MANY else f"{len(names)} features (below)"
        yield from _wrapped(f"no cause of {content['target']} may move: leave {out} out, and {freed} may", first=4)


def _alike(
    features: Iterable[dict[str, Any]], reasons: Mapping[str, str], hidden: Mapping[str, str]
) -> list[list[dict[str, Any]]]:
    """The features in groups about which the plan would say the same, but for their names."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for feature in features:
        text = " ".join(" ".join(_feature(feature, reasons, hidden)).split())  # however long the names make the lines
        groups.setdefault(text.replace(feature["name"], ""), []).append(feature)
    return list(groups.values())


def _feature(feature: dict[str, Any], reasons: Mapping[str, str], hidden: Mapping[str, str]) -> Iterator[str]:
    """A verdict, the lines that cause it, and what would close the path."""
    name = feature["name"]
    reason = reasons[name]
    if feature["may_move"] and not feature["certified"]:
        reason = f"not certified, but without noise it may: {reason}"
    free = "joins" if feature["follows"] else "kept " if feature["held_by_spec"] else "moves"
    does = free if feature["may_move"] else "fixed"
    yield from _wrapped(f"{does}  {name} ({feature['status']}): {reason}", first=4, margin=11)
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
    parts = (f"causes of {target}: {moving.count('cause')}", f"irrelevant to it: {moving.count('irrelevant')}")
    holds = "holds" if certificate["lemma_holds"] else "FAILS, which is an error of ours: please report it"
    noise, *others = certificate["noise_side"]
    side = ", ".join(
        (f"{noise} (the noise of {target})", *(f"{hidden.get(name, name)} (not a feature)" for name in others))
    )
    them = "what moves" if content["basis"] == "certificate" else "what is certified"
    yield from _wrapped(f"{them} is separated from: {side}", first=2)
    nothing = "nothing may move" if content["basis"] == "certificate" else "nothing is certified"
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
        tested, implied = len(falsify["implied"]), content["certificate"]["independencies"]
        what = f"the {implied} independencies that the graph implies"
        if tested < implied:
            what = f"of {what}, the {tested} nearest the target (the others are not tested)"
        elif implied == 1:
            what = "the 1 independence it implies"
        test = f"{what}, alpha {falsify['alpha']:g} over all of them together"
        against = f"; compared with {falsify['permutations']} permuted graphs" if falsify["permutations"] else ""
        then = f"; if refuted: {falsify['on_falsified']} ({_IF_REFUTED[falsify['on_falsified']]})"
        yield from _wrapped(f"test of the graph: {test}{against}{then}", first=2)
    for name, key in (("search", "discovery"), ("screen", "screen")):
        if content[key] is not None:
            yield from _wrapped(f"{name}: {_settings_line(content[key])}", first=2)
    settings = "UNGATED: switched off, nobody will test whether augmentation helps"
    if content["gate"]["enabled"]:  # all settings but those that ask for nothing
        idle = {"enabled": True, "min_effect": 0.0, "stop": "never", "repeats": 1, "restarts": 1}
        settings = _settings_line({key: one for key, one in content["gate"].items() if idle.get(key, "") != one})
    yield from _wrapped(f"gate: {settings}", first=2)


def _items(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from _wrapped(f"- {sentence}", first=4, margin=6)


def _sign_lines(signs: Mapping[str, Any] | None) -> Iterator[str]:
    """The declared signs and who will hold them; nothing where none is declared."""
    if signs is None:
        return
    parts = [", ".join(f"{name} {sign}" for name, sign in signs["declared"].items())]
    held, free = (", ".join(signs[name]) for name in ("held_by", "left_alone"))
    if held:
        parts.append(f"the committee has {held} once more, holding them")
    if free:
        parts.append(f"left alone, since they cannot hold signs: {free}")
    if signs["student"]:
        parts.append("both the plain and the augmented model hold them")
    elif not held:
        parts.append("no model holds them, they are only checked against the training rows")
    yield from _wrapped(f"signs: {'; '.join(parts)}", first=2)


def _settings_line(chosen: Mapping[str, Any]) -> str:
    """A member of a family and its settings: `wilcoxon, folds 10, alpha 0.05`."""
    settings = (
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in chosen.items()
        if key not in ("kind", "knowledge", "methods") and value is not None
    )
    return ", ".join((str(chosen["kind"]), *settings)).replace("_", " ")


def _fits_line(fits: Mapping[str, int], folds: int) -> str:
    """How many models are fitted, and where: `67 instead of 122, because ...`."""
    if fits["at_most"] < fits["unshared"]:
        return f"{fits['at_most']} instead of {fits['unshared']}, because teacher and gate share fold models"
    on_all = "" if fits["on_all"] == fits["per_fold"] else f"{fits['on_all']} "
    first = f"{fits['to_tune']} to tune, " if fits["to_tune"] else ""
    where = f"{first}{fits['per_fold']} in each of {folds} folds and {on_all}on all rows"
    more = f", {fits['ensemble']} for the ensemble" if fits["ensemble"] else ""
    return f"{fits['at_most']} ({where}{more})"


def _time_lines(order: dict[str, Any]) -> Iterator[str]:
    test = "" if order["test"] is None else f", {_span(order['test'])} to test"
    tuning = "" if order["tuning"] is None else f", {_span(order['tuning'])} to tune"
    spans = f"{_span(order['train'])} to train{test}{tuning}"
    yield from _wrapped(f"time: rows in the order of {order['column']}; {spans}", first=2)
    for fold in order["folds"]:
        scored = f"fitted up to {fold['trained']['last']}, scored on {_span(fold['held_out'])}"
        yield from _wrapped(f"fold {fold['fold']}: {scored}", first=4)


def _span(span: dict[str, str]) -> str:
    return span["first"] if span["first"] == span["last"] else f"{span['first']} to {span['last']}"


def _tuning_lines(tuning: Mapping[str, Any], *, folds: int, rows: int) -> Iterator[str]:
    """One line a search."""
    where = f"once, on {rows} training rows set aside" if rows else f"in each of {folds} folds and on all rows"
    for name in ("regressor", "augmentation"):
        if name in tuning:
            one = tuning[name]
            tried = f"{one['kind']}, {one['trials']} trials on {one['folds']} inner folds, {where}"
            yield from _wrapped(f"tuning of the {name}: {tried}, of {', '.join(one['searched'])}", first=2)
    limit = tuning.get("augmentation", {}).get("seconds")
    if limit is not None:
        yield from _wrapped(f"a search ends after {limit:g} s: such a run cannot be repeated to the byte", first=2)


def _wrapped(text: str, *, first: int, margin: int | None = None) -> list[str]:
    """The text in lines of at most `_WIDTH`, the first indented by `first`, the others by `margin`."""
    lines = wrapped(text, _WIDTH, first, first + 2 if margin is None else margin)
    return [line.replace(_HARD, " ") for line in lines]

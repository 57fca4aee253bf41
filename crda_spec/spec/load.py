"""YAML -> RunSpec, or every complaint about it in one go.

`--set gate.folds=12` writes one value from the command line. The value is YAML and is checked by the same models as the
file. An override may reach into a section that the file leaves out; that section then keeps its default `kind`, so that
`--set gate.folds=12` needs no `gate:` in the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError

from crda_spec import errors
from crda_spec.counterfactual.partition import Partition
from crda_spec.data.dataset import Dataset
from crda_spec.data.raw import RawTable
from crda_spec.errors import (
    Complaint,
    CrdaError,
    Place,
    SpecError,
    did_you_mean,
    inconsistent,
    printable,
    repeated,
    show,
)
from crda_spec.gate.tests import FiveByTwo
from crda_spec.records import FeatureVerdict, RunResult
from crda_spec.regressors import GivenEstimator
from crda_spec.regressors.estimator import section_of
from crda_spec.spec.explain import explain
from crda_spec.spec.recipes import default_goal, default_recipe, goal_preset, is_of_trees, preset_of
from crda_spec.spec.run import RunSpec
from crda_spec.spec.yaml_tree import MAX_BYTES, SpecPath, Tree, dotted, read_tree, tree_of, value_at

TUNE = "tune"
_RETENTIONS = [0.0, 0.25, 0.5, 0.75, 1.0]
_SEARCH = {"kind": "tpe", "trials": 10}  # of five values, a few are drawn twice, which costs nothing


def expand_shorthands(tree: Tree) -> None:
    """Replaces each such word by what it stands for."""
    value = tree.value
    section = value.get("counterfactual") if isinstance(value, dict) else None
    if not isinstance(section, dict) or section.get("retention") != TUNE:
        return
    del section["retention"]  # what the recipe declares is where the search starts
    word = tree.value_places.pop(("counterfactual", "retention"), None)
    path: SpecPath = ("tune", "augmentation", "knobs", "retention")
    tune = value.setdefault("tune", {"kind": "none"})
    if isinstance(tune, dict) and tune.get("augmentation") is None:
        tune["augmentation"] = {**_SEARCH, "knobs": {}}
    search = tune.get("augmentation") if isinstance(tune, dict) else None
    knobs = search.get("knobs") if isinstance(search, dict) else None
    if isinstance(knobs, dict):  # the usual knobs have it among them already
        knobs.setdefault("retention", list(_RETENTIONS))
        if word is not None:
            for length in range(1, len(path) + 1):
                tree.value_places.setdefault(path[:length], word)


SPEC_VERSION = 1
_SHORT = 4  # letters
_LONGEST_SHOWN = 200  # letters of an override
_POSITION = re.compile(r"[0-9]{1,9}")
_SOURCE_KEYS = ("dataset.source.", "dataset.split.source.")
_GRAPH_TEXT = "causal.graph.text:"  # how messages call the lines of a graph that is written inside the spec
Origin = Literal["user", "recipe", "goal", "environment", "--set"]


@dataclass(slots=True)
class Draft:
    """A spec on its way: what could be read, where it was written, and all that is wrong with it."""

    file: Path
    tree: Tree
    parts: dict[str, Any] = field(default_factory=dict)  # section -> model, only where it is valid
    spec: RunSpec | None = None
    origins: dict[str, Origin] = field(default_factory=dict)  # dotted path of a leaf -> who wrote it
    complaints: list[Complaint] = field(default_factory=list)
    frame: RawTable | None = None  # what Python handed over in place of a source
    estimator: Any = None  # what Python handed over in place of the regressor
    written: Any = None  # the values before recipe and goal fill in what they leave out

    def sound(self) -> RunSpec:
        """The spec; SpecError with all that is wrong with it."""
        if self.complaints or self.spec is None:
            raise SpecError(self.complaints)
        return self.spec

    def complain(self, complaint: Complaint) -> None:
        """Adds a complaint, at the place its path was written if it has none of its own."""
        self.complaints.append(self.placed(complaint))

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Complaints from inside name their places in the spec's file."""
        try:
            yield
        except CrdaError as error:
            raise type(error)(self.placed(complaint) for complaint in error.complaints) from error

    def placed(self, complaint: Complaint) -> Complaint:
        """The complaint at the place where its path was written, unless it has a place of its own.

        What a key of a source causes is shown at that key, after the name of the source.
        """
        if complaint.place is not None and not complaint.place.line and complaint.path.startswith(_SOURCE_KEYS):
            complaint = replace(complaint, place=None, what=f"{complaint.place}: {complaint.what}")
        key = complaint.code == "unknown-column" and complaint.path.startswith(("dataset.columns.", "perturbation."))
        key = key or complaint.path.startswith("causal.monotone.")
        path = path_in(self.tree, complaint.path)
        return self.without_secrets(complaint.at(self.tree.place(path, key=key) or Place(self.file.name)))

    def place_of(self, where: str) -> str:
        """`spec.yaml:12:9` for a path inside the spec; a place in a graph's own file stays as it is."""
        path, _, rest = where.partition(":") if where.startswith(_GRAPH_TEXT) else (where, "", "")
        if not path.startswith("causal.graph"):
            return where
        place = self.placed(Complaint(code="written-at", what="", path=path)).place
        return f"{place}, line {rest.split(':', 1)[0]} of the text" if rest else str(place)

    def with_places(self, result: RunResult) -> RunResult:
        """The same result for the reader of this spec; the record keeps paths, which hold for the spec it stores."""

        def placed(verdict: FeatureVerdict) -> FeatureVerdict:
            return replace(verdict, lines=tuple(replace(one, where=self.place_of(one.where)) for one in verdict.lines))

        features = tuple(map(placed, result.certificate.features))
        return replace(result, certificate=replace(result.certificate, features=features))

    def without_secrets(self, complaint: Complaint) -> Complaint:
        """The complaint with ${NAME} in place of what the environment filled in.

        A value of a few letters is a part of many words, so it is hidden only where it was filled in.
        """
        near = path_in(self.tree, complaint.path) in self.tree.environment
        hidden = [one for one in self.tree.secrets.items() if near or len(one[0]) >= _SHORT]
        for value, name in sorted(hidden, key=lambda one: -len(one[0])):
            place = complaint.place
            complaint = replace(
                complaint,
                what=_hide(complaint.what, value, name),
                hint=_hide(complaint.hint, value, name),
                path=_hide(complaint.path, value, name),
                place=None if place is None else replace(place, file=_hide(place.file, value, name)),
            )
        return complaint


def _hide(text: str, value: str, name: str) -> str:
    """The text without the value, also where a message quotes it or breaks it off."""
    for written in dict.fromkeys((value, repr(value)[1:-1], printable(value))):
        whole = rf"(?<!\w){re.escape(written)}(?!\w)" if len(value) < _SHORT else re.escape(written)
        text = re.sub(rf"(?<!\$\{{){whole}", lambda _: name, text)
        if "…" in text:
            cut = next((size for size in range(len(written) - 1, _SHORT - 1, -1) if f"{written[:size]}…" in text), 0)
            text = text.replace(f"{written[:cut]}…", f"{name}…") if cut else text
    return text


def read_draft(
    spec: Path | Mapping[str, Any],
    *,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str],
    frame: RawTable | None = None,
    estimator: Any = None,  # noqa: ANN401 - an object of any library
) -> Draft:
    """Reads a spec file, fills in its recipe, applies `--set` overrides and checks every section.

    spec: its file, or its values, which mean what they say: nothing is filled in from the environment.
    frame: a data frame's rows, in place of those that the spec names.  estimator: a regressor, in place of the spec's.
    """
    if isinstance(spec, Mapping):
        file, trouble, tree = Path.cwd() / "spec", None, tree_of(spec, "spec")
    else:
        file = spec
        text, trouble = read_text(file)
        tree = read_tree(text, file.name, environ) if trouble is None else Tree()
    draft = Draft(
        file=file,
        tree=tree,
        complaints=[trouble] if trouble else list(tree.complaints),
        frame=frame,
        estimator=estimator,
    )
    if trouble is not None or (tree.value is None and tree.complaints):
        return draft
    if not isinstance(tree.value, dict):
        what = f"a spec is a mapping (key: value lines), got {show(tree.value)}"
        hint, place = "start with `version: 1`", tree.place(())
        complaint = Complaint(code="not-a-mapping", what=what, hint=hint, place=place)
        draft.complaints.append(draft.without_secrets(complaint))
        return draft
    version = tree.value.get("version")
    if isinstance(version, int | float) and not isinstance(version, bool) and version != SPEC_VERSION:
        # Nothing else can be said of a language that we do not know.
        what = f"this spec is of version {version}, but this crda-spec reads version {SPEC_VERSION}"
        hint = f"use the crda-spec that it was written for, or rewrite it as version {SPEC_VERSION}"
        draft.complaints = [draft.placed(Complaint(code="unknown-version", path="version", what=what, hint=hint))]
        return draft
    if frame is not None and isinstance(tree.value.setdefault("dataset", {}), dict):
        tree.value["dataset"]["source"] = {"kind": "frame"}
    if estimator is not None:
        tree.value["regressor"] = section_of(estimator)
    for override in overrides:
        draft.complaints.extend(apply_override(tree, override))
    draft.written = deepcopy(tree.value)
    expand_shorthands(tree)
    draft.origins.update(_origins(tree))
    _fill_recipe(draft)
    _fill_discovery(tree)
    fill_kinds(tree)
    _validate(draft)
    _drop_unreadable(draft)
    for complaint in check_parts(draft.parts):
        draft.complain(complaint)
    draft.complaints = [draft.without_secrets(complaint) for complaint in draft.complaints]
    return draft


_TABLES = (".csv", ".tsv", ".parquet", ".xlsx")  # what one may hand over in place of a spec


def read_text(file: Path, *, holds: str = "spec") -> tuple[str, Complaint | None]:
    """The text of a YAML file, or why it cannot be read. holds: what the file is for, in messages."""
    place = Place(file.name or str(file))
    try:
        size = file.stat().st_size
        if not file.is_file() and not file.is_dir():  # a device or a pipe may never end
            return "", _unreadable(file, OSError(0, "it is no file of text"), holds).at(place)
        if holds == "spec" and file.suffix.casefold() in _TABLES:
            what, hint = (
                f"{show(file.name)} is a table",
                f"write a first spec for it: crda-spec init {file} --target COLUMN",
            )
            return "", Complaint(code="no-spec", what=what, hint=hint, place=place)
        raw = file.read_bytes() if size <= MAX_BYTES else b""
    except (OSError, ValueError) as error:
        return "", _unreadable(file, error, holds).at(place)
    if size > MAX_BYTES:
        what = f"the file has {size} bytes, {'a spec' if holds == 'spec' else holds} may have {MAX_BYTES}"
        return "", Complaint(code="spec-too-large", what=what, hint="put data into a data file", place=place)
    try:
        return raw.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        before, after = raw[: error.start], raw[error.start :]
        start = before.rfind(b"\n") + 1
        shown = (before[start:] + after.split(b"\n", 1)[0]).decode("utf-8", errors="replace")
        col = len(before[start:].decode("utf-8", errors="replace")) + 1
        where = Place(file.name, before.count(b"\n") + 1, col, shown.rstrip("\r"))
        what = f"not UTF-8 text: byte {error.start} is 0x{raw[error.start]:02x}"
        return "", Complaint(code="not-utf8", what=what, hint=f"save the {holds} as UTF-8", place=where)


def _unreadable(file: Path, error: OSError | ValueError, holds: str) -> Complaint:
    is_folder = isinstance(error, IsADirectoryError)
    folder = file if is_folder else file.parent
    near = sorted(path.name for path in folder.glob("*.y*ml") if path.is_file()) if folder.is_dir() else []
    many = "specs" if holds == "spec" else "YAML files"
    if is_folder:
        what, hint = f"'{file}' is a folder", did_you_mean("", near, otherwise=f"{many} in it")
    elif isinstance(error, FileNotFoundError):
        what, hint = (
            f"there is no such file: '{file}'",
            did_you_mean(file.name, near, otherwise=f"{many} in that folder"),
        )
    else:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        what, hint = f"{show(str(file))} cannot be read: {why}", "name a file that can be read"
    return Complaint(code="unreadable-spec", what=what, hint=hint)


def _origins(tree: Tree) -> dict[str, Origin]:
    """Who wrote each value that stands in the file or on the command line."""

    def origin(path: SpecPath) -> Origin:
        place = tree.value_places.get(path)
        if place is not None and place.file.startswith("--set "):
            return "--set"
        return "environment" if path in tree.environment else "user"

    return {dotted(path): origin(path) for path, _ in leaves(tree.value)}


_USUAL_SEARCH: str = RunSpec.model_fields["causal"].default.discovery.kind
_USUAL_REGRESSOR: str = RunSpec.model_fields["regressor"].default.kind


def _fill_recipe(draft: Draft) -> None:
    """A recipe fills what is absent, and a goal before it. What the user writes wins."""
    value = draft.tree.value
    augmenter = value.get("augmenter")
    value.setdefault("recipe", default_recipe(value.get("causal"), augmenter))
    value.setdefault("goal", default_goal(value.get("regressor")))
    regressor = value.get("regressor")
    kind = regressor.get("kind") if isinstance(regressor, dict) else None
    trees = is_of_trees(regressor if kind else {"kind": _USUAL_REGRESSOR})
    maker = str(augmenter.get("kind")) if isinstance(augmenter, dict) else None
    preset = preset_of(str(value["recipe"]), str(kind or _USUAL_REGRESSOR), trees=trees, augmenter=maker)
    if preset is None:
        return  # the models will complain about the name
    goal = _goal_preset(value, str(kind or _USUAL_REGRESSOR))
    if not _hedges(value.get("counterfactual")):  # nothing then tells whether the rows bear the graph out
        preset["counterfactual"].pop("invariance", None)
    if "regressor" not in value:
        value["regressor"] = {"kind": _USUAL_REGRESSOR}
    elif kind is None:
        preset.pop("regressor", None)  # nobody knows which regressor is meant
        goal.pop("regressor", None)
    draft.tree.value = _filled(draft, _filled(draft, value, goal, "goal"), preset, "recipe")


def _goal_preset(value: Mapping[str, Any], regressor: str) -> dict[str, Any]:
    """What the goal fills in, but for what the spec has made meaningless. value: the spec as it was written."""
    written = [value.get(name) for name in ("regressor", "gate", "counterfactual")]
    student, gate, labels = (one if isinstance(one, dict) else {} for one in written)
    if value["recipe"] == "paper":
        return {}  # which is complained about
    preset = goal_preset(str(value["goal"]), regressor, student.get("quantile"))
    if value["recipe"] == "augmenter":  # which labels its rows itself
        return {name: section for name, section in preset.items() if name in ("regressor", "gate")}
    if gate.get("metric", "pinball") != "pinball":
        preset.get("gate", {}).pop("quantile", None)
    for name in ("noise", "residual_draw") if labels.get("retention") == 0 else ():
        preset.get("counterfactual", {}).pop(name, None)
    return preset


def _filled(draft: Draft, value: Any, default: Any, by: Origin, path: SpecPath = ()) -> Any:  # noqa: ANN401
    """The value with what it leaves out; another `kind` replaces the default's whole choice."""
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    if "kind" in default and value.get("kind") not in (None, default["kind"]):
        return value
    merged = dict(value)
    for key, inner in default.items():
        if key in value:
            merged[key] = _filled(draft, value[key], inner, by, (*path, key))
        else:
            merged[key] = inner
            for leaf, _ in leaves(inner, (*path, key)):
                draft.origins[dotted(leaf)] = by
    return merged


def _hedges(section: object) -> bool:
    """Whether the teacher may be the recipe's hedged committee. section: `counterfactual` as it was written."""
    teacher = section.get("teacher") if isinstance(section, dict) else None
    return not isinstance(teacher, dict) or teacher.get("kind", "committee") == "committee"


def _fill_discovery(tree: Tree) -> None:
    """Declared signs alone leave the structure to the usual search, as if `causal` were left out."""
    causal = tree.value.get("causal")
    if isinstance(causal, dict) and "monotone" in causal and not {"graph", "discovery"} & causal.keys():
        causal["discovery"] = {"kind": _USUAL_SEARCH}


# Sections whose keys can be judged one by one. In the others a key that was refused changes what the rest means.
_CHECKED_IN_PARTS = frozenset({"dataset", "causal", "partition", "perturbation"})


def _validate(draft: Draft) -> None:
    value = draft.tree.value
    try:
        # Through JSON, so that strict mode takes a list for a tuple but never text for a number.
        draft.spec = RunSpec.model_validate_json(json.dumps(value))
    except ValidationError as error:
        found = error.errors(include_url=False)
        # What the YAML reader refused is refused once.
        known = {complaint.place for complaint in draft.complaints}
        explained = explain(found, RunSpec, draft.tree)
        draft.complaints.extend(complaint for complaint in explained if complaint.place not in known)
        sound = without(value, [path_in(draft.tree, complaint.path) for complaint in explained])
        broken = {one["loc"][0] for one in found if one["loc"]}
        for name, info in RunSpec.model_fields.items():
            if name in sound and (name not in broken or name in _CHECKED_IN_PARTS):
                with suppress(ValidationError):
                    section: TypeAdapter[Any] = TypeAdapter(info.rebuild_annotation())
                    draft.parts[name] = section.validate_json(json.dumps(sound[name]))
    else:
        student = draft.spec.regressor
        if isinstance(student, GivenEstimator) and draft.estimator is not None:
            draft.spec = draft.spec.model_copy(update={"regressor": student.holding(draft.estimator)})
        draft.parts = {name: getattr(draft.spec, name) for name in RunSpec.model_fields}


def without(value: Any, paths: Sequence[SpecPath]) -> Any:  # noqa: ANN401
    """A copy without the values that were complained about, so that the rest of their sections can be checked too."""
    copy = json.loads(json.dumps(value))
    for path in filter(None, paths):  # an empty key has no path to it
        inside = copy
        for part in path[:-1]:
            inside = inside.get(part) if isinstance(inside, dict) else None
        if isinstance(inside, dict):
            inside.pop(path[-1], None)
        elif path[:-1] and len(path) > 1:  # an item of a list: the whole list is in doubt
            copy = without(copy, [path[:-1]])
    return copy


def _drop_unreadable(draft: Draft) -> None:
    """A section with a value that the YAML reader refused is not checked further: all else would be a consequence."""
    refused = {one.path.split(".")[0] for one in draft.tree.complaints if one.code != "repeated-key"}
    causal = draft.parts.get("causal")
    if causal is not None and causal.graph is None and causal.discovery is None and draft.tree.value.get("causal"):
        refused.add("causal")  # something was written there, and complained about already
    for name in refused & draft.parts.keys():
        del draft.parts[name]


def path_in(tree: Tree, name: str) -> SpecPath:
    """The path that a dotted name stands for; column names may themselves contain dots."""
    path: SpecPath = ()
    value, rest = tree.value, name
    while rest:
        keys = [str(key) for key in value] if isinstance(value, dict) else []
        match = max((key for key in keys if rest == key or rest.startswith(key + ".")), key=len, default=None)
        head = match if match is not None else rest.split(".", 1)[0]
        rest = rest[len(head) + 1 :]
        if isinstance(value, list) and head.isdigit() and int(head) < len(value):
            path, value = (*path, int(head)), value[int(head)]
        else:
            path, value = (*path, head), value.get(head) if isinstance(value, dict) else None
    return path


def apply_override(tree: Tree, override: str) -> list[Complaint]:
    """Writes one `key=value` into the tree, or says why that cannot be done."""
    name, equals, text = override.partition("=")
    written = f"{name}{equals}{errors.redact_url(text, users=True) if name.endswith('.url') else text}"
    place = Place(f"--set {written if len(written) <= _LONGEST_SHOWN else written[: _LONGEST_SHOWN - 1] + '…'}")
    path: SpecPath = tuple(int(part) if _POSITION.fullmatch(part) else part for part in name.split("."))
    if not equals or not all(str(part) for part in path) or any("\ud800" <= sign <= "\udfff" for sign in name):
        return [Complaint(code="bad-override", what="expected key=value", hint="e.g. --set gate.folds=12", place=place)]
    sub = read_tree(text or "null", place.file, {})
    if sub.complaints:
        return [Complaint(code=one.code, what=one.what, hint=one.hint, place=place) for one in sub.complaints]
    target: Any = tree.value
    for position, part in enumerate(path):
        trouble = _closed(target, part, path[:position])
        if trouble:
            hint = f"set {dotted(path[:position])} as a whole"
            return [Complaint(code="bad-override", what=trouble, hint=hint, place=place)]
        if position < len(path) - 1:
            target = target.setdefault(str(part), {}) if isinstance(target, dict) else target[part]
    target[path[-1] if isinstance(target, list) else str(path[-1])] = sub.value
    # The override is now where the value was written; what it replaced is forgotten.
    for known in (tree.value_places, tree.key_places, tree.environment):
        for old in [one for one in known if one[: len(path)] == path]:
            del known[old]
    for leaf, _ in leaves(sub.value, path):
        for length in range(len(path), len(leaf) + 1):
            tree.value_places[leaf[:length]] = tree.key_places[leaf[:length]] = place
    return []


def leaves(value: Any, path: SpecPath = ()) -> list[tuple[SpecPath, Any]]:  # noqa: ANN401 - any YAML value
    """Every scalar (and every empty list or mapping) below `path`, with its own path."""
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for position, inner in enumerate(value) for leaf in leaves(inner, (*path, position))]
    return [(path, value)]


def fill_kinds(tree: Tree) -> None:
    """Gives a section that only overrides have touched the `kind` it has by default."""
    above = {path[:length] for path in tree.value_places for length in range(1, len(path))}
    # Sections that the file does not write, but that now hold something an override wrote.
    for path in sorted((path for path in above if path not in tree.value_places), key=len):
        section, kind = value_at(tree.value, path), _default_kind(path)
        if isinstance(section, dict) and kind is not None:
            section.setdefault("kind", kind)


def _closed(target: Any, part: str | int, above: SpecPath) -> str:  # noqa: ANN401
    """Why nothing can be set at `part` of `target`; empty when it can."""
    if isinstance(target, dict):
        return ""
    if isinstance(target, list) and isinstance(part, int):
        return "" if part < len(target) else f"{dotted(above)} has no item {part}: it has {len(target)}, from 0"
    return f"{dotted(above)} is {show(target)}, with no key {show(str(part))} inside"


def _default_kind(path: SpecPath) -> str | None:
    """The `kind` of the default at `path` of a RunSpec, None where there is no default or it has no kind."""
    current: Any = RunSpec
    for part in path:
        if isinstance(current, BaseModel):
            current = getattr(current, str(part), None)
        elif isinstance(current, type) and issubclass(current, BaseModel) and str(part) in current.model_fields:
            field = current.model_fields[str(part)]
            current = field.annotation if field.is_required() else field.get_default(call_default_factory=True)
        else:
            return None
    return getattr(current, "kind", None) if isinstance(current, BaseModel) else None


def check_parts(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """What no single field can know, without any data; a section that could not be read is absent from `parts`."""
    for name in ("dataset", "causal", "partition", "counterfactual", "perturbation", "gate", "execution", "output"):
        if name in parts:
            yield from _partition(parts[name]) if name == "partition" else parts[name].complaints()
    intervals = parts["output"].intervals if "output" in parts else None
    if intervals is not None and "gate" in parts and "dataset" in parts:
        in_time = parts["dataset"].time is not None
        yield from intervals.complaints(gated=parts["gate"].enabled, in_time=in_time)
    if "dataset" in parts and "gate" in parts:
        yield from _order_complaints(parts["dataset"], parts["gate"])


def _partition(partition: Partition) -> Iterator[Complaint]:
    for position, name in enumerate(partition.keep):
        if name in (partition.perturb or ()):
            where = f"partition.keep.{position}"
            yield inconsistent(where, f"{show(name)} is also in partition.perturb", "name it in one of the two")
    yield from repeated("partition.perturb", partition.perturb or ())
    yield from repeated("partition.keep", partition.keep)


def _order_complaints(dataset: Dataset, gate: Any) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Gates that divide the rows more than once, where rows have an order."""
    repeats = getattr(gate, "repeats", 1)
    if dataset.time is None or repeats == 1:
        return
    if isinstance(gate, FiveByTwo):
        what = "five_by_two divides the rows into halves at random, but dataset.time gives them an order"
        yield inconsistent("gate.kind", what, "use kind: wilcoxon, or leave out dataset.time")
        return
    what = f"{repeats} repeats divide the rows anew, but rows with an order (dataset.time) can be divided in one way"
    yield inconsistent("gate.repeats", what, "write repeats: 1")

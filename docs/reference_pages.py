"""The reference pages, made from the program itself, so that they cannot say anything else than the code.

spec      every key of a spec, from its JSON Schema
commands  every command's help, as the terminal shows it
python    every public name, from its docstring

The notebooks of the examples become pages of the site too, with the outputs that stand in them.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import typer

import crda_spec
from crda_spec.cli.app import app, run_app
from crda_spec.spec.run import RunSpec

NOTEBOOKS = Path(crda_spec.__file__).parents[1] / "examples" / "notebooks"
Schema = dict[str, Any]
MADE = "<!-- Made by docs/build.py; do not edit. -->"


# The spec.

_SCHEMA: Schema = RunSpec.model_json_schema()


def spec_page() -> str:
    """Every key, section by section; a section that occurs twice is listed where it occurs first."""
    top = _SCHEMA["properties"]
    plain = {key: value for key, value in top.items() if not _models(value)}
    parts = [
        MADE,
        "# Every key of a spec",
        "",
        "A spec is one YAML file. `version`, `name` and `dataset` are required; `crda-spec render SPEC` prints yours",
        "with every default and recipe value filled in. An unknown key is an error. `meta` is for your notes.",
        "",
        "An editor with a YAML server completes and checks the file when it begins with",
        "`# yaml-language-server: $schema=crda-spec.v1.schema.json` (`crda-spec schema` prints that file).",
        "",
        "## The file",
        "",
        *_keys(plain, set(_SCHEMA.get("required", ())), {}),
    ]
    anchors = _anchors()
    seen: set[str] = set()
    for key, value in top.items():
        if key not in plain:
            parts += ["", f"## {key}", "", *_about(value, "")]
            parts += _sections(value, key, anchors, seen, level=3)
    return "\n".join([*parts, ""])


def _sections(value: Schema, path: str, anchors: dict[str, str], seen: set[str], *, level: int) -> Iterator[str]:
    """The models that may stand at a place, and what stands inside them."""
    found = [name for name in _models(value) if name not in seen]
    seen.update(found)
    for name in found:
        model = _SCHEMA["$defs"][name]
        kind = _kind_of(model)
        if kind:
            yield from ("", f"{'#' * level} {path}: {kind}", "")
        elif path.count("."):
            yield from ("", f"{'#' * level} {path}", "")
        about = _plain(model.get("description", ""))
        if about and (kind or "." in path):
            yield from (about, "")
        rest = {key: one for key, one in model["properties"].items() if key != "kind" or not kind}
        yield from _keys(rest, set(model.get("required", ())), anchors)
    for name in found:
        for key, one in _SCHEMA["$defs"][name]["properties"].items():
            if key != "kind":
                yield from _sections(one, f"{path}.{key}", anchors, seen, level=level)


def _anchors() -> dict[str, str]:
    """Model -> the anchor of its title, as the walk through the page meets it."""
    found: dict[str, str] = {}

    def walk(value: Schema, path: str) -> None:
        new = [name for name in _models(value) if name not in found]
        for name in new:
            kind = _kind_of(_SCHEMA["$defs"][name])
            found[name] = re.sub(r"[^\w\- ]", "", f"{path}: {kind}" if kind else path).lower().replace(" ", "-")
        for name in new:
            for key, one in _SCHEMA["$defs"][name]["properties"].items():
                if key != "kind":
                    walk(one, f"{path}.{key}")

    for key, value in _SCHEMA["properties"].items():
        walk(value, key)
    return found


def _models(value: Schema) -> list[str]:
    """The models that a value may be, wherever they stand in it."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return [name] if "properties" in _SCHEMA["$defs"][name] else _models(_SCHEMA["$defs"][name])
    inner = [one for key in ("anyOf", "oneOf", "allOf") for one in value.get(key, ())]
    inner += [value[key] for key in ("items", "additionalProperties") if isinstance(value.get(key), dict)]
    return list(dict.fromkeys(name for one in inner for name in _models(one)))


def _kind_of(model: Schema) -> str | None:
    kind = model["properties"].get("kind", {})
    return kind.get("const") or " or ".join(kind.get("enum", ())) or None


def _about(value: Schema, fallback: str) -> list[str]:
    text = _plain(value.get("description", fallback))
    return [text, ""] if text else []


def _keys(keys: Schema, needed: set[str], anchors: dict[str, str]) -> list[str]:
    if not keys:
        return ["No keys of its own."]
    rows = ["| key | is | default | says |", "|---|---|---|---|"]
    for key, value in keys.items():
        default = "required" if key in needed else _default(value)
        about = _cell(_plain(value.get("description", "")))
        rows.append(f"| `{key}` | {_kind(value, anchors)} | {_cell(default)} | {about} |")
    return rows


def _default(value: Schema) -> str:
    """The default; that of a whole section is spelt out where its own keys are listed."""
    if "default" not in value:
        return ""
    whole = isinstance(value["default"], dict) and value["default"]
    return "its own defaults" if whole else f"`{json.dumps(value['default'])}`"


def _kind(value: Schema, anchors: dict[str, str]) -> str:
    """What may stand there, with links to the models."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        if name not in anchors:
            return _kind(_SCHEMA["$defs"][name], anchors)
        label = _kind_of(_SCHEMA["$defs"][name]) or "section"
        return f"[{label}](#{anchors[name]})"
    if "const" in value or "enum" in value:
        return _cell(" ".join(f"`{one}`" for one in value.get("enum", [value.get("const")])))
    for key in ("anyOf", "oneOf", "allOf"):
        if key in value:
            return " or ".join(dict.fromkeys(_kind(one, anchors) for one in value[key]))
    kind = value.get("type", "anything")
    if kind == "array":
        inner = value.get("items") or value.get("prefixItems", [{}])[0]
        return f"list of {_kind(inner, anchors)}" if inner else "list"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"name: {_kind(value['additionalProperties'], anchors)}"
    said = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "mapping"}
    bounds = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    limits = [f"{word} {value[key]}" for key, word in bounds.items() if key in value]
    return ", ".join([said.get(kind, str(kind)), *limits])


def _plain(text: str) -> str:
    """Prose as Markdown shows it unchanged: no tag, no emphasis."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# The commands.

EXIT_CODES = {
    0: "done: accepted or not",
    2: "something is wrong with the spec, the data or the arguments; nothing was written",
    3: "the gate did not accept, under `--require-accept`",
    4: "`verify`: something was changed after the run",
    5: "`verify`: something that the depth covers could not be checked",
    130: "interrupted",
    143: "terminated",
}


def commands_page() -> str:
    """The help of every command."""
    parts = [MADE, "# Every command", "", "| exit code | means |", "|---|---|"]
    parts += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    for name, command in _commands():
        parts += ["", f"## {name}", "", "```text", _help(name, command), "```"]
    return "\n".join([*parts, ""])


def _commands() -> Iterator[tuple[str, Any]]:
    yield "crda-run", typer.main.get_command(run_app)
    group = typer.main.get_command(app)
    for name, command in sorted(getattr(group, "commands", {}).items()):
        yield f"crda-spec {name}", command


def _help(name: str, command: Any) -> str:  # noqa: ANN401 - a command of click or of what typer brings
    """The help as plain text, whatever the terminal."""
    context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    formatter = context.make_formatter()
    click.Command.format_usage(command, context, formatter)
    click.Command.format_help_text(command, context, formatter)
    click.Command.format_options(command, context, formatter)
    return "\n".join(line.rstrip() for line in formatter.getvalue().rstrip().splitlines())


# Python.


def python_page() -> str:
    """Every public name with its signature and its docstring."""
    names = [name for name in crda_spec.__all__ if not name.startswith("_")]
    groups = {
        "Functions": [name for name in names if inspect.isfunction(getattr(crda_spec, name))],
        "Classes": [name for name in names if inspect.isclass(getattr(crda_spec, name)) and not _is_error(name)],
        "Errors and warnings": [name for name in names if _is_error(name)],
    }
    parts = [MADE, "# Every public name in Python", "", "`import crda_spec` offers these. All other names may change."]
    for title, members in groups.items():
        parts += ["", f"## {title}"]
        for name in members:
            parts += ["", f"### {name}", "", *_documented(name, getattr(crda_spec, name))]
    return "\n".join([*parts, ""])


def _is_error(name: str) -> bool:
    return name.endswith(("Error", "Warning"))


def _documented(name: str, member: Any) -> Iterator[str]:  # noqa: ANN401 - functions and classes
    if name == "RunSpec":
        yield from ("The whole spec, checked and frozen. Its keys are those of [the spec](spec.md).",)
        return
    if not _is_error(name):
        yield from ("```python", _signature(name, member), "```", "")
    yield from _docstring(inspect.getdoc(member) or "")
    if inspect.isclass(member) and not _is_error(name):
        for key, method in sorted(vars(member).items()):
            said = inspect.getdoc(method.__func__ if isinstance(method, classmethod) else method)
            if not key.startswith("_") and said and (callable(method) or isinstance(method, property | classmethod)):
                yield from ("", f"#### {name}.{key}", "", *_docstring(said))


def _signature(name: str, member: Any) -> str:  # noqa: ANN401 - the same
    found = inspect.signature(member)
    arguments = [re.sub(r"<.+ at 0x.+>", "...", str(one).replace("'", "")) for one in found.parameters.values()]
    returns = "" if found.return_annotation in (inspect.Signature.empty, "None") else f" -> {found.return_annotation}"
    return "\n".join(
        [f"{name}(", *(f"    {one}," for one in _starred(found, arguments)), f"){returns}".replace("'", "")]
    )


def _starred(signature: inspect.Signature, arguments: list[str]) -> Iterator[str]:
    """The arguments, with the star that keyword-only ones stand behind."""
    starred = False
    for one, text in zip(signature.parameters.values(), arguments, strict=True):
        if one.kind is one.KEYWORD_ONLY and not starred:
            starred = True
            if not any(other.kind is other.VAR_POSITIONAL for other in signature.parameters.values()):
                yield "*"
        yield text


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def _docstring(text: str) -> Iterator[str]:
    """A numpydoc docstring as Markdown: lists of parameters, examples as code."""
    first, *rest = _SECTION.split(text)
    yield from _prose(first)
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        yield from ("", f"**{title}**", "")
        if title == "Examples":
            yield from ("```python", body.strip(), "```")
            continue
        for entry in re.split(r"\n(?=\S)", body.strip("\n")):
            head, _, about = entry.partition("\n")
            named, _, kind = head.partition(" : ")
            yield f"- `{named}`{f' ({kind})' if kind else ''}" + (
                f": {' '.join(_code(about).split())}" if about else ""
            )


def _prose(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        yield from ([""] if number else [])
        yield from _code(paragraph).splitlines()


def _code(text: str) -> str:
    return text.replace("``", "`")


PAGES: dict[str, Callable[[], str]] = {"spec": spec_page, "commands": commands_page, "python": python_page}


# The notebooks.


def notebook_pages() -> dict[str, str]:
    """By name: the cells of each notebook and what they printed."""
    found = {}
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        parts = []
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
            parts += [_output(one) for one in cell.get("outputs", ())]
        found[file.stem] = "\n\n".join(parts) + "\n"
    return found


def _output(output: dict[str, Any]) -> str:
    """A table or a picture as it is, all else as text."""
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="output">\n{"".join(data["text/html"])}\n</div>'
    return f"```text\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```"

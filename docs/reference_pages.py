"""The reference, made from the program itself whenever the site is built: it cannot say anything else than the code.

keys      every key of a spec, from its JSON Schema
commands  every command's help, as the terminal shows it
python    every public function and class, from the modules' own words

The notebooks of the examples become pages too, with the outputs that stand in them.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer

import crda_spec
from crda_spec.cli.app import app, run_app
from crda_spec.spec.run import RunSpec

HOUSE = Path(crda_spec.__file__).parent
Schema = dict[str, Any]


def keys_page() -> str:
    """Every model of the spec with all its keys."""
    schema = _SCHEMA
    parts = [
        "# Every key of the spec",
        "Made from the JSON Schema. [Section by section](../spec.md) tells it as a story.",
        "",
    ]
    parts += _model("RunSpec", schema, "The whole file.")
    for name, model in sorted(schema["$defs"].items()):
        if "properties" in model:
            parts += _model(name, model, model.get("description", ""))
    return "\n".join(parts) + "\n"


def _title(name: str, model: Schema) -> str:
    kind = model["properties"].get("kind", {}).get("const")
    return name + (f" (kind: {kind})" if kind else "")


_SCHEMA: Schema = RunSpec.model_json_schema()
_ANCHORS = {
    name: re.sub(r"[^\w\- ]", "", _title(name, model).lower()).replace(" ", "-")
    for name, model in _SCHEMA["$defs"].items()
    if "properties" in model
}


def _model(name: str, model: Schema, about: str) -> Iterator[str]:
    yield f"\n## {_title(name, model)}"
    yield f"\n{_plain(about)}\n"
    yield "| key | is | default | says |\n|---|---|---|---|"
    needed = set(model.get("required", ()))
    for key, value in model["properties"].items():
        default = "required" if key in needed else _default(value)
        yield f"| `{key}` | {_kind(value)} | {_cell(default)} | {_cell(_plain(value.get('description', '')))} |"


def _default(value: Schema) -> str:
    """The default; that of a whole section is spelt out where its own keys are listed."""
    if "default" not in value:
        return ""
    whole = isinstance(value["default"], dict) and value["default"]
    return "its own defaults" if whole else f"`{json.dumps(value['default'])}`"


def _kind(value: Schema) -> str:
    """What may stand there, with links to the models."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{_ANCHORS[name]})" if name in _ANCHORS else name
    if "const" in value or "enum" in value:
        return _cell(" ".join(f"`{one}`" for one in value.get("enum", [value.get("const")])))
    for key in ("anyOf", "oneOf", "allOf"):
        if key in value:
            return " or ".join(dict.fromkeys(_kind(one) for one in value[key]))
    kind = value.get("type", "anything")
    if kind == "array":
        inner = value.get("items") or value.get("prefixItems", [{}])[0]
        return f"list of {_kind(inner)}" if inner else "list"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"name: {_kind(value['additionalProperties'])}"
    words = {
        "string": "text",
        "integer": "whole number",
        "boolean": "true or false",
        "object": "mapping",
        "null": "null",
    }
    bounds = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    limits = [f"{said} {value[key]}" for key, said in bounds.items() if key in value]
    return ", ".join([words.get(kind, str(kind)), *limits])


def _plain(text: str) -> str:
    """Prose as Markdown shows it unchanged: no tag, no emphasis."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def commands_page() -> str:
    """The help of every command."""
    parts = [
        "# Every command",
        "",
        "The words of `--help`. Exit codes: 0 done, 2 bad spec or data, 3 not accepted under",
    ]
    parts += ["`--require-accept`, 4 verification failed, 130 interrupted, 143 terminated.", ""]
    for name, command in _commands():
        parts += [f"## {name}", "", "```", _help(name, command), "```", ""]
    return "\n".join(parts)


def _commands() -> Iterator[tuple[str, click.Command]]:
    yield "crda-run", typer.main.get_command(run_app)
    group = typer.main.get_command(app)
    for name, command in sorted(getattr(group, "commands", {}).items()):
        yield f"crda-spec {name}", command


def _help(name: str, command: click.Command) -> str:
    """The help as plain text, whatever the terminal."""
    context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    formatter = context.make_formatter()
    click.Command.format_usage(command, context, formatter)
    click.Command.format_help_text(command, context, formatter)
    click.Command.format_options(command, context, formatter)
    return formatter.getvalue().rstrip()


def python_pages() -> dict[str, str]:
    """Page name -> text, one a room: what each module is for, its public functions and classes; none is imported."""
    rooms: dict[str, list[str]] = {}
    for file in sorted(HOUSE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        name = ".".join(file.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__")
        public = list(_public(tree.body))
        if public:
            parts = rooms.setdefault(name.split(".")[1], [])
            parts += [f"## {name}", "", _prose(ast.get_docstring(tree) or ""), ""]
            for node in public:
                parts += ["```python", _signature(node), "```", _prose(ast.get_docstring(node) or ""), ""]
    index = [
        "# Python",
        "",
        "Every module in its own words, room by room. What is not listed is private to its file.",
        "",
    ]
    index += [f"- [crda_spec.{room}](python-{room}.md)" for room in sorted(rooms)]
    pages = {f"python-{room}": "\n".join([f"# crda_spec.{room}", "", *parts]) for room, parts in rooms.items()}
    return {"python": "\n".join([*index, ""]), **pages}


Definition = ast.FunctionDef | ast.ClassDef


def _public(nodes: list[ast.stmt]) -> Iterator[Definition]:
    for node in nodes:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node


def _signature(node: Definition) -> str:
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"def {node.name}({ast.unparse(node.args)}){returns}"
    bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
    fields = [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign)]
    methods = [_signature(one) for one in _public(node.body)]
    return "\n    ".join([f"class {node.name}{bases}", *fields, *methods])


def _prose(text: str) -> str:
    """A docstring as HTML that Markdown leaves alone; what stands in backticks is code."""
    paragraphs = re.split(r"\n\s*\n", text)
    escaped = (re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(one, quote=False)) for one in paragraphs)
    return "\n".join(f"<p>{one}</p>" for one in escaped)


def notebook_pages() -> dict[str, str]:
    """By name: the cells of each notebook and what they printed."""
    found = {}
    for file in sorted((HOUSE.parent / "examples" / "notebooks").glob("*.ipynb")):
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
        return f'<div style="overflow-x: auto">\n{"".join(data["text/html"])}\n</div>'
    return f"```text\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```"

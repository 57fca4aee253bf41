"""What all pages share: how values are escaped, the colours, and a policy under which only our own script may run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

from crda_spec.report.svg import FONT, palette
from crda_spec.report.wording import shown


def rendered(template: str, *, script: str = "", **values: object) -> str:
    """A page from its template; `script` names a file beside it, and the page forbids every other script."""
    text = _script(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(colours=palette(":root"), font=FONT, script=text, script_hash=f"sha256-{digest}", **values)
    )


@cache
def _script(name: str) -> str:
    return "\n" + resources.files("crda_spec.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("crda_spec.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )


def _finalize(value: object) -> object:
    """What every value of the template passes before it is escaped: unseen characters become visible.

    Line breaks and tabs stay, for the spec and the record. Markup (a subclass of str) is our own and stays as it is.
    """
    return shown(value, keep="\n\t") if type(value) is str else value

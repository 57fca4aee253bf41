"""A small spec to write, and the loader's two doors: `read_draft` (no data) and `load_spec` (the whole check)."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from crda_spec.errors import SpecError
from crda_spec.spec.check import load_spec
from crda_spec.spec.load import Draft, read_draft
from crda_spec.spec.run import RunSpec

HEAD = "version: 1\nname: houses\ndataset:\n  source: {kind: synthetic, world: bidding_war}\n  target: price\n"

Writer = Callable[..., Path]
Loader = Callable[..., tuple[RunSpec, Draft]]
Complainer = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes a spec: a small valid one, and what the test adds to it."""

    def to_file(more: str = "", *, head: str = HEAD) -> Path:
        file = tmp_path / "spec.yaml"
        file.write_text(head + more, encoding="utf-8")
        return file

    return to_file


@pytest.fixture
def load(write: Writer) -> Loader:
    """The spec with these additions, which must be sound."""

    def from_text(more: str = "", *overrides: str, head: str = HEAD, environ: Mapping[str, str] | None = None):
        return load_spec(write(more, head=head), overrides=overrides, environ=environ or {})

    return from_text


@pytest.fixture
def complaint(write: Writer) -> Complainer:
    """The whole message about a spec with these additions."""

    def from_text(more: str = "", *overrides: str, head: str = HEAD, environ: Mapping[str, str] | None = None) -> str:
        with pytest.raises(SpecError) as caught:
            load_spec(write(more, head=head), overrides=overrides, environ=environ or {})
        return caught.value.render()

    return from_text


@pytest.fixture
def draft(write: Writer) -> Callable[..., Draft]:
    """The draft of a spec, with its complaints inside."""

    def from_text(more: str = "", *overrides: str, head: str = HEAD, environ: Mapping[str, str] | None = None) -> Draft:
        return read_draft(write(more, head=head), overrides=overrides, environ=environ or {})

    return from_text

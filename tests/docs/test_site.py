"""The documentation as a site: it builds without a warning, fetches nothing, and nothing is missing from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from crda_spec.cli.app import app
from crda_spec.spec.run import RunSpec

ROOT = Path(__file__).parents[2]
pytest.importorskip("material", reason="mkdocs-material is not installed (the docs extra)")
SCHEMA = RunSpec.model_json_schema()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # of the theme's makers, about mkdocs 2
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_nothing_is_fetched_and_every_link_of_our_pages_leads_somewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?(//[^"]+)"', text)
        for link in re.findall(r"<link[^>]*>", text):
            fetched += re.findall(r'href="(?:https?:)?(//[^"]+)"', link)
        assert fetched == [], page.name
        if page.name == "404.html":
            continue  # its links are meant for a server
        for link in re.findall(r'<(?:a|img|script)[^>]*\s(?:href|src)="([^"#:]+)(?:#[^"]*)?"', text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_no_style_fetches_anything(site):
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"@import|url\(['\"]?(?:https?:)?//[^)]*", text) == [], sheet.name


def test_every_command_is_there(site):
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"Usage: crda-spec {command.name}" in text, command.name
    assert "Usage: crda-run" in text
    assert "--require-accept" in text


def test_every_notebook_is_there_with_what_it_printed(site):
    for file in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        text = (site / "notebooks" / f"{file.stem}.html").read_text(encoding="utf-8")
        assert "import" in text
        assert "<table" in text or "&#39;plain&#39;" in text or "augmented 0." in text, file.name


def test_every_key_is_there(site):
    """A table for each part of the schema, with its keys in their order, and every link inside the page leads on."""
    text = (site / "reference" / "spec.html").read_text(encoding="utf-8")
    tables = [
        re.findall(r"<tr>\s*<td><code>(\w+)</code>", one)
        for one in re.findall(r"<table>.*?</table>", text, flags=re.DOTALL)
    ]
    for name, model in SCHEMA["$defs"].items():
        keys = [key for key in model.get("properties", {}) if key != "kind"]
        assert not keys or keys in tables or ["kind", *keys] in tables, name
    ids = set(re.findall(r' id="([^"]+)"', text))
    assert set(re.findall(r'<td><a href="#([^"]+)"', text)) <= ids


def test_every_page_is_in_the_contents(site):
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        part = (site / name).read_text(encoding="utf-8")
        assert 'md-nav__link md-nav__link--active"' in part, name


def test_a_page_without_an_entry_comes_last_in_its_part_and_an_entry_without_a_page_is_left_out():
    sys.path.insert(0, str(ROOT / "docs"))
    import site_hooks

    nav = [{"Reference": ["reference/index.md", {"Nowhere": "reference/nowhere.md"}]}]
    nav = site_hooks.on_config(SimpleNamespace(nav=nav)).nav
    ((first, *rest),) = (entry["Reference"] for entry in nav if "Reference" in entry)
    assert first == "reference/index.md"
    assert {"reference/spec.md", "reference/commands.md"} <= set(rest)
    assert "Nowhere" not in str(nav)

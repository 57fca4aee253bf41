"""The documentation as a site: it builds without a warning, fetches nothing, and its reference is whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from crda_spec.cli.app import app
from crda_spec.spec.run import RunSpec

ROOT = Path(__file__).parents[2]
mkdocs = pytest.importorskip("mkdocs", reason="mkdocs is not installed (the docs extra)")
SCHEMA = RunSpec.model_json_schema()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_nothing_is_fetched_and_every_link_of_our_pages_leads_somewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe|source)[^>]*\ssrc="(https?:[^"]+)"', text)
        fetched += re.findall(r'<link[^>]*\srel="stylesheet"[^>]*href="(https?:[^"]+)"', text)
        assert fetched == [], page.name
        if page.name in ("404.html", "search.html"):
            continue  # their links are meant for a server
        for link in re.findall(r'<(?:a|img)[^>]*\s(?:href|src)="([^"#:]+)(?:#[^"]*)?"', text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_command_is_there(site):
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"crda-spec {command.name}" in text, command.name
        assert f"Usage: crda-spec {command.name}" in text
    assert "Usage: crda-run" in text
    assert "--require-accept" in text


def test_every_notebook_is_there_with_what_it_printed(site):
    for file in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        text = (site / "notebooks" / f"{file.stem}.html").read_text(encoding="utf-8")
        assert "import" in text
        assert "<table" in text or "&#39;plain&#39;" in text or "augmented 0." in text, file.name


def test_every_key_is_there(site):
    text = (site / "reference" / "keys.html").read_text(encoding="utf-8")
    models = {"RunSpec": SCHEMA, **{name: one for name, one in SCHEMA["$defs"].items() if "properties" in one}}
    for name, model in models.items():
        section = re.search(rf'<h2 id="[^"]*">{name}\b.*?(?=<h2 |$)', text, re.DOTALL)
        assert section is not None, name
        for key in model["properties"]:
            assert f"<code>{key}</code>" in section.group(0), f"{name}.{key}"
    ids = set(re.findall(r' id="([^"]+)"', text))
    assert set(re.findall(r'<td><a href="#([^"]+)"', text)) <= ids


def test_every_room_of_the_package_is_there(site):
    index = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for room in ("pipeline", "scm", "report", "audit", "gate", "counterfactual"):
        assert f'href="python-{room}.html"' in index
    text = (site / "reference" / "python-report.html").read_text(encoding="utf-8")
    assert ">crda_spec.report.page<" in text
    assert "def render_html(result: RunResult" in text


def test_every_page_is_in_the_contents(site):
    front = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert f'href="{page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()}"' in front, page.name

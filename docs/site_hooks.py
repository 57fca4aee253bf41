"""What mkdocs needs to know to make a site of these pages: the front page, the notebooks, and where links lead.

The pages are written to be read in the repository too, so some of their links leave `docs/`. Here the README becomes
the front page, every other file that is linked is taken along, and a link to a folder becomes plain words.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

from reference_pages import notebook_pages  # noqa: E402 - stands beside this file

LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
FROM_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Entries without a page are left out; a page without an entry comes last in its part, so that none is lost."""
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    made = {*FROM_ROOT.values(), *(f"notebooks/{name}.md" for name in notebook_pages())}
    config.nav = _present(config.nav or [], pages | made)
    for page in sorted(pages - set(_named(config.nav))):
        title = page.partition("/")[0].capitalize() if "/" in page else "More"
        part = next((entry[title] for entry in config.nav if isinstance(entry.get(title), list)), None)
        if part is None:
            part = []
            config.nav.append({title: part})
        part.append(page)
    return config


def _present(entries: list[Any], pages: set[str]) -> list[Any]:
    """The entries whose pages are there."""
    kept: list[Any] = []
    for entry in entries:
        if isinstance(entry, str):
            kept += [entry] if entry in pages else []
            continue
        ((title, inside),) = entry.items()
        inside = _present(inside, pages) if isinstance(inside, list) else inside
        if inside and (isinstance(inside, list) or inside in pages):
            kept.append({title: inside})
    return kept


def _named(entries: list[Any]) -> list[str]:
    """Every page that the entries name."""
    found: list[str] = []
    for entry in entries:
        inside = entry if isinstance(entry, str) else next(iter(entry.values()))
        found += [inside] if isinstance(inside, str) else _named(inside)
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not in docs/, and the files outside it that a page links to."""
    for source, page in FROM_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for name, text in notebook_pages().items():
        files.append(File.generated(config, f"notebooks/{name}.md", content=text))
    for target in sorted(_linked_outside()):
        files.append(File.generated(config, f"files/{target}", content=(ROOT / target).read_bytes()))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Bends every link that is written for the repository to where the site has its target."""
    del config, files
    here = page.file.src_uri
    if here == "index.md":
        page.meta["hide"] = ["navigation"]  # it has one entry
    if here.startswith("notebooks/"):
        return markdown
    source = {made: name for name, made in FROM_ROOT.items()}.get(here)
    folder = ROOT if source else (DOCS / here).parent
    return LINK.sub(lambda link: _bent(link, folder, here), markdown)


def on_post_build(*, config: MkDocsConfig) -> None:
    """The index of the search as a script too: from disk, a page may load no other kind of file."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    if index.is_file():
        text = index.read_text(encoding="utf-8")
        index.with_suffix(".js").write_text(f"var __index = {text}", encoding="utf-8")


def _bent(link: re.Match[str], folder: Path, here: str) -> str:
    words, target = link.groups()
    file, _, anchor = target.partition("#")
    if not file or "://" in target:
        return link.group(0)
    path = (folder / file).resolve()
    if path.is_dir():
        return words[1:-1]
    up = "../" * here.count("/")
    mark = f"#{anchor}" if anchor else ""
    return f"{words}({up}{_place(path)}{mark})"


def _place(path: Path) -> str:
    """Where the site has a file of the repository."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return FROM_ROOT.get(name, f"files/{name}")


def _linked_outside() -> set[str]:
    """Every file that a page links to and that is not in docs/."""
    found: set[str] = set()
    for page in [*(ROOT / name for name in FROM_ROOT), *DOCS.rglob("*.md")]:
        for _, target in LINK.findall(page.read_text(encoding="utf-8")):
            path = (page.parent / target.partition("#")[0]).resolve()
            inside = path.is_file() and path.is_relative_to(ROOT) and not path.is_relative_to(DOCS)
            if inside and path.relative_to(ROOT).as_posix() not in FROM_ROOT:
                found.add(path.relative_to(ROOT).as_posix())
    return found

"""The scripts that make the generated parts of the documentation, loaded from their folder: docs is no package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

import build as builder
import tables

__all__ = ["AGAIN", "DOCS", "PAGES", "ROOT", "USER_PAGES", "WITHOUT_DATA", "builder", "page_id", "tables"]

ROOT = builder.ROOT
DOCS = builder.DOCS
PAGES = builder.pages()
# What people read to use the program: not what is generated whole, not measurements, not what developers read.
USER_PAGES = [page for page in PAGES if page.parent.name not in ("design", "evidence")]
AGAIN = "the page is stale; run: python docs/build.py"
WITHOUT_DATA = "the package causaldata, which holds the tables of the worked examples, is not installed"


def page_id(page):
    """How a test names a page."""
    return str(page.relative_to(ROOT))

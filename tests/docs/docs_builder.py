"""The script that makes the generated parts of the documentation, loaded from its file: docs is no package."""

import importlib.util
import sys
from pathlib import Path

_FILE = Path(__file__).parents[2] / "docs" / "build_traps.py"
_spec = importlib.util.spec_from_file_location("build_traps", _FILE)
assert _spec is not None
assert _spec.loader is not None
builder = importlib.util.module_from_spec(_spec)
sys.modules["build_traps"] = builder
_spec.loader.exec_module(builder)

PAGE = builder.PAGE.read_text()
WITHOUT_DATA = "the package causaldata, which holds the tables of the worked examples, is not installed"

"""The house rules that a machine can check: who may import whom, how long a file may be, what is public."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

import crda_spec

HOUSE = Path(crda_spec.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))
MODULES = {file: ".".join(file.relative_to(HOUSE.parent).with_suffix("").parts) for file in FILES}

GROUND = {"records", "seeds", "errors"}
# What each room may import of this package, beside itself. `cli -> {report, audit} -> pipeline -> {gate ->
# counterfactual -> regressors -> data} -> scm -> {records, seeds, errors}`, and `spec -> errors`.
MAY_IMPORT = {
    "errors": set(),
    "seeds": set(),
    "records": set(),
    "spaces": set(),
    "spec": {"errors"},
    "scm": GROUND,
    "data": GROUND | {"scm"},
    "regressors": GROUND | {"scm", "data", "spaces"},
    "counterfactual": GROUND | {"scm", "data", "regressors", "spaces"},
    "gate": GROUND | {"scm", "data", "regressors", "counterfactual"},
    "pipeline": GROUND | {"scm", "data", "regressors", "counterfactual", "gate"},
    "search": GROUND | {"scm", "data", "counterfactual"},  # discovery alone: what the pipeline does before a model
    "audit": GROUND | {"scm", "data", "regressors", "counterfactual", "gate", "pipeline"},
    "report": GROUND | {"scm", "data", "regressors", "counterfactual", "gate", "pipeline", "search"},
    # The only rooms that know both what a user may say and what computes.
    "check": GROUND | {"spec", "spaces", "scm", "data"},
    "build": GROUND | {"spec", "spaces", "scm", "data", "regressors", "counterfactual", "gate", "pipeline", "check"},
    "cli": GROUND | {"spec", "check", "build", "pipeline", "search", "audit", "report", "regressors"},
    "__main__": {"cli"},  # `python -m crda_spec`
}

# The records of all stages stand together on purpose: one file tells what flows.
LONGEST = {"crda_spec.records": 340}


def room_of(module: str) -> str:
    """`crda_spec.data.csv` -> `data`; the package itself -> ``."""
    return ".".join(module.split(".")[1:2])


def imports_of(file: Path) -> set[str]:
    """Every module that a file imports, at its top or inside a function, under full names."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            assert node.module is not None
            # `from crda_spec.data import headers` imports a module, `from crda_spec.errors import Place` a name of one.
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_imported(file: Path) -> set[str]:
    ours = {name for name in imports_of(file) if name.split(".")[0] == "crda_spec"}
    return {room_of(name) for name in ours} - {"__version__"}


def libraries_imported(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imports_of(file)} - {"crda_spec"}


def in_room(room: str) -> list[Path]:
    return [file for file in FILES if room_of(MODULES[file]) == room]


def test_every_room_has_its_rule():
    assert {room_of(module) for module in MODULES.values()} - {"", "__init__"} == set(MAY_IMPORT)


def test_the_rules_have_no_circle():
    order: list[str] = []
    left = dict(MAY_IMPORT)
    while left:
        free = [room for room, allowed in left.items() if allowed <= set(order)]
        assert free, f"a circle among {sorted(left)}"
        order += free
        left = {room: allowed for room, allowed in left.items() if room not in free}
    assert order.index("scm") < order.index("data") < order.index("gate") < order.index("pipeline") < order.index("cli")


@pytest.mark.parametrize("file", FILES, ids=MODULES.get)
def test_imports_run_one_way(file):
    room = room_of(MODULES[file])
    upward = rooms_imported(file) - {room} - MAY_IMPORT.get(room, set())
    assert upward == set(), f"{MODULES[file]} may not import from {sorted(upward)}"


def test_the_spec_is_only_words():
    allowed = {"pydantic", "pydantic_core", "yaml", "annotated_types"}
    for file in in_room("spec"):
        others = {name for name in libraries_imported(file) if not is_standard(name)}
        assert others <= allowed, f"{file.name} imports {sorted(others - allowed)}"


def test_the_causal_layer_is_pure_mathematics():
    doors = {
        "pydantic",
        "yaml",
        "pathlib",
        "os",
        "io",
        "shutil",
        "subprocess",
        "socket",
        "urllib",
        "sqlite3",
        "logging",
    }
    for file in in_room("scm"):
        assert libraries_imported(file).isdisjoint(doors), file.name
        names = {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}
        assert names.isdisjoint({"open", "print", "input"}), file.name


@pytest.mark.parametrize("room", ["errors", "spaces"])
def test_what_validate_reads_needs_only_the_standard_library(room):
    for file in in_room(room):
        assert all(is_standard(name) for name in libraries_imported(file))


def is_standard(library: str) -> bool:
    return library in sys.stdlib_module_names


def test_nothing_is_called_utils():
    assert [module for module in MODULES.values() if re.search(r"\b(utils?|helpers?|misc|common)\b", module)] == []


@pytest.mark.parametrize("file", FILES, ids=MODULES.get)
def test_files_stay_short(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LONGEST.get(MODULES[file], 320)


@pytest.mark.parametrize("file", FILES, ids=MODULES.get)
def test_every_module_says_what_it_is_for(file):
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


# Making a generator is allowed, and only seeds.py and the callers of a named stream do it.
GENERATORS = {"Generator", "SeedSequence", "default_rng", "BitGenerator"}


@pytest.mark.parametrize("file", FILES, ids=MODULES.get)
def test_no_global_randomness(file):
    assert "random" not in libraries_imported(file)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
            assert node.attr in GENERATORS, f"line {node.lineno}: np.random.{node.attr}"
            assert node.attr != "default_rng" or file.name == "seeds.py", f"line {node.lineno}: an unnamed stream"


@pytest.mark.parametrize("file", FILES, ids=MODULES.get)
def test_what_a_module_lists_as_public_exists(file):
    text = file.read_text(encoding="utf-8")
    if "__all__" not in text:
        assert file.name != "__init__.py" or not imports_of(file), f"{MODULES[file]} re-exports without __all__"
        return
    module = importlib.import_module(MODULES[file].removesuffix(".__init__"))
    assert len(set(module.__all__)) == len(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_public_surface_is_pinned():
    assert crda_spec.__all__ == ["__version__"]

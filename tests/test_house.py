"""The house rules that a machine can check: who may import whom, what is public."""

import ast
import re
from pathlib import Path

import networkx as nx

import crda_spec

HOUSE = Path(crda_spec.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))
MODULES = {file: ".".join(file.relative_to(HOUSE.parent).with_suffix("").parts) for file in FILES}

# From the ground up: a room may import only from rooms that stand before it, and rooms of one row not each other.
ROOMS = (
    ("errors", "seeds", "strict", "execution"),
    ("plugins",),
    ("records",),
    ("independence",),
    ("scm",),
    ("discovery",),
    ("data",),
    ("regressors",),
    ("counterfactual",),
    ("gate",),
    ("pipeline",),
    ("report",),  # above what it speaks of, below whoever needs its words: a spec's complaints, a run's record
    ("graphs",),
    ("spec",),
    ("audit",),
    ("bench",),
    ("runs",),
    ("api",),
    ("estimators", "interview"),
    ("cli",),
    ("__main__",),  # `python -m crda_spec`
)
BELOW = {room: {one for row in ROOMS[:level] for one in row} for level, rooms in enumerate(ROOMS) for room in rooms}


def room_of(module: str) -> str:
    """`crda_spec.data.csv` -> `data`; the package itself -> ``."""
    return ".".join(module.split(".")[1:2])


def imports_of(file: Path, *, top: bool = False) -> set[str]:
    """Every module that a file imports, under full names; top: only those that importing the file imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in tree.body if top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            assert node.module is not None
            # `from crda_spec.data import sources` imports a module, `from crda_spec.errors import Place` a name of one.
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_imported(file: Path) -> set[str]:
    ours = {name for name in imports_of(file) if name.split(".")[0] == "crda_spec"}
    return {room_of(name) for name in ours} - {"__version__"}


def libraries_imported(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imports_of(file)} - {"crda_spec"}


IN_ROOM = {file: room_of(module) for file, module in MODULES.items()}


def in_room(room: str) -> list[Path]:
    return [file for file in FILES if room_of(MODULES[file]) == room]


def test_every_room_has_its_place():
    assert {room_of(module) for module in MODULES.values()} - {"", "__init__"} == set(BELOW)


def test_imports_run_one_way():
    inside = {file: room for file, room in IN_ROOM.items() if room != "__init__"}  # the door offers names of any room
    upward = {MODULES[file]: rooms_imported(file) - {room} - BELOW.get(room, set()) for file, room in inside.items()}
    assert {module: rooms for module, rooms in upward.items() if rooms} == {}


# Printing needs the words of `report`, and what holds an answer its class; nothing else is imported by a command.
PRINTED = {"crda_spec.audit.canonical.plain", "crda_spec.audit.compare.ABSENT", "crda_spec.audit.compare.said"}
PRINTED |= {"crda_spec.audit.pages.answers_json", "crda_spec.audit.whatif.Question"}


def test_a_command_computes_nothing():
    """It parses options, calls one function of api.py, prints what that returns and sets the exit code.

    `init --ask` shows the questions of the interview, which draws the graph and calls api.py itself.
    """
    for file in in_room("cli"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        hints = {id(node) for one in tree.body if isinstance(one, ast.If) for node in ast.walk(one)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in hints and node.module.split(".")[0] == "crda_spec":
                rooms = {room_of(f"{node.module}.{alias.name}") for alias in node.names}
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                assert rooms <= {"api", "cli", "errors", "interview", "report", "__version__"} or names <= PRINTED, (
                    file,
                    names,
                )


def test_no_module_imports_itself_in_a_circle():
    known = {module.removesuffix(".__init__"): file for file, module in MODULES.items()}
    graph = nx.DiGraph()
    for module, file in known.items():
        for name in imports_of(file, top=True):
            graph.add_edge(module, name if name in known else name.rpartition(".")[0])
    assert [cycle for cycle in nx.strongly_connected_components(graph) if len(cycle) > 1] == []


def test_the_causal_layer_is_pure_mathematics():
    doors = {"yaml", "pathlib", "os", "io", "shutil", "subprocess", "socket", "urllib", "sqlite3", "logging"}
    for file in (*in_room("independence"), *in_room("scm"), *in_room("discovery")):
        assert libraries_imported(file).isdisjoint(doors), file.name
        names = {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}
        assert names.isdisjoint({"open", "print", "input"}), file.name


def test_nothing_is_called_utils():
    assert [module for module in MODULES.values() if re.search(r"\b(utils?|helpers?|misc|common)\b", module)] == []


def test_every_module_says_what_it_is_for():
    assert [file for file in FILES if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))] == []


# Making a generator is allowed, and only seeds.py and the callers of a named stream do it.
GENERATORS = {"Generator", "SeedSequence", "default_rng", "BitGenerator"}


def test_no_global_randomness():
    for file in FILES:
        assert "random" not in libraries_imported(file), file
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
                assert node.attr in GENERATORS, f"{file}:{node.lineno}: np.random.{node.attr}"
                assert node.attr != "default_rng" or file.name == "seeds.py", f"{file}:{node.lineno}: unnamed stream"


def test_only_the_package_lists_what_is_public():
    """What a package offers is what its __init__ imports, written once; a module's own are the names without `_`."""
    assert [module for file, module in MODULES.items() if "__all__" in file.read_text()] == ["crda_spec.__init__"]


def test_the_public_surface_is_pinned():
    errors = ["CrdaError", "DataError", "GraphError", "OutputError", "SpecError", "TamperedError"]
    classes = ["CRDARegressor", "CRDASampler", "CausalGraph", "NotAugmentedWarning", "Run", "RunSpec"]
    doing = ["certify", "discover", "init", "load_spec", "open_run", "plan", "run", "validate", "verify"]
    assert sorted(crda_spec.__all__) == sorted(["__version__", *classes, *doing, *errors])
    assert dir(crda_spec) == sorted(crda_spec.__all__)
    assert all(getattr(crda_spec, name) is not None for name in crda_spec.__all__)

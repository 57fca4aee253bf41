"""Hostile specs and graphs: whatever is written in them ends in a message, soon, and no secret is in it."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crda_spec.cli.app import main
from crda_spec.errors import CrdaError
from crda_spec.scm.formats import parse_edges, read_graph
from crda_spec.spec.check import load_spec
from crda_spec.spec.load import read_draft

ROOT = Path(__file__).parents[2]
PLAIN = """version: 1
name: houses
dataset:
  source: {kind: csv, path: houses.csv}
  target: price
causal:
  graph: {kind: edges, edges: ["area -> price"]}
"""


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs a command in this process: its exit code, and what it printed."""

    def start(*line):
        monkeypatch.setattr(sys, "argv", ["crda-spec", *map(str, line)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return stopped.value.code, printed.out + printed.err

    return start


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A spec and its table."""
    (tmp_path / "houses.csv").write_text("area,price\n" + "\n".join(f"{n}.5,{n * n}" for n in range(30)))
    (tmp_path / "spec.yaml").write_text(PLAIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Secrets and control characters

SECRET = "tiger-lily-4711"  # noqa: S105 - that is what it stands for


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: houses", "name: ' ${SECRET}'"),
        ("version: 1", "version: ${SECRET}"),
        ("target: price", "target: ${SECRET}"),
        ("houses.csv", "${SECRET}.csv"),
        ("kind: csv", "kind: ${SECRET}"),
        ("area -> price", "area -> ${SECRET}"),
        ("area -> price", "area ->-> ${SECRET}"),
        ("target: price", "target: price\n  features: ['${SECRET}', area]"),
        ("target: price", "target: price\n  columns: {area: {type: '${SECRET}'}}"),
        ("target: price", "target: price\n  columns: {area: {values: ['${SECRET}']}}"),
        ("target: price", "target: price\n  split: {kind: column, column: area, test: ['${SECRET}']}"),
        ("version: 1", "version: 1\nseed: ${SECRET}"),
        ("version: 1", "version: 1\nseed: '${LONG}'"),
        ("version: 1", "version: 1\nrecipe: ['${SECRET}']"),
        ("version: 1", "version: 1\nrecipe: '${QUOTED}'"),
        ("kind: csv, path: houses.csv", "kind: sql, url: 'sqlite:///x.db', query: 'DROP ${SECRET}'"),
        ("kind: csv, path: houses.csv", "kind: sql, url: '${SECRET}', query: SELECT 1"),
        ("kind: csv, path: houses.csv", "kind: sql, url: 'sqlite://', query: 'SELECT * FROM \"${SECRET}\"'"),
    ],
)
def test_the_value_of_a_variable_is_in_no_message(folder, command, monkeypatch, old, new):
    for name, value in {"SECRET": SECRET, "LONG": SECRET * 9, "QUOTED": f"{SECRET}'\"\\"}.items():
        monkeypatch.setenv(name, value)
    (folder / "spec.yaml").write_text(PLAIN.replace(old, new), encoding="utf-8")
    for line in (["validate", "spec.yaml"], ["run", "spec.yaml", "--out", "run"]):
        code, said = command(*line)
        assert code == 2 or line[0] == "validate"
        assert "tiger" not in said, said


def test_a_place_is_found_although_the_name_there_is_hidden(folder, command, monkeypatch):
    monkeypatch.setenv("TARGET", "price")
    text = PLAIN.replace("target: price", "target: ${TARGET}\n  columns:\n    price: {type: category}")
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    code, said = command("validate", "spec.yaml")
    assert code == 2
    assert said == (
        "spec.yaml:7:19: dataset.columns.${TARGET}.type: a regression target cannot be a category; "
        "declare it continuous or integer\n"
        "    7 |     price: {type: category}\n"
        "      |                   ^\n"
    )


@pytest.mark.parametrize("value", ["7", "1"])
def test_a_short_value_is_hidden_where_it_is_written_and_no_other_number_is(folder, command, monkeypatch, value):
    monkeypatch.setenv("PIN", value)
    (folder / "spec.yaml").write_text(PLAIN + "gate: {kind: wilcoxon, folds: '${PIN}'}\n", encoding="utf-8")
    code, said = command("validate", "spec.yaml")
    assert code == 2
    assert said == (
        "spec.yaml:8:31: gate.folds: expected a whole number, got '${PIN}' (text); write the number without quotes\n"
        "    8 | gate: {kind: wilcoxon, folds: '${PIN}'}\n"
        "      |                               ^\n"
    )


def test_no_control_character_reaches_the_terminal(folder, command):
    header = '"area\x1b[2J","pri\x9bce\x07"\n'
    (folder / "houses.csv").write_text(header + "\n".join(f"{n}.5,{n * n}" for n in range(30)), encoding="utf-8")
    evil = PLAIN.replace("area ->", "zone ->").replace("target: price", 'target: "pri\\x9bce\\x07"')
    shown = []
    for text in (evil, evil.replace("pri\\x9bce", "\\e[31mprice"), evil.replace("name: houses", 'name: "\\e]0;x\\a"')):
        (folder / "spec.yaml").write_text(text, encoding="utf-8")
        shown += [command(one, "spec.yaml")[1] for one in ("validate", "plan", "graph")]
    shown.append(command("validate", "spec.yaml", "--set", "a\x1b[2J=1")[1])
    shown.append(command("validate", "no\x1b[2Jfile.yaml")[1])
    shown.append(command("runs", "no\x1b[2Jfolder")[1])
    shown.append(command("init", "houses.csv", "--target", "x\x1b[2J")[1])
    for text in shown:
        assert [one for one in text if not one.isprintable() and one != "\n"] == [], text


# Files that are none, and names that are too long


@pytest.mark.parametrize("name", ["n" * 300, "n" * 5000, "/dev/zero", "/dev/full", "pipe", "\udc80.yaml"])
@pytest.mark.parametrize("line", ["validate", "run", "plan", "render", "graph", "lock"])
def test_a_spec_that_is_no_file_is_a_message_at_once(folder, command, name, line):
    os.mkfifo(folder / "pipe")
    start = time.process_time()
    code, said = command(line, name)
    assert code == 2
    assert len(said.splitlines()) == 1
    said.encode()
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["n" * 300, "n" * 5000, "a\\0b.csv", "/dev/zero", "pipe"])
@pytest.mark.parametrize("where", ["source", "graph", "sql"])
def test_a_path_in_a_spec_that_is_no_file_is_a_message_at_its_line(folder, command, name, where):
    os.mkfifo(folder / "pipe")
    text = {
        "source": PLAIN.replace("path: houses.csv", f'path: "{name}"'),
        "graph": PLAIN.replace('edges, edges: ["area -> price"]', f'dagitty, path: "{name}"'),
        "sql": PLAIN.replace("kind: csv, path: houses.csv", f'kind: sql, query: SELECT 1, url: "sqlite:///{name}"'),
    }[where]
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    code, said = command("validate", "spec.yaml")
    assert code == 2
    assert said.startswith(f"spec.yaml:{7 if where == 'graph' else 4}:"), said


def test_a_name_of_300_characters_is_refused_before_a_folder_is_made_of_it(folder, command):
    (folder / "spec.yaml").write_text(PLAIN.replace("name: houses", f"name: {'n' * 300}"), encoding="utf-8")
    assert command("run", "spec.yaml")[0] == 2
    assert sorted(path.name for path in folder.iterdir()) == ["houses.csv", "spec.yaml"]


@pytest.mark.parametrize("out", ["n" * 300, "/dev/null/x", "houses.csv/x"])
@pytest.mark.parametrize(
    "line", [["run", "spec.yaml"], ["graph", "spec.yaml"], ["init", "houses.csv", "--target", "price"]]
)
def test_an_output_that_cannot_be_written_is_a_message(folder, command, line, out):
    code, said = command(*line, "--out", f"{out}.svg" if line[0] == "graph" else out)
    assert code == 2, said
    assert len(said.splitlines()) <= 3
    assert sorted(path.name for path in folder.iterdir()) == ["houses.csv", "spec.yaml"]


# Overrides, merges and characters that are none


@pytest.mark.parametrize(
    "override",
    [
        *("²=3", "gate.²=3", "٣=1", "=", "=3", "a", ".", "..=1", "gate.=1", ".gate=1", "", "dataset=1", "causal=3"),
        *("dataset.features.-1=x", "name.0=x", "0=1", "dataset.features." + "9" * 5000 + "=1", "a" * 100_000 + "=1"),
        *("dataset.source.path.x.y=1", "\udc80=1", "name=\udc80", "gate.folds=[", "gate.folds=&a [*a]"),
        "gate.folds=!!python/object:os.system x",
    ],
)
def test_an_odd_override_is_a_message(folder, command, override):
    start = time.process_time()
    code, said = command("validate", "spec.yaml", "--set", override)
    assert code == 2
    said.encode()
    assert len(said) < 5000
    assert time.process_time() - start < 5


def bomb(kind):
    """Few bytes that stand for very many keys."""
    if kind == "many-merges":
        base = "base: &base {" + ", ".join(f"k{n}: 1" for n in range(200)) + "}\n"
        return base + "".join(f"m{n}: {{<<: *base}}\n" for n in range(20_000))
    if kind == "one-list":
        return "base: &base {a: 1}\nm:\n  <<: [" + ", ".join(["*base"] * 20_000) + "]\n"
    if kind == "nested":
        return "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 30))
    if kind == "own-keys":
        return "base: &base {z: 1}\nm:\n" + "".join(f"  k{n}: 1\n  <<: *base\n" for n in range(20_000))
    return "m: {" + ", ".join(f"k{n}: 1" for n in range(20_000)) + "}\n"


@pytest.mark.parametrize(
    "kind",
    ["many-merges", "one-list", "nested", *(pytest.param(one, marks=pytest.mark.slow) for one in ("own-keys", "keys"))],
)
def test_a_merge_bomb_ends_in_time(folder, kind):
    (folder / "spec.yaml").write_text(
        "version: 1\nname: a\nmeta:\n  " + bomb(kind).replace("\n", "\n  "), encoding="utf-8"
    )
    start = time.process_time()
    draft = read_draft(folder / "spec.yaml", environ={})
    assert draft.complaints
    str(CrdaError(draft.complaints))
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "gml",
            'graph [ directed 1 node [ id 0 label "&#xD800;" ] node [ id 1 label "y" ] edge [ source 0 target 1 ] ]',
        ),
        ("gml", 'graph [ directed 1 node [ id 0 label "&#0;" ] node [ id 1 label "y" ] edge [ source 0 target 1 ] ]'),
        ("gml", 'graph [ directed 1 node [ id 0 label "&#99999999999;" ] ]'),
        ("gml", 'graph [ directed 1 node [ id 0 label "\ud800" ] ]'),
        ("dot", 'digraph { "\ud800" -> y }'),
        ("dagitty", 'dag { "\ud800" -> y }'),
        ("graphml", "<graphml><graph edgedefault='directed'><node id='\ud800'/></graph></graphml>"),
        ("graphml", "<graphml><graph edgedefault='directed'><node id='&#xD800;'/></graph></graphml>"),
    ],
)
def test_half_a_character_in_a_graph_is_a_message(kind, text):
    with pytest.raises(CrdaError) as caught:
        read_graph(text, kind, file="graph").graph(target="y")
    str(caught.value).encode()


# Thousands of them, made up


def nodes_of(value, path=()):
    """The path of every value inside a spec."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from nodes_of(inner, (*path, key))


SPECS = [
    yaml.safe_load(file.read_text(encoding="utf-8"))
    for folder in ("specs", "examples")
    for file in sorted((ROOT / folder).rglob("*.y*ml"))
    if "suites" not in file.parts  # tests/bench has these
]
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.text(max_size=20),
    st.sampled_from(
        ["${NOPE}", "${", "$$", "a -> b", "{a b} -> c", "auto", "none", "tune", "..", "/", "\0", "\x1b[2J", "<<"]
    ),
    st.lists(st.one_of(st.text(max_size=5), st.integers(-2, 9)), max_size=3),
    st.dictionaries(
        st.sampled_from(["kind", "path", "x", "", "url", "query", "folds"]), st.text(max_size=5), max_size=3
    ),
)


@st.composite
def mutated_specs(draw):
    """A real spec in which some keys are gone, renamed or hold something else, as YAML text."""
    spec = json.loads(json.dumps(draw(st.sampled_from(SPECS)), default=str))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from([path for path in nodes_of(spec) if path] or [("version",)]))
        holder = spec
        for part in path[:-1]:
            holder = holder[part]
        deed = draw(st.sampled_from(["delete", "replace", "rename"]))
        if deed == "replace":
            holder[path[-1]] = draw(STRANGE)
        else:
            kept = holder.pop(path[-1]) if isinstance(holder, dict) else holder.pop(int(path[-1]))
            if deed == "rename" and isinstance(holder, dict):
                holder[draw(st.text(max_size=8))] = kept
    text = json.dumps(spec) if draw(st.booleans()) else yaml.safe_dump(spec, allow_unicode=draw(st.booleans()))
    if draw(st.integers(0, 9)) == 0:  # and now and then the text itself is damaged
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(max_size=3)) + text[at + draw(st.integers(0, 3)) :]
    return text


def check_message(error):
    shown = error.render()
    shown.encode()
    assert error.exit_code == 2
    assert [one for one in shown if not one.isprintable() and one != "\n"] == []


def check_spec_text(text, folder):
    file = folder / "spec.yaml"
    file.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    try:
        load_spec(file)
    except CrdaError as error:
        check_message(error)


GRAPHS = {
    "edges": "{a b} -> c; c <-> d; a -> c -> y",
    "dagitty": 'dag { a [latent, pos="0,1"] b [exposure] y [outcome] a -> b -> y a <-> y }',
    "dot": 'digraph g { node [shape=box]; a [latent=true]; "b c" -> y; a -> {b c} -> y [dir=both] /* x */ // z\n }',
    "gml": 'graph [ directed 1 node [ id 0 label "&#233;" latent 1] node [ id 1 label "y" ] edge [source 0 target 1] ]',
    "graphml": (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="k" for="node" attr.name="latent" '
        'attr.type="boolean"/><graph edgedefault="directed"><node id="a"><data key="k">true</data></node>'
        '<node id="y"/><edge source="a" target="y"/></graph></graphml>'
    ),
}
SCRAPS = st.sampled_from(
    [
        *"[]{}<>\"'&;#,=-/*\\\n\t\0",
        *("->", "<->", "--", "&#0;", "&#xD800;", "&#99999999999;", "<!--", "]]>", "<![CDATA[", "/*", "//", '\\"'),
        *("subgraph", "strict", "node", "edge", "id", "label", "1e999", "-1", "\ud800", "\x1b[2J", "\u202e"),
    ]
)


@st.composite
def mutated_graphs(draw):
    """The text of a graph in which pieces are cut out, doubled or replaced."""
    kind = draw(st.sampled_from(sorted(GRAPHS)))
    text = GRAPHS[kind]
    for _ in range(draw(st.integers(1, 5))):
        at, size = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
        piece = draw(st.one_of(SCRAPS, st.text(max_size=4), st.just(text[at : at + size] * 2), st.just("")))
        text = text[:at] + piece + text[at + draw(st.integers(0, 6)) :]
    return kind, text


def check_graph_text(kind, text):
    try:
        if kind == "edges":
            edges, complaints = parse_edges(text.split("; "))
            assert edges or complaints
        else:
            read_graph(text, kind, file="graph").graph(target="y")
    except CrdaError as error:
        check_message(error)


few = settings(max_examples=60, suppress_health_check=list(HealthCheck))
many = settings(max_examples=2000, suppress_health_check=list(HealthCheck))


@few
@given(text=mutated_specs())
@example(text="version: 1\nrecipe: paper\nregressor: {kind: [xgboost]}\n")  # once a traceback: a list has no hash
def test_a_mutated_spec_is_read_or_refused_with_a_message(tmp_path_factory, text):
    check_spec_text(text, tmp_path_factory.getbasetemp())


@pytest.mark.slow
@many
@given(text=mutated_specs())
def test_two_thousand_mutated_specs_are_read_or_refused_with_a_message(tmp_path_factory, text):
    check_spec_text(text, tmp_path_factory.getbasetemp())


@few
@given(graph=mutated_graphs())
def test_a_mutated_graph_is_read_or_refused_with_a_message(graph):
    check_graph_text(*graph)


@pytest.mark.slow
@many
@given(graph=mutated_graphs())
def test_two_thousand_mutated_graphs_are_read_or_refused_with_a_message(graph):
    check_graph_text(*graph)

"""docs/causal-graph.md: what it shows is what the commands print today, and what it claims in prose is so."""

import json
import re

import pytest
import yaml
from docs_builder import PAGE, WITHOUT_DATA, builder

from crda_spec.scm.falsify import Falsify
from crda_spec.scm.formats import parse_edges, read_graph

AGAIN = "the page is stale; run: python docs/build_traps.py"
ARROWS = {("severity", "dose"), ("severity", "recovery"), ("dose", "recovery")}


def moving(command):
    """The features that the certificate of a spec lets move."""
    features = json.loads(builder.printed(f"{command} --json"))["features"]
    return {one["name"] for one in features if one["certified"]}


def needs_data(thing, needed):
    marks = pytest.mark.skipif(not builder.HAVE_EXAMPLE_DATA, reason=WITHOUT_DATA) if needed else ()
    return pytest.param(thing, marks=marks)


@pytest.mark.parametrize(
    "block",
    [needs_data(block, block.needs_example_data) for block in builder.blocks(PAGE) if not block.is_run],
    ids=lambda block: block.command,
)
def test_a_block_is_what_its_command_prints(block):
    if block.needs_example_data:
        builder.get_example_data()
    assert block.body == block.fresh(), AGAIN


@pytest.mark.parametrize(
    ("file", "spec"),
    [
        pytest.param(*pair, marks=needs_data(pair, "examples" in pair[1].parts).marks, id=pair[0].name)
        for pair in builder.pictures(PAGE).items()
    ],
)
def test_a_picture_is_what_the_command_draws(file, spec):
    if "examples" in spec.parts:
        builder.get_example_data()
    assert file.read_text() == builder.drawing(spec), AGAIN


def test_nothing_lies_about_unused():
    docs = builder.ROOT / "docs"
    told = {block.command.split("docs/traps/")[1] for block in builder.blocks(PAGE) if "docs/traps/" in block.command}
    assert told == {file.name for file in (docs / "traps").iterdir()}
    shown = {name for page in docs.glob("*.md") for name in re.findall(r"\(pictures/([^)]+)\)", page.read_text())}
    assert shown == {file.name for file in (docs / "pictures").iterdir()}


def test_a_stale_block_is_noticed_and_mended():
    command = "the graph of docs/traps/collider.yaml"
    page = f"before\n<!-- made by: {command} -->\nold\n<!-- end -->\nafter ![x](pictures/collider.svg)\n"
    assert builder.stale(page) == [command]
    mended = builder.rebuilt(page)
    assert builder.stale(mended) == []
    assert mended.startswith(f"before\n<!-- made by: {command} -->\n```yaml\ncausal:\n  graph:\n")
    assert mended.endswith("latent: [severity]\n```\n<!-- end -->\nafter ![x](pictures/collider.svg)\n")


@pytest.mark.parametrize(
    ("trap", "changes", "free"),
    [
        pytest.param("confounder", "", {"exercise"}, id="confounder"),
        pytest.param(
            "confounder",
            "--set dataset.source.hidden=[] --set causal.graph.latent=[]",
            {"dose", "exercise", "severity"},
            id="confounder-measured",
        ),
        pytest.param("collider", "", {"exercise"}, id="collider"),
        pytest.param("collider", "--set dataset.features=[age,exercise]", {"age", "exercise"}, id="collider-left-out"),
        pytest.param("mediator", "", {"age", "dose", "blood_level"}, id="mediator"),
        pytest.param("mediator_unmeasured", "", {"age"}, id="mediator-unmeasured"),
        pytest.param("descendant", "", set(), id="descendant"),
        pytest.param("descendant", "--set dataset.features=[age,dose]", {"age", "dose"}, id="descendant-left-out"),
        pytest.param("not_drawn", "", {"age", "dose"}, id="not-drawn"),
        pytest.param("mediator_additive", "", {"age", "dose"}, id="mediator-additive"),
        pytest.param("selection", "", {"age"}, id="selection"),
        pytest.param("selection_unsaid", "", {"age", "dose"}, id="selection-unsaid"),
        pytest.param("noise", "", {"dose"}, id="noise"),
    ],
)
def test_what_the_page_says_of_a_trap(trap, changes, free):
    assert moving(f"crda-spec plan docs/traps/{trap}.yaml {changes}") == free


def test_what_is_not_drawn_is_assumed_harmless_and_the_plan_says_so():
    plan = json.loads(builder.printed("crda-spec plan docs/traps/not_drawn.yaml --json"))
    assert plan["certificate"]["assumes"][-1].startswith("sick_leave, which the graph does not draw, is not caused by")


UNDRAWN = "rows were selected by 'came', but no edge names it; draw what decides it, such as dose -> came"


def test_selection_without_an_arrow_is_refused(tmp_path):
    drawn = (builder.ROOT / "docs/traps/selection.yaml").read_text()
    spec = tmp_path / "spec.yaml"
    spec.write_text(drawn.replace('      - "{dose, pain} -> came"\n', ""))
    said = builder.printed(f"crda-spec plan {spec}")
    assert said.splitlines()[0] == f"spec.yaml:22:16: causal.graph.selected.0: {UNDRAWN}"


def test_selection_as_a_role_in_dagitty_means_the_same(tmp_path):
    drawn = (builder.ROOT / "docs/traps/selection.yaml").read_text()
    text = "dag { recovery [outcome]; pain [latent]; came [selected]; {dose pain} -> {recovery came}; age -> recovery }"
    spec = tmp_path / "spec.yaml"
    spec.write_text(drawn.partition("causal:")[0] + f"causal:\n  graph: {{kind: dagitty, text: '{text}'}}\n")
    said = " ".join(builder.printed(f"crda-spec plan {spec}").split())
    assert "fixed dose (blocked): choosing rows by came ties dose to the unmeasured pain" in said
    assert "moves age (cause): a direct cause of recovery" in said


@pytest.mark.parametrize("kind", ["dagitty", "dot", "gml", "graphml"])
def test_every_language_of_the_table_says_the_same(kind):
    (example,) = re.findall(rf"^\| `{kind}` \| `(.+?)` \|", PAGE, re.MULTILINE)
    read = read_graph(example, kind, file="example")
    assert read.complaints == ()
    assert {(edge.tail, edge.head) for edge in read.edges} == ARROWS
    assert {edge.mark for edge in read.edges} == {"->"}
    assert read.latents == ("severity",)


def test_the_arrows_of_the_table_say_the_same():
    (examples,) = re.findall(r"^\| `edges` \| (.+?) \|", PAGE, re.MULTILINE)
    edges, complaints = parse_edges(re.findall(r"`(.+?)`", examples))
    assert complaints == ()
    assert {(edge.tail, edge.head) for edge in edges} == ARROWS


@pytest.mark.parametrize("library", ["networkx", "pgmpy"])
def test_the_python_examples_work(library):
    (code,) = [code for code in re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL) if f"from_{library}" in code]
    names = {}
    exec(code, names)  # noqa: S102 - our own page
    read = read_graph(names["text"], "dagitty", file="text")
    assert {(edge.tail, edge.head) for edge in read.edges} == ARROWS
    assert (read.latents, read.outcomes) == (("severity",), ("recovery",))


def test_the_falsification_shown_is_the_default():
    (text,) = re.findall(r"```yaml\n(falsify:.+?)```", PAGE, re.DOTALL)
    assert Falsify(**yaml.safe_load(text)["falsify"]) == Falsify()

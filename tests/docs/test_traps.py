"""docs/traps: each lets move what the page says, and the page on the certificate explains every word."""

import json
import re

import pytest
from docs_builder import DOCS, builder

from crda_spec.report.words.numbers import CLASS_WORDS
from crda_spec.scm.formats import parse_edges, read_graph

ARROWS = {("severity", "dose"), ("severity", "recovery"), ("dose", "recovery")}
CERTIFICATE = (DOCS / "explanation" / "certificate.md").read_text()
LANGUAGES = (DOCS / "how-to" / "use-a-graph-from-another-tool.md").read_text()


def moving(command):
    """The features that the certificate of a spec lets move."""
    features = json.loads(builder.printed(f"{command} --json"))["features"]
    return {one["name"] for one in features if one["certified"]}


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


# The page on the certificate.


def first_cells(title):
    """The first column of the table with this first heading."""
    rows = CERTIFICATE.partition(f"| {title} | means |")[2].partition("\n\n")[0]
    return re.findall(r"^\| `?\**([\w ,()]+?)\**`? \| ", rows, re.MULTILINE)


def test_every_class_is_explained():
    assert set(first_cells("class")) == {word for word in CLASS_WORDS.values() if "," not in word}


def test_every_word_of_a_plan_is_explained():
    follows = "docs/traps/mediator.yaml --set perturbation.propagate=true --set partition.perturb=[dose]"
    plans = [builder.printed(f"crda-spec plan {spec}") for spec in (follows, "docs/traps/not_drawn.yaml")]
    said = {word for plan in plans for word in re.findall(r"^    (\w+) +\w+ \(\w+\): ", plan, re.MULTILINE)}
    assert said == {"moves", "kept", "joins", "fixed"} == set(first_cells("word"))


def test_every_line_of_a_plan_is_explained():
    plan = builder.printed("crda-spec plan docs/traps/confounder.yaml")
    lines = re.findall(r"^  (\w[\w ]+):", plan, re.MULTILINE)
    assert lines[:2] == ["rows", "what may move"]  # these explain themselves
    assert [name for one in first_cells("line") for name in one.split(", ")][3:] == lines[2:]


def test_the_spec_may_ask_for_no_limit():
    said = builder.printed("crda-spec plan docs/traps/confounder.yaml --set partition.max_features=null")
    assert "max_features" not in said


# The languages of a graph.


@pytest.mark.parametrize("kind", ["dagitty", "dot"])
def test_every_language_of_the_table_says_the_same(kind):
    (example,) = re.findall(rf"^\| `{kind}` \| `(.+?)` \|", LANGUAGES, re.MULTILINE)
    read = read_graph(example, kind, file="example")
    assert read.complaints == ()
    assert {(edge.tail, edge.head) for edge in read.edges} == ARROWS
    assert {edge.mark for edge in read.edges} == {"->"}
    assert read.latents == ("severity",)


def test_the_arrows_of_the_table_say_the_same():
    (examples,) = re.findall(r"^\| `edges` \| (.+?) \|", LANGUAGES, re.MULTILINE)
    edges, complaints = parse_edges(re.findall(r"`(.+?)`", examples))
    assert complaints == ()
    assert {(edge.tail, edge.head) for edge in edges} == ARROWS

"""docs/discovery.md and examples/discovery_loop: the loop ends as it is told, from the first search to the run."""

import json
import re
from pathlib import Path

import pytest
import yaml
from docs_builder import builder

from crda_spec.discovery import Knowledge, Stability
from crda_spec.spec.check import known_graph, load_spec
from crda_spec.spec.run import RunSpec

PAGE = builder.DISCOVERY.read_text()
LOOP = builder.ROOT / "examples" / "discovery_loop"


@pytest.mark.parametrize("block", builder.blocks(PAGE), ids=lambda block: block.command)
def test_a_block_is_what_its_command_prints(block):
    assert block.body == block.fresh(), "the page is stale; run: python docs/build_traps.py"


def test_links_lead_somewhere():
    titles = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links
    for link in links:
        assert link[1:] in anchors if link.startswith("#") else (builder.DISCOVERY.parent / link).exists(), link


def test_the_draft_is_what_the_command_writes_today():
    assert (LOOP / "draft.dag").read_text() == builder.printed(
        "crda-spec discover examples/discovery_loop/before.yaml --format dagitty"
    )


def graph_of(name):
    spec = yaml.safe_load((LOOP / "after.yaml").read_text())
    assert set(spec["causal"]["graph"]) == {"kind", "path"}
    return known_graph(*load_spec(LOOP / "after.yaml", overrides=[f"causal.graph.path={name}"])).graph


def test_the_expert_added_the_skill_and_nothing_else():
    draft, edited = graph_of("draft.dag"), graph_of("graph.dag")
    assert set(edited.directed) - set(draft.directed) == {("skill", "pruning"), ("skill", "harvest")}
    assert set(draft.directed) <= set(edited.directed)
    assert (draft.latents, edited.latents) == ((), ("skill",))


def test_the_edited_graph_is_the_truth():
    equations = yaml.safe_load((LOOP / "after.yaml").read_text())["dataset"]["source"]["equations"]
    causes = {(name, effect) for effect, text in equations.items() for name in re.findall(r"[a-z]+", text)}
    assert set(graph_of("graph.dag").directed) == {pair for pair in causes if pair[0] in equations}


def test_both_specs_are_about_the_same_data():
    before, after = (yaml.safe_load((LOOP / f"{name}.yaml").read_text()) for name in ("before", "after"))
    assert {key: value for key, value in before.items() if key not in ("name", "causal")} == {
        key: value for key, value in after.items() if key not in ("name", "causal")
    }


def moved(name: str, folder: Path) -> dict:
    from crda_spec.cli.app import run_main

    with builder._started_as("crda-run", str(LOOP / f"{name}.yaml"), "--out", str(folder), "--quiet", "--jobs", "1"):
        with pytest.raises(SystemExit) as ended:
            run_main()
        assert ended.value.code in (None, 0)
    return json.loads((folder / "record.json").read_text())


def test_only_the_declared_graph_holds_the_pruning_fixed(tmp_path):
    before, after = moved("before", tmp_path / "before"), moved("after", tmp_path / "after")
    assert before["certificate"]["basis"] == "discovered"
    assert "pruning" in before["certificate"]["perturbed"]
    assert not before["certificate"]["joint"]["failed"]
    assert "pruning" not in after["certificate"]["perturbed"]
    assert (after["falsification"]["outcome"], after["falsification"]["implied"]) == ("not_falsified", 13)
    assert not any(statement["violated"] for statement in after["falsification"]["statements"])


def discovery(text):
    return RunSpec.model_validate_json(
        json.dumps(
            {
                "version": 1,
                "name": "page",
                "dataset": {"source": {"kind": "csv", "path": "x.csv"}, "target": "y"},
                **yaml.safe_load(text),
            }
        )
    ).causal.discovery


def test_the_yaml_of_the_page_is_read_and_shows_the_defaults():
    methods, known = re.findall(r"```yaml\n(causal:.+?)```", PAGE, re.DOTALL)
    shown = discovery(methods)
    assert shown.kind == "fci"
    assert shown == type(shown)(kind="fci", stability=Stability())
    named = set(yaml.safe_load(known)["causal"]["discovery"]["knowledge"])
    assert named == set(Knowledge.model_fields)
    assert discovery(known).knowledge.required == ("dose -> recovery",)


def test_the_rules_of_the_page_name_every_mark():
    rows = re.findall(r"^\| `a (\S+) b`", PAGE, re.MULTILINE)
    assert sorted(rows) == ["--", "->", "->", "<->", "<->", "o->", "o-o"]

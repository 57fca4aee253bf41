"""docs/how-to/draft-a-graph.md and examples/discovery_loop: the loop ends as the page tells."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from docs_builder import builder

from crda_spec.discovery import Knowledge
from crda_spec.spec.check import known_graph, load_spec

LOOP = builder.ROOT / "examples" / "discovery_loop"
PAGE = (builder.DOCS / "how-to" / "draft-a-graph.md").read_text()


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

    command = ["crda-run", str(LOOP / f"{name}.yaml"), "--out", str(folder), "--quiet", "--jobs", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit, match=r"^0$"):
            run_main()
    return json.loads((folder / "record.json").read_text())


def test_only_the_declared_graph_holds_the_pruning_fixed(tmp_path):
    before, after = moved("before", tmp_path / "before"), moved("after", tmp_path / "after")
    assert before["certificate"]["basis"] == "discovered"
    assert "pruning" in before["certificate"]["perturbed"]
    assert not before["certificate"]["joint"]["failed"]
    assert "pruning" not in after["certificate"]["perturbed"]
    assert (after["falsification"]["outcome"], after["falsification"]["implied"]) == ("not_falsified", 13)
    assert not any(statement["violated"] for statement in after["falsification"]["statements"])


def test_the_yaml_of_the_page_names_all_that_may_be_known():
    (text,) = re.findall(r"```yaml\n(causal:.+?)```", PAGE, re.DOTALL)
    assert set(yaml.safe_load(text)["causal"]["discovery"]["knowledge"]) == set(Knowledge.model_fields)


def test_the_rules_name_every_mark():
    rows = re.findall(r"^\| `a (\S+) b`", (builder.DOCS / "design" / "discovery.md").read_text(), re.MULTILINE)
    assert sorted(rows) == ["--", "->", "->", "<->", "<->", "o->", "o-o"]

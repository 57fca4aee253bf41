"""The worked examples on real tables: the certificate of the literature's graph, the verdict that the docs tell."""

import json
import runpy
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from docs_builder import DOCS, WITHOUT_DATA, builder

from crda_spec.scm.falsify import Falsify
from crda_spec.seeds import stream
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import known_graph, load_spec

PAGE = (DOCS / "evidence" / "two-studies.md").read_text()
pytestmark = pytest.mark.skipif(not builder.HAVE_EXAMPLE_DATA, reason=WITHOUT_DATA)

NINE = [
    "sex", "age", "race", "education", "cigarettes_a_day", "years_of_smoking",
    "exercise", "daily_activity", "weight_1971",
]  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A copy of a worked example with its table, to be changed at will."""

    file: Path

    def change(self, how):
        spec = yaml.safe_load(self.file.read_text())
        how(spec)
        self.file.write_text(yaml.safe_dump(spec))

    def plan(self):
        return json.loads(builder.printed(f"crda-spec plan {self.file} --json"))

    def features(self):
        return {one["name"]: one for one in self.plan()["features"]}

    def moving(self):
        """What the certificate lets move."""
        return [name for name, one in self.features().items() if one["certified"]]


@pytest.fixture
def example(tmp_path):
    def copy(name):
        source = builder.ROOT / "examples" / name
        shutil.copy(source / "spec.yaml", tmp_path)
        runpy.run_path(str(source / "get_data.py"))["write"](tmp_path)
        return Example(tmp_path / "spec.yaml")

    return copy


def test_the_tables_are_those_of_the_literature(example):
    nhefs = example("nhefs").plan()
    card = example("card").plan()
    assert nhefs["rows"]["train"] + nhefs["rows"]["test"] == 1566
    assert card["rows"]["train"] + card["rows"]["test"] == 3010


def test_the_book_lets_only_the_quitting_move(example):
    features = example("nhefs").features()
    assert set(features) == {"quit_smoking", *NINE}
    assert [name for name, one in features.items() if one["may_move"]] == ["quit_smoking"]
    assert features["quit_smoking"]["status"] == "cause"
    assert {features[name]["status"] for name in NINE} == {"blocked"}
    for name in NINE:
        assert "metabolism" in features[name]["reason"]


def test_without_the_unmeasured_metabolism_all_ten_move(example):
    nhefs = example("nhefs")

    def forget(spec):
        graph = spec["causal"]["graph"]
        graph["edges"] = [edge for edge in graph["edges"] if not edge.startswith("metabolism")]
        graph["latent"].remove("metabolism")

    nhefs.change(forget)
    assert set(nhefs.moving()) == {"quit_smoking", *NINE}


def test_of_cards_columns_only_experience_moves(example):
    features = example("card").features()
    assert [name for name, one in features.items() if one["may_move"]] == ["experience"]
    assert "schooling <- ability -> log_wage" in features["schooling"]["reason"]
    assert "near_college -> schooling <- ability -> log_wage" in features["near_college"]["reason"]


def test_marital_status_as_an_effect_of_the_wage_would_freeze_everything(example):
    card = example("card")

    def marry(spec):
        spec["dataset"]["features"].append("marital_status")
        spec["dataset"]["missing"] = {"kind": "drop"}
        spec["causal"]["graph"]["edges"].append("log_wage -> marital_status")

    card.change(marry)
    assert card.moving() == []


def test_where_a_man_grew_up_shaping_his_experience_too_would_leave_nothing(example):
    card = example("card")
    card.change(lambda spec: spec["causal"]["graph"]["edges"].append("origins -> experience"))
    assert card.moving() == []


def refutation(file):
    """What the training rows say of the example's graph, with the defaults of `falsify`."""
    spec, draft = load_spec(file)
    split, _ = build_plan(spec, draft).load()
    rng = stream(spec.seed, "falsify")
    graph = known_graph(spec, draft).graph
    return Falsify().test(graph, split.train, rng=rng)


def test_the_data_cannot_refute_the_books_graph(example):
    found = refutation(example("nhefs").file)
    assert (found.outcome, found.implied) == ("not_informative", 0)


def test_the_data_refute_cards_graph_as_the_docs_tell(example):
    found = refutation(example("card").file)
    assert (found.outcome, found.implied) == ("falsified", 4)
    worst = found.statements[0]
    assert ({worst.first, worst.second}, worst.given) == ({"experience", "near_college"}, ("schooling",))
    assert [one.violated for one in found.statements] == [True, False, False, False]
    told = " ".join(PAGE.split())
    assert f"(adjusted p = {worst.adjusted:.3f}, alpha 0.05)" in told
    assert f"suggests the arrow `{found.suggested[0]}`" in told

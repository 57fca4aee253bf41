"""docs/causal-graph.md, "Your own table" and "Read the certificate": the spec runs as it stands, no word is missing."""

import json
import re

import pandas as pd
import pytest
from docs_builder import PAGE, builder

from crda_spec.report.words.numbers import CLASS_WORDS
from crda_spec.spec.recipes import preset_of

OWN_TABLE = PAGE.partition("\n## Your own table\n")[2].partition("\n## ")[0]
CERTIFICATE = PAGE.partition("\n## Read the certificate\n")[2].partition("\n## ")[0]


@pytest.fixture
def spec(tmp_path):
    """The shortest spec, copied from the page, beside its table."""
    (text,) = re.findall(r"```yaml\n(.+?)```", OWN_TABLE, re.DOTALL)
    table = pd.read_csv(builder.ROOT / "examples" / "clinic" / "patients.csv")
    table = table[["age", "bmi", "comorbidities", "therapy_hours", "dose", "recovery"]]
    table.to_csv(tmp_path / "patients.csv", index=False)
    file = tmp_path / "spec.yaml"
    file.write_text(text)
    return file


def free(spec):
    plan = json.loads(builder.printed(f"crda-spec plan {spec} --json"))
    return {one["name"] for one in plan["features"] if one["may_move"]}


def test_the_shortest_spec_is_sound(spec):
    assert builder.printed(f"crda-spec validate {spec}") == (
        "spec.yaml: valid (300 of 300 rows: 240 to train, 60 to test); "
        f"see what it would do with: crda-spec plan {spec}, run it with: crda-run {spec}\n"
    )
    assert free(spec) == {"age", "bmi", "comorbidities", "therapy_hours"}


def test_every_command_of_the_section_exists(spec, tmp_path):
    told = re.findall(r"^\| `(crda-spec \w+) spec\.yaml( --out graph\.png)?` \|", OWN_TABLE, re.MULTILINE)
    assert told == [("crda-spec validate", ""), ("crda-spec plan", ""), ("crda-spec graph", " --out graph.png")]
    builder.printed(f"crda-spec graph {spec} --out {tmp_path / 'graph.png'}")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_an_entry_that_begins_with_a_brace_needs_quotes(spec):
    quoted = '"{age, bmi, comorbidities, therapy_hours, dose} -> recovery"'
    spec.write_text(spec.read_text().replace(quoted, quoted.strip('"')))
    assert builder.printed(f"crda-spec validate {spec}").splitlines()[0] == (
        "spec.yaml:10:56: not valid YAML: expected <block end>, but found '<scalar>'; put the entry in quotes: YAML "
        "reads a { at its start as its own. Write - '{age, bmi, comorbidities, therapy_hours, dose} -> recovery'"
    )


def test_names_with_spaces_need_no_quotes(spec):
    table = spec.parent / "patients.csv"
    table.write_text(table.read_text().replace("therapy_hours", "hours of therapy"))
    spec.write_text(spec.read_text().replace("therapy_hours", "hours of therapy"))
    assert "hours of therapy" in free(spec)


def test_a_draft_is_found_in_the_table_alone(spec):
    draft = spec.parent / "draft.yaml"
    (told,) = re.findall(r"`(crda-spec discover patients\.csv .+?)`", OWN_TABLE)
    command = told.replace("patients.csv", str(spec.parent / "patients.csv")).replace("draft.yaml", str(draft))
    builder.printed(f"{command} --resamples 0")
    assert draft.read_text().startswith("# Found by crda-spec discover: PC")


def words(column):
    """What stands in a column of the first table of the section."""
    rows = [line.strip("| \n").split(" | ") for line in CERTIFICATE.splitlines() if line.startswith("| ")]
    ends = next(number for number, row in enumerate(rows) if row[0] == "the plan says")
    return {row[column] for row in rows[1:ends]}


def test_every_verdict_of_a_run_is_explained():
    assert words(1) == set(CLASS_WORDS.values())


def test_every_word_of_a_plan_is_explained():
    follows = "docs/traps/mediator.yaml --set perturbation.propagate=true --set partition.perturb=[dose]"
    plans = [builder.printed(f"crda-spec plan {spec}") for spec in (follows, "docs/traps/not_drawn.yaml")]
    said = {word for plan in plans for word in re.findall(r"^    (\w+) +\w+ \(\w+\): ", plan, re.MULTILINE)}
    assert said == {"moves", "kept", "joins", "fixed"}
    assert words(0) == said | {"-"}


def test_every_line_of_a_plan_is_explained():
    plan = builder.printed("crda-spec plan docs/traps/confounder.yaml")
    lines = re.findall(r"^  (\w[\w ]+):", plan, re.MULTILINE)
    assert lines[:2] == ["rows", "what may move"]  # these explain themselves
    explained = re.findall(r"^\| ([\w ,()]+) \| ", CERTIFICATE.partition("| the plan says |")[2], re.MULTILINE)
    assert [name for one in explained[1:] for name in one.split(", ")] == lines[2:]


def test_the_paper_moves_at_most_two_and_distilled_all():
    said = "so many do move, 2 in `recipe: paper`, all in `recipe: distilled`:"
    assert f"(max_features) | Of those that may move, {said}" in CERTIFICATE
    assert preset_of("paper", "xgboost")["partition"]["max_features"] == 2
    assert "max_features" not in preset_of("distilled", "xgboost")["partition"]


def test_the_spec_may_ask_for_no_limit():
    said = builder.printed("crda-spec plan docs/traps/confounder.yaml --set partition.max_features=null")
    assert "max_features" not in said

"""`crda-spec discover`: a search alone, and drafts that a spec takes back as its declared graph."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from crda_spec.spec.check import known_graph, load_spec

CLINIC = Path(__file__).parents[2] / "examples" / "clinic"
TABLE = CLINIC / "patients.csv"
FEATURES = ["age", "bmi", "comorbidities", "therapy_hours", "dose"]
LINKS = {
    ("age", "comorbidities"),
    ("age", "recovery"),
    ("comorbidities", "recovery"),
    ("dose", "recovery"),
    ("therapy_hours", "dose"),
    ("therapy_hours", "recovery"),
}
ENDINGS = {"dagitty": "dag", "dot": "dot", "gml": "gml", "graphml": "graphml"}
GUESSES = (
    "note: age -> comorbidities is a guess: the data leave its direction open\n"
    "note: therapy_hours -> dose is a guess: the data leave its direction open\n"
)


@pytest.fixture
def clinic(tmp_path):
    """A copy of the clinic's spec, with discovery in place of its graph, and what changes it."""

    def copy(causal=None, **changes):
        shutil.copy(TABLE, tmp_path)
        spec = yaml.safe_load((CLINIC / "spec.yaml").read_text()) | changes
        spec["dataset"]["features"] = FEATURES
        spec["causal"] = {"discovery": {"kind": "pc"}} if causal is None else causal
        file = tmp_path / "spec.yaml"
        file.write_text(yaml.safe_dump(spec))
        return file

    return copy


def edges_of(file):
    return set(known_graph(*load_spec(file)).graph.directed)


@pytest.mark.parametrize("kind", ENDINGS)
def test_a_draft_is_read_back_as_the_declared_graph(kind, command, clinic, tmp_path):
    out = tmp_path / f"draft.{ENDINGS[kind]}"
    done = command("crda-spec", "discover", clinic(), "--resamples", "0", "--out", out)
    assert (done.code, done.err) == (0, f"{out}\n{GUESSES}")
    assert edges_of(clinic({"graph": {"kind": kind, "path": out.name}})) == LINKS


def test_the_yaml_is_a_causal_section_ready_to_paste(command, clinic):
    done = command("crda-spec", "discover", clinic(), "--resamples", "0", "--format", "yaml")
    assert (done.code, done.err) == (0, GUESSES)
    assert edges_of(clinic(yaml.safe_load(done.out)["causal"])) == LINKS
    assert done.out == (
        "# Found by crda-spec discover: PC, alpha 0.05, on 240 training rows of patients.csv: 5 features and\n"
        "# the target recovery; 51 tests given up to 3 columns.\n"
        "# A first draft for somebody who knows the field. Check every arrow, above all those called a guess,\n"
        "# and add what nobody measured.\n"
        "causal:\n"
        "  graph:\n"
        "    kind: edges\n"
        "    edges:\n"
        "      # guess: the data leave its direction open\n"
        "      - age -> comorbidities # strength 0.131, p = 0.0424\n"
        "      - age -> recovery # strength 0.527, p < 0.0001\n"
        "      - comorbidities -> recovery # strength 0.238, p = 0.000198\n"
        "      - dose -> recovery # strength 0.201, p = 0.00172\n"
        "      # guess: the data leave its direction open\n"
        "      - therapy_hours -> dose # strength 0.164, p = 0.0110\n"
        "      - therapy_hours -> recovery # strength 0.570, p < 0.0001\n"
    )


def test_edges_are_lines_that_an_expert_can_edit(command, clinic, tmp_path):
    out = tmp_path / "draft.txt"
    command("crda-spec", "discover", clinic(), "--resamples", "0", "--out", out)
    lines = out.read_text().splitlines()
    assert "# Note: age -> comorbidities is a guess: the data leave its direction open." in lines
    edges = [line for line in lines if not line.startswith("#")]
    assert edges_of(clinic({"graph": {"kind": "edges", "edges": edges}})) == LINKS


AWKWARD = ['a "b" -> c', "$x and ${HOME}", "# no comment", "数量: ünïcödé", "line\nbreak", "{brace}"]


def test_any_column_name_survives_the_loop(command, tmp_path):
    columns = [*FEATURES, "recovery"]
    rows = pd.read_csv(TABLE)[columns].rename(columns=dict(zip(columns, AWKWARD, strict=True)))
    rows.to_parquet(tmp_path / "rows.parquet")
    line = ["crda-spec", "discover", tmp_path / "rows.parquet", "--target", AWKWARD[-1], "--resamples", "0"]
    record = json.loads(command(*line, "--json").out)
    causal = yaml.safe_load(command(*line, "--format", "yaml").out)["causal"]
    spec = {
        "version": 1,
        "name": "loop",
        "dataset": {"source": {"kind": "parquet", "path": "rows.parquet"}, "target": AWKWARD[-1]},
        "causal": causal,
    }
    file = tmp_path / "loop.yaml"
    file.write_text(yaml.safe_dump(spec, allow_unicode=True))
    assert {frozenset(edge) for edge in edges_of(file)} == {
        frozenset((edge["first"], edge["second"])) for edge in record["edges"]
    }
    assert all(any(name in edge for edge in edges_of(file)) for name in AWKWARD)


def test_the_table_says_how_what_and_how_sure(command, clinic):
    done = command("crda-spec", "discover", clinic(), "--resamples", "10")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "crda-spec discover: recovery\n"
        "============================\n"
        "\n"
        "Search\n"
        "  PC, alpha 0.05, on 240 training rows of patients.csv: 5 features and the target recovery; 51 tests\n"
        "  given up to 3 columns. Repeated on 10 resamples (half of the rows each).\n"
        "  The residual is not part of this search, since it needs a model: a run looks for what is tied to\n"
        "  it, and only then says which features may move.\n"
        "\n"
        "Links\n"
        "  column             column         strength         p  in resamples  same mark\n"
        "  -------------  --  -------------  --------  --------  ------------  ---------\n"
        "  age            --  comorbidities     0.131    0.0424          10 %       10 %\n"
        "  age            ->  recovery          0.527  < 0.0001         100 %      100 %\n"
        "  comorbidities  ->  recovery          0.238  0.000198         100 %      100 %\n"
        "  therapy_hours  --  dose              0.164    0.0110          60 %       40 %\n"
        "  therapy_hours  ->  recovery          0.570  < 0.0001         100 %       80 %\n"
        "  dose           ->  recovery          0.201   0.00172          70 %       70 %\n"
        "  a -> b: a causes b in every graph that fits\n"
        "  a -- b: both directions fit the data equally well\n"
    )
    assert command("crda-spec", "discover", clinic(), "--resamples", "10").out == done.out


def test_a_hundred_halves_unless_the_spec_says_otherwise(command, clinic):
    def resamples(causal=None, *options):
        return json.loads(command("crda-spec", "discover", clinic(causal), "--json", *options).out)["resamples"]

    own = {"discovery": {"kind": "pc", "stability": {"resamples": 7, "scheme": "bootstrap"}}}
    assert resamples() == {"count": 100, "scheme": "half"}
    assert resamples(own) == {"count": 7, "scheme": "bootstrap"}
    assert resamples(own, "--resamples", "3") == {"count": 3, "scheme": "bootstrap"}
    assert resamples(own, "--resamples", "0") is None


def test_knowledge_binds_and_is_shown_and_goes_along_to_another_method(command, clinic):
    known = {"discovery": {"kind": "pc", "knowledge": {"required": ["bmi -> recovery"], "roots": ["age"]}}}
    for method, mark in (("pc", "->"), ("fci", "o->")):
        done = command("crda-spec", "discover", clinic(known), "--method", method, "--resamples", "0", "--json")
        edges = {(edge["first"], edge["second"]): edge for edge in json.loads(done.out)["edges"]}
        assert edges["bmi", "recovery"]["by_knowledge"]
        assert edges["bmi", "recovery"]["mark"] == "->"
        assert edges["dose", "recovery"]["mark"] == mark
    table = command("crda-spec", "discover", clinic(known), "--resamples", "0").out
    (row,) = [line.split() for line in table.splitlines() if line.strip().startswith("bmi ")]
    assert row[-1] == "yes"


def test_the_training_rows_of_a_spec_are_searched_and_all_rows_of_a_table(command, clinic, tmp_path):
    file = tmp_path / "five.csv"
    pd.read_csv(TABLE)[[*FEATURES, "recovery"]].to_csv(file, index=False)
    spec = json.loads(command("crda-spec", "discover", clinic(), "--resamples", "0", "--json").out)
    table = json.loads(command("crda-spec", "discover", file, "--target", "recovery", "--resamples", "0", "--json").out)
    assert (spec["rows"], table["rows"]) == (240, 300)
    assert spec["columns"] == table["columns"] == [*FEATURES, "recovery"]


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_a_table_is_read_by_its_ending(ending, command, tmp_path):
    rows, file = pd.read_csv(TABLE), tmp_path / f"rows.{ending}"
    rows.to_parquet(file) if ending == "parquet" else rows.to_excel(file, index=False)
    options = ("--target", "recovery", "--resamples", "0", "--json")
    assert (
        json.loads(command("crda-spec", "discover", file, *options).out)["edges"]
        == (json.loads(command("crda-spec", "discover", TABLE, *options).out)["edges"])
    )


def test_rows_with_missing_cells_are_left_out_and_counted(command, tmp_path):
    rows = pd.read_csv(TABLE)
    rows.loc[:19, "bmi"] = None
    rows.to_csv(tmp_path / "holes.csv", index=False)
    options = ("--target", "recovery", "--resamples", "0", "--json")
    found = json.loads(command("crda-spec", "discover", tmp_path / "holes.csv", *options).out)
    assert (found["rows"], found["searched_rows"]) == (300, 280)
    assert found["notes"][0] == "20 of 300 rows have a missing cell and were left out."


def test_a_declared_graph_is_compared_link_by_link(command, clinic):
    edges = ["{age, bmi, comorbidities, therapy_hours, dose} -> recovery", "age -> comorbidities"]
    edges.append("severity -> {dose, recovery}")
    spec = clinic({"graph": {"kind": "edges", "edges": edges, "latent": ["severity"]}})
    done = command("crda-spec", "discover", spec, "--resamples", "0")
    assert "  therapy_hours  --  dose              0.164    0.0110  not there\n" in done.out
    assert "  age            --  comorbidities     0.131    0.0424  direction open\n" in done.out
    assert "  dose           ->  recovery          0.201   0.00172  same\n" in done.out
    assert "  Of 6 links that the data show, it has 5 too; 1 it does not have.\n" in done.out
    assert "  Declared, and the data show no link: bmi -> recovery. A weak effect may need more rows;" in done.out
    record = json.loads(command("crda-spec", "discover", spec, "--resamples", "0", "--json").out)
    assert record["declared_and_unseen"] == ["bmi -> recovery"]
    assert [edge["declared"] for edge in record["edges"]].count("same") == 4


def test_a_draft_of_fci_keeps_hidden_causes_and_names_every_doubt(command, tmp_path):
    spec = tmp_path / "spec.yaml"
    equations = {"u": "normal(0, 1)", "a": "normal(0, 1)", "b": "normal(0, 1)"}
    equations |= {"x": "a + u + normal(0, 0.5)", "y": "b + u + normal(0, 0.5)"}
    source = {"kind": "synthetic", "rows": 1000, "equations": equations, "hidden": ["u"]}
    text = {"version": 1, "name": "hidden", "dataset": {"source": source, "target": "y"}}
    spec.write_text(yaml.safe_dump(text))
    options = ("--method", "fci", "--alpha", "0.01", "--resamples", "0", "--format", "edges")
    done = command("crda-spec", "discover", spec, *options)
    assert [line for line in done.out.splitlines() if not line.startswith("#")] == ["a -> x", "b -> y", "x <-> y"]
    doubt = "is a guess: a hidden common cause may tie the two instead, or as well"
    assert done.err == f"note: a -> x {doubt}\nnote: b -> y {doubt}\n"


def test_pictures_show_what_was_found(command, clinic, tmp_path):
    svg, png = tmp_path / "found.svg", tmp_path / "found.png"
    done = command("crda-spec", "discover", clinic(), "--method", "fci", "--resamples", "0", "--out", svg)
    assert done.err == f"{svg}\n"
    assert 'class="end"' in svg.read_text()
    assert done.out.startswith("crda-spec discover: recovery\n")
    command("crda-spec", "discover", clinic(), "--resamples", "0", "--out", png)
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_without_links_there_is_a_table_and_no_draft(command, tmp_path):
    file = tmp_path / "noise.csv"
    file.write_text("a,y\n" + "".join(f"{i % 7},{i * i % 11}\n" for i in range(200)))
    line = ["crda-spec", "discover", file, "--target", "y", "--resamples", "0"]
    assert "\nLinks\n  No two columns are linked.\n" in command(*line).out
    assert json.loads(command(*line, "--json").out)["draft"] is None
    done = command(*line, "--format", "yaml")
    assert (done.code, done.out, done.err) == (
        2,
        "",
        (
            "note: some rows agree in every column: all stay, copies together in every fold\n"
            "the search links nothing to the target 'y', so its graph cannot be declared; raise alpha, tell the search "
            "what you know, or write down the arrows that you know yourself\n"
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            [TABLE],
            "'patients.csv' does not say what to predict; add --target with the name of one of its columns\n",
        ),
        (
            [TABLE, "--target", "recovry"],
            "patients.csv: --target: there is no column 'recovry'; did you mean 'recovery'?\n",
        ),
        (
            [CLINIC / "patient.csv", "--target", "recovery"],
            "there is no file 'patient.csv'; did you mean 'patients.csv'?\n",
        ),
        (
            [CLINIC / "spec.yaml", "--target", "recovery"],
            (
                "--target goes with a table, and the ending of 'spec.yaml' is not that of one; endings: .csv, .tsv, "
                ".txt, .parquet, .pq, .xlsx; a spec names its own target, and --set dataset.target=... changes it\n"
            ),
        ),
        (
            [TABLE, "--target", "recovery", "--set", "seed=1"],
            "--set changes a spec, and a table has none; leave it out, or write a spec\n",
        ),
        (
            [CLINIC / "spec.yaml", "--alpha", "1.5", "--resamples", "1"],
            (
                "--alpha 1.5 is not between 0 and 1; use 0.05 or 0.01\n"
                "--resamples 1 is neither 0 nor between 2 and 10000; use 100, or 0 for none\n2 problems\n"
            ),
        ),
        (
            [CLINIC / "spec.yaml", "--method", "ges", "--alpha", "0.1"],
            "GES compares scores and makes no test, so --alpha would do nothing; leave it out, or use --method pc\n",
        ),
        (
            [CLINIC / "spec.yaml", "--json", "--format", "yaml"],
            "--json and --format both want to be printed; leave one out, or name a file with --out\n",
        ),
        (
            [CLINIC / "spec.yaml", "--out", "graph.pgn"],
            "the ending of 'graph.pgn' tells no format; did you mean '.png'? or say --format\n",
        ),
        (
            [CLINIC / "spec.yaml", "--resamples", "0", "--out", "/nowhere/at/all.svg"],
            "cannot write '/nowhere/at/all.svg': no such file or directory; choose another file\n",
        ),
    ],
    ids=lambda one: " ".join(str(part).rsplit("/", 1)[-1] for part in one) if isinstance(one, list) else "",
)
def test_wrong_uses(arguments, said, command):
    done = command("crda-spec", "discover", *arguments)
    assert (done.code, done.out, done.err) == (2, "", said)


def test_ges_and_the_consensus_say_why_nothing_was_repeated(command, tmp_path):
    file = tmp_path / "chain.csv"
    values = [(i * 37 % 101, i * 53 % 89) for i in range(60)]
    file.write_text("a,b,y\n" + "".join(f"{a},{a + b},{2 * (a + b) + a * b % 13}\n" for a, b in values))
    note = "note: GES takes seconds a search, so no resamples were searched; --resamples 20 asks for them\n"
    ges = command("crda-spec", "discover", file, "--target", "y", "--method", "ges")
    assert (ges.code, ges.err) == (0, note)
    assert "  GES, on 60 rows of chain.csv: 2 features and the target y.\n" in ges.out
    assert "strength" not in ges.out
    voted = command("crda-spec", "discover", file, "--target", "y", "--method", "consensus")
    assert (voted.code, voted.err) == (0, note)
    assert "in methods" in voted.out

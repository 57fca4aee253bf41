"""Finished runs asked what would have been: by the ledger's rows, under the certificate, sealed."""

import csv
import io
import json
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tampering as by
from audit_runs import ran, record_of

from crda_spec.api import effects as average_effects
from crda_spec.api import whatif as what_if
from crda_spec.audit.open_run import open_run, taught_run
from crda_spec.audit.whatif import Question
from crda_spec.data.worlds import declare
from crda_spec.errors import CrdaError, GraphError
from crda_spec.report.words.whatif import ground_sentences, robustness_sentences

WARD = declare(
    name="ward",
    target="y",
    hidden=("severity",),
    equations={
        "severity": "normal(0, 1)",
        "age": "uniform(20, 80)",
        "comorbidities": "poisson(0.02 * age)",
        "hours": "uniform(0, 12)",
        "ward": "choice('north', 'south')",
        "dose": "40 + 8 * severity + normal(0, 5)",
        "cost": "2 * dose + normal(0, 5)",
        "tag": "normal(0, 1)",
        "y": "50 + 3 * hours - 0.2 * age - 2 * comorbidities + 4 * (ward == 'south') + 0.2 * dose - 6 * severity"
        " + normal(0, 2)",
    },
)
SPEC = """
version: 1
recipe: {recipe}
name: ward
seed: 4
dataset:
  source: {{kind: csv, path: rows.csv}}
  target: y
  columns: {{hours: {{unit: hours/week, min: 0, max: 20}}, dose: {{unit: mg/day, min: 0}}}}
{causal}
regressor: {{kind: ridge}}
counterfactual: {{factor: 0.5{more}}}
gate: {{enabled: false}}
output: {{diagnostics: {diagnostics}}}
execution: {{jobs: 1}}
"""
EDGES = [one for one in WARD.edges() if "tag" not in one]
GRAPH = f"causal: {{graph: {{kind: edges, edges: {json.dumps(EDGES)}, latent: [severity], unrelated: [tag]}}}}"
SAMPLE = WARD.draw(160, seed=8)
COLUMNS = WARD.draw_columns(160, seed=8)
COMMITTEE = ", teacher: {kind: committee, folds: 3, hedge: true, members: [{kind: linear}, {kind: gaussian_process}]}"


def made(folder, *, recipe="certified", causal=GRAPH, more=COMMITTEE, diagnostics="false"):
    pd.DataFrame(COLUMNS).to_csv(folder / "rows.csv", index=False)
    text = SPEC.format(recipe=recipe, causal=causal, more=more, diagnostics=diagnostics)
    return ran(folder, text)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return made(tmp_path_factory.mktemp("ward"), diagnostics="true")


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """In-sample residuals, one model, every feature's noise carried."""
    return made(tmp_path_factory.mktemp("paper"), recipe="paper", more="")


def first_row(run):
    return int(taught_run(open_run(run.folder)).train.row_ids[0]) + 1


def asked(run, *changes, rows=None, **how):
    how.setdefault("refits", 0)
    return what_if(run.folder, Question(changes=changes, rows=rows or (first_row(run),), **how))


@pytest.mark.parametrize("which", ["finished", "paper"])
def test_the_difference_is_the_teachers(which, request):
    run = request.getfixturevalue(which)
    train, teacher = run.result.split.train, run.result.teacher
    numbers = tuple((train.row_ids[:20] + 1).tolist())
    found = asked(run, "hours=+1.5", rows=numbers)
    x = train.x[:20].copy()
    x[:, train.names.index("hours")] += 1.5
    expected = teacher.predict(x) - teacher.predict(train.x[:20])
    np.testing.assert_allclose([one.difference for one in found.answers], expected, atol=1e-9)
    assert [one.observed for one in found.answers] == train.y[:20].tolist()
    assert [one.row for one in found.answers] == list(numbers)
    assert {one.basis for one in found.answers} == {"certificate"}
    assert found.seal == record_of(run)["sha256"]


def test_the_answer_is_near_the_truth(finished):
    found = asked(finished, "hours=+2", "ward=south", refits=20)
    (one,) = found.answers
    row = one.row - 1
    values = {name: COLUMNS[name][[row]] for name in WARD.features()}
    true = SAMPLE.outcome({**values, "hours": values["hours"] + 2, "ward": np.array(["south"], object)}, rows=[row])
    low, high = one.interval
    assert abs(one.difference - (true[0] - SAMPLE.y[row])) < 2.0
    assert low < one.difference < high < low + 8.0
    assert found.refits == 20
    assert 0 < one.robustness < 1


def test_an_irrelevant_feature_leaves_the_outcome_as_it_is(finished):
    found = asked(finished, "tag=+1", "cost=90", refits=20)
    (one,) = found.answers
    assert (one.outcome, one.difference, one.interval, one.basis) == (one.observed, 0.0, (0.0, 0.0), "irrelevant")
    assert found.refits == 0  # nothing is fitted for that
    assert [status for _, status in found.asked] == ["irrelevant", "irrelevant"]


def test_an_irrelevant_value_beyond_the_data_is_no_extrapolation(finished):
    """The teacher is asked with the column as it was, whatever it is set to."""
    for found in (asked(finished, "tag=99"), asked(finished, "tag=99", "hours=+1")):
        assert (found.answers[0].beyond, found.answers[0].off_data) == ((), False)
    (hidden, *_) = robustness_sentences(found, found.answers[0])
    assert hidden.startswith("A hidden cause of y and hours would have to explain ")


def test_a_failed_trust_test_is_told(finished, tmp_path):
    run = by.copy_of(finished.folder, tmp_path)
    record = by.read(run)
    record["teacher"]["trust"] |= {"passed": False, "contradicted": ["tag"]}
    by.write(run, record)
    row = first_row(finished)
    found = what_if(run, Question(changes=("tag=+1",), rows=(row,), refits=0))
    assert "trust_failed" in found.cautions
    assert found.answers[0].difference == 0.0
    assert (
        "The rows contradict it: with the columns that the graph calls irrelevant, y is predicted better (above all "
        in (" ".join(ground_sentences(found)))
    )
    assert "trust_failed" not in what_if(run, Question(changes=("hours=+1",), rows=(row,), refits=0)).cautions
    assert average_effects(finished.folder).left["tag"] == ""
    assert average_effects(run).left["tag"] == "the graph calls it irrelevant, but the rows do not bear that out"


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("which", ["finished", "paper"])
def test_a_blocked_feature_is_refused_with_its_path_and_its_remedy(which, follow, request):
    run = request.getfixturevalue(which)
    with pytest.raises(CrdaError) as error:
        asked(run, "dose=40", "hours=+1", follow=follow)
    assert str(error.value) == (
        "dose: blocked, so no what-if can be answered: the unmeasured severity drives both dose and y: dose <- "
        "severity -> y; measure severity and add it to the features: then dose may move"
    )


def test_effects_follow_when_asked(finished):
    held, followed = (asked(finished, "age=25", follow=follow).answers[0] for follow in (False, True))
    assert [one.name for one in held.changes] == ["age"]
    assert {one.name: one.follows for one in followed.changes}["age"] is False
    assert "one_draw" in asked(finished, "age=25", follow=True).cautions
    many = tuple((finished.result.split.train.row_ids + 1).tolist())
    total, direct = (
        np.mean([one.difference for one in asked(finished, "age=20", rows=many, follow=follow).answers])
        for follow in (True, False)
    )
    assert total > direct + 0.5  # fewer other diseases follow


def test_an_irrelevant_feature_is_not_unchanged_where_its_effect_is_a_cause(tmp_path):
    """x -> d -> y: with d held fixed x says nothing of y; let d follow, and it does."""
    chain = declare(
        name="chain",
        target="y",
        equations={"x": "normal(0, 1)", "d": "x + normal(0, 0.3)", "y": "2 * d + normal(0, 0.3)"},
    )
    pd.DataFrame(chain.draw_columns(100, seed=1)).to_csv(tmp_path / "rows.csv", index=False)
    causal = 'causal: {graph: {kind: edges, edges: ["x -> d", "d -> y"]}}'
    text = SPEC.format(recipe="certified", causal=causal, more=COMMITTEE, diagnostics="false")
    text = text.replace("  columns: {hours: {unit: hours/week, min: 0, max: 20}, dose: {unit: mg/day, min: 0}}\n", "")
    run = ran(tmp_path, text)
    held, followed = (asked(run, "x=+1", follow=follow).answers[0] for follow in (False, True))
    assert (held.basis, held.difference) == ("irrelevant", 0.0)
    assert followed.basis == "certificate"
    assert followed.difference == pytest.approx(2.0, abs=0.4)


def test_along_a_curve_a_row_from_elsewhere_keeps_its_draws(finished, tmp_path):
    """Each point is what the same question about this value alone is answered."""
    file = tmp_path / "new.csv"
    pd.DataFrame(COLUMNS).head(30).to_csv(file, index=False)
    how = {"file": file, "rows": (), "follow": True, "refits": 0}
    curve = what_if(finished.folder, Question(sweep="age=20:80:3", **how)).answers
    for point, age in enumerate((20, 50, 80)):
        alone = what_if(finished.folder, Question(changes=(f"age={age}",), **how)).answers
        assert [one.outcome for one in alone] == [one.outcome for one in curve[point::3]]


def test_what_follows_is_not_answered_for_a_label_that_no_training_row_has(tmp_path):
    rng = np.random.default_rng(1)
    a = rng.normal(size=60)
    grade = np.where(a + rng.normal(size=60) > 0, "low", "mid").astype(object)
    grade[55:] = "top"
    part, y = np.where(np.arange(60) < 50, "train", "test"), a + (grade == "low") + rng.normal(size=60)
    rows = pd.DataFrame({"a": a, "grade": grade, "y": y})
    rows.assign(part=part).to_csv(tmp_path / "rows.csv", index=False)
    causal = 'causal: {graph: {kind: edges, edges: ["{a, grade} -> y", "a -> grade"]}}'
    text = SPEC.format(recipe="paper", causal=causal, more="", diagnostics="false")
    split = "  split: {kind: column, column: part, test: [test]}\n"
    text = text.replace(
        "  columns: {hours: {unit: hours/week, min: 0, max: 20}, dose: {unit: mg/day, min: 0}}\n", split
    )
    run, new = ran(tmp_path, text), tmp_path / "new.csv"
    rows.iloc[[0, 58]].to_csv(new, index=False)
    question = Question(changes=("a=+1",), rows=(), file=new, refits=0)
    assert len(what_if(run.folder, question).answers) == 2
    with pytest.raises(CrdaError) as caught:
        what_if(run.folder, replace(question, follow=True))
    assert str(caught.value) == (
        "grade: no training row has 'top', as row 2 does: nobody knows what would follow; leave the row out, or ask "
        "without --follow: the other columns are then held fixed"
    )


def test_the_same_bytes_for_any_number_of_workers(finished):
    rows = tuple((finished.result.split.train.row_ids[:3] + 1).tolist())
    one, two = (asked(finished, "age=+3", rows=rows, refits=6, follow=True, jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_rows_from_elsewhere_need_their_outcome(finished, tmp_path):
    train = finished.result.split.train
    frame = pd.read_csv(finished.folder.parent / "rows.csv").iloc[train.row_ids[:5]]
    frame.to_csv(tmp_path / "new.csv", index=False)
    own = asked(finished, "hours=+1", rows=tuple((train.row_ids[:5] + 1).tolist()))
    found = what_if(finished.folder, Question(changes=("hours=+1",), file=tmp_path / "new.csv", refits=0))
    np.testing.assert_allclose([one.outcome for one in found.answers], [one.outcome for one in own.answers])
    assert [one.row for one in found.answers] == [1, 2, 3, 4, 5]
    assert (own.new_rows, found.new_rows) == (False, True)
    frame.drop(columns="y").to_csv(tmp_path / "blind.csv", index=False)
    with pytest.raises(CrdaError, match="there is no column 'y'"):
        what_if(finished.folder, Question(changes=("hours=+1",), file=tmp_path / "blind.csv", refits=0))


def test_a_file_may_name_rows_and_their_changes(finished, tmp_path):
    rows = (finished.result.split.train.row_ids[:3] + 1).tolist()
    file = tmp_path / "questions.csv"
    file.write_text(f"row,hours,ward\n{rows[0]},+1,\n{rows[1]},,south\n{rows[2]},7,north\n")
    found = what_if(finished.folder, Question(file=file, refits=0))
    assert [one.row for one in found.answers] == rows
    for at, changes in enumerate((["hours=+1"], ["ward=south"], ["hours=7", "ward=north"])):
        alone = asked(finished, *changes, rows=(rows[at],)).answers[0]
        assert found.answers[at].changes == alone.changes
        assert found.answers[at].outcome == pytest.approx(alone.outcome)
    file.write_text(f"row,hours,dose\n{rows[0]},many,\n{rows[1]},,40\n999,1,\n")
    with pytest.raises(CrdaError) as error:
        what_if(finished.folder, Question(changes=("agee=3",), file=file, refits=0))
    assert [one.code for one in error.value.complaints] == ["unknown-column", "not-a-number", "blocked"]


def test_rows_that_are_not_the_runs_are_named_with_the_range(finished):
    tested = int(finished.result.split.test.row_ids[0]) + 1
    with pytest.raises(CrdaError) as error:
        asked(finished, "hours=+1", "hour=3", rows=(tested, 4000))
    hint = "128 of the rows 1 to 160 of rows.csv were trained on, see rows.csv; a row that was not can be asked with"
    assert str(error.value).splitlines() == [
        f"--row: row {tested} is not among the run's training rows; {hint} --rows FILE",
        f"--row: row 4000 is not among the run's training rows; {hint} --rows FILE",
        "hour: the run has no feature 'hour'; did you mean 'hours'?",
        "3 problems",
    ]


def test_without_a_graph_the_search_is_named_and_nothing_follows(tmp_path):
    run = made(tmp_path, recipe="distilled", causal="", more=", teacher: {kind: crossfit, folds: 3}")
    free = [one.name for one in run.result.certificate.features if one.status == "cause"]
    assert "hours" in free
    found = asked(run, "hours=+1")
    assert found.answers[0].basis == "search"
    assert found.cautions == ("no_graph",)
    with pytest.raises(GraphError, match="no graph was declared, so nobody knows what follows"):
        asked(run, "hours=+1", follow=True)
    effects = average_effects(run.folder)
    assert effects.found == ()
    assert set(effects.left.values()) == {"no graph was declared, and tests that find no tie certify no cause"}


def test_a_graph_that_the_rows_contradict_is_told_or_refused(finished, tmp_path):
    run, row = by.copy_of(finished.folder, tmp_path), first_row(finished)
    record = by.read(run)
    record["falsification"] |= {"outcome": "falsified", "on_falsified": "warn", "sentence": "The data contradict it."}
    by.write(run, record)
    assert "graph_contradicted" in what_if(run, Question(changes=("hours=+1",), rows=(row,), refits=0)).cautions
    record["falsification"]["on_falsified"] = "abstain"
    by.write(run, record)
    with pytest.raises(GraphError, match="The data contradict it"):
        what_if(run, Question(changes=("hours=+1",), rows=(row,), refits=0))


def test_a_run_whose_teacher_a_search_chose_has_no_interval(finished, tmp_path):
    run, row = by.copy_of(finished.folder, tmp_path), first_row(finished)
    record = by.read(run)
    record["teacher"]["families"][0]["name"] = "another"
    record["teacher"]["families"][0]["weight"] = 0.1
    by.write(run, record)
    found = what_if(run, Question(changes=("hours=+1",), rows=(row,), refits=20))
    assert found.answers[0].interval is None
    assert "searched_teacher" in found.cautions


def test_a_graph_in_a_file_is_read_from_there_and_must_be_the_runs(tmp_path):
    dag = tmp_path / "ward.txt"
    dag.write_text("; ".join(["dag { severity [latent]", "tag", *EDGES, "}"]))
    causal = "causal: {graph: {kind: dagitty, path: ward.txt, latent: [severity], unrelated: [tag]}}"
    run = made(tmp_path, causal=causal)
    found = asked(run, "age=25", follow=True)
    assert next(one.name for one in found.answers[0].changes) == "age"
    dag.write_text("; ".join(["dag { severity [latent]", "tag", *EDGES[1:], "}"]))
    with pytest.raises(GraphError, match=r"the graph in 'ward\.txt' is not the one of this run"):
        asked(run, "age=25", follow=True)
    dag.unlink()
    with pytest.raises(GraphError, match=r"the graph's file 'ward\.txt' is not at hand; say where with --base"):
        asked(run, "age=25", follow=True)
    assert asked(run, "age=25").answers  # nothing follows, so nobody needs the file


def test_effects_are_those_of_the_record_and_verify_makes_them_again(finished, verify, tmp_path):
    found = average_effects(finished.folder)
    told = record_of(finished)["diagnostics"]["effects"]
    assert [one["mean"] for one in told] == [one.mean for one in found.found]
    assert {one.name for one in found.found} == {"age", "comorbidities", "hours", "ward"}
    assert {name: bool(why) for name, why in found.left.items()} == {"dose": True, "cost": False, "tag": False}
    hours = next(one for one in found.found if one.name == "hours")
    assert hours.mean == pytest.approx(3.0, abs=0.4)
    run = by.copy_of(finished.folder, tmp_path)
    record = by.read(run)
    record["diagnostics"]["effects"][0]["mean"] += 1.0
    by.write(run, record)
    code, said = verify(run, "--base", finished.folder.parent)
    assert code == 4
    assert "diagnostics.effects" in said


def test_followed_effects_name_what_follows(finished):
    direct, total = (
        {one.name: one for one in average_effects(finished.folder, follow=follow).found} for follow in (False, True)
    )
    assert total["age"].follows == ("comorbidities",)
    assert total["age"].mean < direct["age"].mean
    assert total["hours"].mean == direct["hours"].mean


def test_what_the_teacher_says_of_its_own_rows_is_kept_and_checked(finished, paper, verify, tmp_path):
    saved = taught_run(open_run(finished.folder))
    assert saved.teacher.in_sample.tobytes() == finished.result.teacher.in_sample.tobytes()
    assert not (paper.folder / "in_sample.json").exists()  # the ledger has it
    assert taught_run(open_run(paper.folder)).teacher.in_sample.tolist() == paper.result.teacher.in_sample.tolist()
    run = by.copy_of(finished.folder, tmp_path)
    numbers = json.loads((run / "in_sample.json").read_text())
    (run / "in_sample.json").write_text(json.dumps([numbers[0] + 1.0, *numbers[1:]]))
    by.reseal(run)
    code, said = verify(run, "--base", finished.folder.parent)
    assert code == 4
    assert "in_sample.json, row 1, 'prediction': is " in said


def test_answers_take_less_than_twice_the_predictions(finished):
    """With slack: a busy machine, and a table so small that the rest of the work counts as well."""
    saved = taught_run(open_run(finished.folder))
    x = np.repeat(saved.train.x, 80, axis=0)
    file = finished.folder.parent / "many.csv"
    numbers = np.repeat(saved.train.row_ids + 1, 80)
    file.write_text("row\n" + "".join(f"{number}\n" for number in numbers.tolist()))
    saved.teacher.predict(x)

    def quickest(work):
        times = []
        for _ in range(3):
            started = time.perf_counter()
            work()
            times.append(time.perf_counter() - started)
        return min(times)

    question = Question(changes=("hours=3",), file=file, refits=0)
    assert len(what_if(finished.folder, question).answers) == 10_240
    predicting = quickest(lambda: saved.teacher.predict(x))
    assert quickest(lambda: what_if(finished.folder, question)) < 2 * predicting + 2.0


# --- the command


@pytest.fixture
def row(finished):
    return first_row(finished)


def test_the_command_answers_one_row_in_sentences(finished, row, start):
    code, out, _ = start("whatif", finished.folder, "--row", row, "hours=+2", "--refits", "5")
    assert code == 0
    text = " ".join(out.split())
    assert f"Row {row}: y as observed" in text
    assert "Changed: hours" in text
    assert "(90 % interval +" in text
    assert "A hidden cause of y and hours would have to explain" in text
    assert "Nobody observes a difference" in text
    assert record_of(finished)["sha256"][:12] in text


def test_the_command_keeps_and_draws(finished, row, start, tmp_path):
    kept, table, picture = tmp_path / "a.json", tmp_path / "a.csv", tmp_path / "a.svg"
    sweep = ("--row", row, "--sweep", "hours=0:12:5", "--refits", "5")
    code, out, _ = start("whatif", finished.folder, *sweep, "--out", kept, "--plot", picture, "--json")
    assert code == 0
    content = json.loads(out)
    assert json.loads(kept.read_text()) == content
    assert (content["seal"], len(content["answers"])) == (record_of(finished)["sha256"], 5)
    assert "<svg" in picture.read_text()
    assert f"row {row} as observed" in picture.read_text()
    assert start("whatif", finished.folder, *sweep, "--out", table)[0] == 0
    lines = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [float(one["difference"]) for one in lines] == [one["difference"] for one in content["answers"]]
    assert {one["run_sha256"] for one in lines} == {content["seal"]}
    png = tmp_path / "a.png"
    assert start("whatif", finished.folder, *sweep, "--plot", png)[0] == 0
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["hours=+1"], "no row is named; name a training row with --row N", id="no-row"),
        pytest.param(["--row", "ROW"], "no change is asked for", id="no-change"),
        pytest.param(["--row", "ROW", "dose=40"], "dose: blocked, so no what-if can be answered", id="blocked"),
        pytest.param(["--row", "ROW", "dose=40mg"], "dose: blocked", id="blocked-before-its-unit"),
        pytest.param(["--row", "ROW", "hours=3 days"], "write it in hours/week", id="unit"),
        pytest.param(["--row", "ROW", "hours=30"], "above the maximum 20 hours/week", id="contract"),
        pytest.param(["--row", "ROW", "y=3"], "'y' is the outcome itself", id="target"),
        pytest.param(["--row", "ROW", "--rows", "x.csv", "hours=3"], "both --row and --rows are given", id="both"),
        pytest.param(["--row", "ROW", "hours=3", "--refits", "3"], "must be 0, or from 5 to 1000, got 3", id="refits"),
        pytest.param(
            ["--row", "ROW", "hours=3", "--level", "1"], "--level: must be at least 0.5 and below 1", id="level"
        ),
        pytest.param(["--row", "ROW", "hours=3", "--plot", "a.svg"], "there is no curve to draw", id="plot"),
        pytest.param(["--row", "ROW", "hours=3", "--out", "a.txt"], "use .json or .csv", id="ending"),
    ],
)
def test_what_cannot_be_asked_ends_with_code_2(finished, row, start, arguments, message):
    code, out, err = start("whatif", finished.folder, *(str(row) if one == "ROW" else one for one in arguments))
    assert (code, out) == (2, "")
    assert message in err


def test_values_beyond_the_data_are_answered_with_a_warning(finished, row, start):
    code, out, _ = start("whatif", finished.folder, "--row", row, "hours=19", "--refits", "0")
    assert code == 0
    assert "Extrapolation: no training row has such a value of hours" in " ".join(out.split())


def test_the_table_of_effects(finished, start):
    code, out, _ = start("effects", finished.folder)
    assert code == 0
    text = " ".join(out.split())
    assert "hours (hours/week)" in text
    assert "ward: south instead of north" in text or "ward: north instead of south" in text
    assert "dose: cannot be told, the unmeasured severity drives both dose and y" in text
    assert "tag: 0 by the graph, y does not depend on it" in text
    assert "It is not what the column predicts." in text
    code, out, _ = start("effects", finished.folder, "--json", "--follow")
    content = json.loads(out)
    assert (code, content["follow"]) == (0, True)
    assert {one["name"]: one["effect"] for one in content["others"]} == {"dose": None, "cost": 0.0, "tag": 0.0}


def test_the_page_shows_the_effects(finished):
    page = (finished.folder / "report.html").read_text()
    assert "What each certified cause does on average, by the teacher" in page
    assert "It is no statement about prediction." in page
    assert (finished.folder / "figures" / "average_effects.svg").is_file()

"""Run folders under attack: what is not ours stays, and nothing in a folder is believed before it is checked."""

import hashlib
import json
import re
import shutil
import sys
from contextlib import suppress

import numpy as np
import pytest
import tampering as by
from audit_runs import ran
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_ledger_recomputed import SPEC, TEACHER, houses

from crda_spec.audit.canonical import canonical_json, seal
from crda_spec.audit.compare import ABSENT, changes, said
from crda_spec.audit.export import croissant_json
from crda_spec.audit.files import page_of
from crda_spec.audit.models import load_model, model_files
from crda_spec.audit.open_run import open_run, readable, reopen
from crda_spec.audit.predicted import predicted_table, write_table
from crda_spec.audit.runfolder import check_destination, write_run
from crda_spec.cli.app import main
from crda_spec.errors import CrdaError, OutputError
from crda_spec.records import Column, Table
from crda_spec.regressors import REGRESSORS, Fitter


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs `crda-spec` in this process: its exit code, and all that it printed."""

    def start(*arguments):
        monkeypatch.setattr(sys, "argv", ["crda-spec", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return stopped.value.code or 0, printed.out + printed.err

    return start


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A finished run of boosted trees, and its data beside it."""
    folder = tmp_path_factory.mktemp("kept")
    houses(90).to_csv(folder / "houses.csv", index=False)
    regressor = "{kind: xgboost, n_estimators: 6, max_depth: 3, early_stopping: null}"
    # Intervals of one width: fitted ones cost a third of a second, thousands of times.
    flat = "\noutput: {intervals: {width: constant}}\n"
    return ran(folder, SPEC.format(regressor=regressor, teacher=TEACHER["crossfit"]) + flat).folder


# What is in the way of a writer.


def write_a_run(folder):
    check_destination(folder / "run")
    write_run(folder / "run", {"a": b"1"})


def write_a_file(folder):
    write_table(predicted_table(None, {"prediction": np.array([2.5])}), folder / "out.csv")


WRITERS = pytest.mark.parametrize("write", [write_a_run, write_a_file])


@WRITERS
@pytest.mark.parametrize(
    "name", [".partial-backup", ".partial-run-1", ".partial-run-12-0a1b2c", ".partial-x-12-0a1b2c.d", "run.partial-"]
)
def test_a_folder_of_the_user_survives_whatever_it_is_called(tmp_path, write, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.txt").write_text("mine")
    write(tmp_path)
    assert (tmp_path / name / "thesis.txt").read_text() == "mine"


@WRITERS
def test_a_file_of_the_user_survives_whatever_it_is_called(tmp_path, write):
    (tmp_path / ".partial-out.csv-12-0a1b2c").write_text("mine")
    write(tmp_path)
    assert (tmp_path / ".partial-out.csv-12-0a1b2c").read_text() == "mine"


@WRITERS
def test_what_a_killed_writer_left_is_swept_with_our_marker_or_empty_and_nothing_more_is_left(tmp_path, write):
    for name, marker in ((".partial-run-12-0a1b2c", ".crda-partial"), (".partial-run-12-ffffff", None)):
        (tmp_path / name).mkdir()
        if marker:
            (tmp_path / name / marker).touch()
            (tmp_path / name / "half").write_text("written")
    write(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


# One door: schema, seal and hashes before anything is loaded, whatever the command.


@pytest.fixture
def copy(kept, tmp_path):
    """A copy of the run, its data beside it."""
    shutil.copy(kept.parent / "houses.csv", tmp_path / "houses.csv")
    return by.copy_of(kept, tmp_path)


def arguments(name, run):
    data, new = run.parent / "houses.csv", run.parent / f"new.{'parquet' if name == 'generate' else 'html'}"
    more = {"predict": [data], "generate": [data, "--out", new], "report": ["--out", new], "diff": [run]}
    return [name, run, *more.get(name, [])]


COMMANDS = pytest.mark.parametrize("name", ["verify", "predict", "generate", "report", "diff"])


def without(*path):
    def change(run):
        record = by.read(run)
        inner = record
        for part in path[:-1]:
            inner = inner[part]
        del inner[path[-1]]
        by.write(run, record)

    return change


def added(run):
    record = by.read(run)
    record["data"]["more"] = 1
    by.write(run, record)


def named_outside(name):
    def change(run):
        (run.parent / "outside.txt").write_text("not of this run")
        record = by.read(run)
        record["files"][name] = hashlib.sha256(b"not of this run").hexdigest()
        record["sha256"] = by.sealed({k: v for k, v in record.items() if k not in ("sha256", "volatile")}, {})["sha256"]
        (run / "record.json").write_text(canonical_json(record))

    return change


UNREADABLE = {
    "a key deleted": (without("verdict", "p_value"), "verdict.p_value is missing"),
    "a section deleted": (without("certificate"), "certificate is missing"),
    "a list for a number": (by.told("verdict", "alpha", value=[]), "verdict.alpha is [], must be of type number or"),
    "text for a section": (by.told("test", value="x"), "test is 'x', must be of type object"),
    "a key too many": (added, "data.more is no key of a record"),
    "a negative count": (by.told("fits", value=-1), "fits is -1, must be of type integer from 0"),
    "an absolute path": (named_outside("/etc/hostname"), "files./etc/hostname leads out of the folder"),
    "a path upwards": (named_outside("../outside.txt"), "files.../outside.txt leads out of the folder"),
    "NaN": (lambda run: (run / "record.json").write_text('{"record_version": NaN}'), "NaN is no number of JSON"),
}


@COMMANDS
@pytest.mark.parametrize(("change", "said"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_malformed_record_is_refused_by_every_command_with_its_place(copy, command, name, change, said):
    change(copy)
    code, printed = command(*arguments(name, copy))
    assert code == 2
    assert f"{copy / 'record.json'}: " in printed
    assert said in printed
    assert not list(copy.parent.glob("new.*"))


def link_out(run):
    shutil.move(run / "model", run.parent / "elsewhere")
    (run / "model").symlink_to(run.parent / "elsewhere")


WRONG = {
    "an edited verdict": (by.clumsily("verdict", "decision", value="accepted"), "record.json: was changed after"),
    "another day": (by.clumsily("volatile", "created", value="2020-01-01"), "record.json: its volatile part"),
    "a changed teacher": (
        lambda run: (run / "teacher" / "1" / "estimator.json").write_text("{}"),
        "teacher/1/estimator.json: was changed after it was written: its hash differs",
    ),
    "a teacher more": (lambda run: shutil.copytree(run / "teacher" / "1", run / "teacher" / "9"), "teacher/9/"),
    "a model that is a link": (link_out, "model/model.json: is a link, not a file"),
    "an edited page": (lambda run: (run / "report.html").write_text("Believe me."), "report.html: was changed after"),
    "a lost ledger": (lambda run: (run / "ledger.parquet").unlink(), "ledger.parquet: is missing"),
}


@COMMANDS
@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_hash_or_seal_is_refused_by_every_command_before_anything_is_loaded(copy, command, name, change, said):
    change(copy)
    code, printed = command(*arguments(name, copy))
    assert code == 4
    assert said in printed
    assert not list(copy.parent.glob("new.*"))
    if name == "verify":
        assert "nothing is loaded from a folder whose seal or hashes are wrong" in printed


def test_report_does_not_write_over_a_page_that_was_changed(copy, command):
    (copy / "report.html").write_text("evidence")
    assert command("report", copy)[0] == 4
    assert (copy / "report.html").read_text() == "evidence"


def test_a_file_of_the_user_in_the_folder_hinders_nobody_but_verify(copy, command):
    (copy / "notes.txt").write_text("mine")
    assert command(*arguments("predict", copy))[0] == 0
    code, printed = command("verify", copy)
    assert (code, "notes.txt: was not written by the run" in printed) == (4, True)


# A folder whose hashes were mended: structure is checked before a library follows an index out of its arrays.


def tree(change):
    def tamper(run):
        for place in ("model", "teacher/1"):
            file = run / place / "estimator.json"
            model = json.loads(file.read_text())
            change(
                model["learner"]["gradient_booster"]["model"], model["learner"]["gradient_booster"]["model"]["trees"][0]
            )
            file.write_text(json.dumps(model))
        by.reseal(run)

    return tamper


TREES = {
    "a child far away": lambda _, tree: tree["left_children"].__setitem__(0, 10_000_000),
    "a loop": lambda _, tree: tree["left_children"].__setitem__(0, 0),
    "a feature that is not there": lambda _, tree: tree["split_indices"].__setitem__(0, 10_000_000),
    "a negative feature": lambda _, tree: tree["split_indices"].__setitem__(0, -5),
    "a short array": lambda _, tree: tree["split_conditions"].pop(),
    "rounds that are not there": lambda model, _: model["iteration_indptr"].__setitem__(-1, 10_000_000),
    "another output": lambda model, _: model["tree_info"].__setitem__(0, 10_000_000),
}


@pytest.mark.parametrize("change", TREES.values(), ids=TREES)
def test_a_resealed_tree_that_leads_nowhere_is_an_error_and_not_a_crash(copy, command, change):
    tree(change)(copy)
    for name, exit_code in (("verify", 4), ("predict", 2), ("generate", 2)):
        code, printed = command(*arguments(name, copy))
        assert code == exit_code, printed
        assert "estimator.json holds numbers that do not fit together" in printed


def fitted(kind, **settings):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3))
    features = tuple(Column(name=name, type="continuous") for name in "abc")
    rows = Table(features=features, target=Column(name="y", type="continuous"), row_ids=np.arange(60), x=x, y=x[:, 0])
    return Fitter(REGRESSORS[kind](**settings)).fit(rows, seed=1)


def bad_forest(model):
    state = model.estimator.estimators_[0].tree_.__getstate__()
    state["nodes"]["left_child"][0] = 10_000_000
    model.estimator.estimators_[0].tree_.__setstate__(state)


def bad_boosting(model):
    model.estimator._predictors[0][0].nodes["feature_idx"][0] = 10_000_000


def bad_support(model):
    model.estimator._dual_coef_ = model.estimator._dual_coef_[:, :1]


def bad_width(model):
    model.estimator.n_features_in_ = 2


SKOPS = {
    "random_forest": (bad_forest, {"n_estimators": 2}),
    "hist_gradient_boosting": (bad_boosting, {"max_iter": 2}),
    "svr": (bad_support, {}),
    "ridge": (bad_width, {}),
    "knn": (bad_width, {}),
}


@pytest.mark.parametrize(("kind", "change", "settings"), [(kind, *more) for kind, more in SKOPS.items()], ids=SKOPS)
def test_arrays_of_scikit_learn_that_lead_nowhere_are_an_error_and_not_a_crash(tmp_path, kind, change, settings):
    model = fitted(kind, **settings)
    rows = np.random.default_rng(4).normal(size=(20, 3))

    def saved(number):
        (tmp_path / number).mkdir()
        for name, data in model_files(model).items():
            (tmp_path / number / name).write_bytes(data)
        return tmp_path / number

    np.testing.assert_array_equal(load_model(saved("1")).predict(rows), model.predict(rows))
    change(model)
    with pytest.raises(OutputError, match=r"2/estimator\.skops holds numbers that do not fit together"):
        load_model(saved("2"))


def test_a_search_tree_is_built_again_from_its_rows(tmp_path):
    model = fitted("knn")
    rows = np.random.default_rng(4).normal(size=(20, 3))
    expected = model.predict(rows)
    state = list(model.estimator._tree.__getstate__())
    state[1] = state[1] + 10_000_000
    model.estimator._tree.__setstate__(tuple(state))
    for name, data in model_files(model).items():
        (tmp_path / name).write_bytes(data)
    np.testing.assert_array_equal(load_model(tmp_path).predict(rows), expected)


@pytest.mark.parametrize("change", ["float_feature_index", "split_index"])
def test_a_catboost_tree_that_leads_nowhere_is_an_error_and_not_a_crash(tmp_path, change):
    pytest.importorskip("catboost")
    files = model_files(fitted("catboost", iterations=2, depth=2))
    model = json.loads(files["estimator.json"])
    model["oblivious_trees"][0]["splits"][0][change] = 10_000_000
    for name, data in {**files, "estimator.json": json.dumps(model).encode()}.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(OutputError, match=r"estimator\.json holds numbers that do not fit together"):
        load_model(tmp_path)


# Two runs that differ may not look the same.


MANY = [f"v{number} -> price" for number in range(40)]
DIFFERENT = {
    "one edge more in a long list": (MANY, [*MANY[:20], "new -> price", *MANY[20:]], [("20", ABSENT, "new -> price")]),
    "one edge less": (MANY, MANY[1:], [("0", "v0 -> price", ABSENT)]),
    "one edge turned": (MANY, [*MANY[:-1], "price -> v39"], [("39", "v39 -> price", "price -> v39")]),
    "one number of many": ([0.5] * 40, [0.5] * 39 + [0.6], [("39", 0.5, 0.6)]),
}


@pytest.mark.parametrize(("then", "now", "found"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_inside_a_long_list_is_told_value_by_value(then, now, found):
    assert list(changes(then, now)) == found


@pytest.mark.parametrize(("then", "now"), [("a" * 90, "a" * 89 + "b"), (0.1234567, 0.1234568)])
def test_values_that_differ_are_not_cut_to_look_equal(then, now):
    assert len(set(said(then, now))) == 2


def test_an_arrow_that_one_run_lacks_is_shown_by_diff_and_on_the_page(kept, copy, command):
    by.arrow_removed(copy)
    assert "  edge age, care: 'care -> age' -> absent\n" in command("diff", kept, copy)[1]
    assert command("report", kept, copy, "--out", copy.parent / "page.html")[0] == 0
    page = (copy.parent / "page.html").read_text()
    assert "edge age, care</code></th><td>care -&gt; age</td><td>-</td>" in page


# Whoever changes one number of the record, and then the page, the crate and every hash with it.


def resealed_with_its_page(run, path, value):
    """Changes one leaf, and makes every file agree that is drawn from the record."""
    record = by.read(run)
    inner = record
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    if path[0] == "certificate" and path[1:]:
        (run / "certificate.json").write_text(canonical_json(record["certificate"]))
    with suppress(CrdaError), readable(run):  # a record that makes no page is found anyway
        by.write(run, record)
        (run / "croissant.json").write_text(croissant_json(record, (run / "augmented.parquet").read_bytes()))
        by.reseal(run)
        (run / "report.html").write_bytes(page_of(reopen(open_run(run))))
        by.reseal(run)


def leaves(value, path=()):
    if isinstance(value, dict | list) and value:
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, key))
    else:
        yield path, value


def another(value):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 + 0.01
    return "y" if value == "x" else "x"  # also in the place of null


# What needs fits, or what only the machine and the clock know. `verify` lists it.
TAKEN = re.compile(
    r"(verdict\.)?(fits|refits|reused_fits|stopped_fits)|verdict\.folds\.\d+\.(perturbed\.\d+|synthetic_rows)|versions\..*"
    r"|teacher\.(members|weights|families).*|diagnostics\.errors\..*|platform\..*|volatile\..*|spec\.origins\..*"
    r"|controls\.(fits|models\.\d+\.(kind|loss)|shift\.(plain|augmented))"
)


def attack(kept, command, folder, path, value):
    shutil.copy(kept.parent / "houses.csv", folder / "houses.csv")
    run = by.copy_of(kept, folder)
    resealed_with_its_page(run, path, another(value))
    return command("verify", run)


LEAVES = (
    "name",
    "streams.rule",
    "graph.source",
    "graph.sha256",
    "data.rows_read",
    "falsification.implied",
    "falsification.statements.0.p_value",
    "abduction.noise_mean",
    "movements.0.basis",
    "counterfactuals.clipped.rooms",
    "counterfactuals.policies.area",
    "counterfactuals.redrawn",
    "regressor.max_depth",
    "diagnostics.moved.0.median",
    "diagnostics.noise.distance",
    "controls.models.0.change_percent",
    "controls.graph_points",
    "test.level",
    "test.resamples",
    "verdict.folds.0.train_rows",
    "certificate.features.0.reason",
    "spec.origins.gate.alpha",
    "spec.origins.gate.folds",
)


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_of_the_record_that_needs_no_fit_is_found_though_every_page_and_hash_agrees(
    kept, command, tmp_path, leaf
):
    values = {".".join(map(str, path)): (path, value) for path, value in leaves(by.read(kept))}
    code, printed = attack(kept, command, tmp_path, *values[leaf])
    assert (code, "NOT VERIFIED" in printed) in ((4, True), (2, False)), printed


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])  # one for each core
def test_every_leaf_of_the_record_is_found_or_listed(kept, command, tmp_path, half):
    """One leaf of each kind: positions in lists count as one."""
    kinds = {re.sub(r"\.\d+", ".0", ".".join(map(str, path))): (path, value) for path, value in leaves(by.read(kept))}
    missed = []
    for at, (leaf, (path, value)) in list(enumerate(kinds.items()))[half::2]:
        if not TAKEN.fullmatch(leaf) and not leaf.startswith("files.") and leaf not in ("sha256", "spec.sha256"):
            (tmp_path / str(at)).mkdir()
            code, _ = attack(kept, command, tmp_path / str(at), path, value)
            shutil.rmtree(tmp_path / str(at))
            missed += [leaf] if code not in (2, 4) else []
    assert missed == []


# Anything may stand in a record: no command answers with a traceback.

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 100),
    st.just(10**9),
    st.floats(-1e9, 1e9),
    st.sampled_from(["", "x", "nan", "../x", "price", "area"]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(0, 3), max_size=3),
)


def changed(record, draw):
    """Deletes a key, or puts another value or number in its place, anywhere."""
    paths = [path for path, _ in nodes(record) if path]
    path = draw.draw(st.sampled_from(paths))
    inner = record
    for part in path[:-1]:
        inner = inner[part]
    how = draw.draw(st.sampled_from(["delete", "replace", "another"]))
    if how == "delete":
        del inner[path[-1]]
    else:
        inner[path[-1]] = draw.draw(VALUES) if how == "replace" else another(inner[path[-1]])


def nodes(value, path=()):
    yield path, value
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from nodes(one, (*path, key))


def resealed(record):
    if isinstance(record.get("volatile"), dict):
        record["volatile"]["sha256"] = seal(record["volatile"])
    record["sha256"] = seal(record, "volatile")


def fuzz(kept, tmp_path_factory, capsys, draw):
    """One changed record through one command, in this process."""
    run = tmp_path_factory.getbasetemp() / "fuzzed" / "run"
    if not run.exists():
        shutil.copytree(kept.parent, run.parent)
    record = by.read(kept)
    changed(record, draw)
    if draw.draw(st.booleans(), label="resealed"):
        resealed(record)
    (run / "record.json").write_text(canonical_json(record))
    name = draw.draw(st.sampled_from(["verify", "predict", "generate", "report"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["crda-spec", *map(str, arguments(name, run))])
        with pytest.raises(SystemExit) as stopped:
            main()
    capsys.readouterr()
    for new in run.parent.glob("new.*"):
        new.unlink()
    assert stopped.value.code in (0, 2, 4, 5, None)


FUZZ = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@settings(FUZZ, max_examples=20)
@given(draw=st.data())
def test_twenty_changed_records_end_in_no_traceback(kept, tmp_path_factory, capsys, draw):
    fuzz(kept, tmp_path_factory, capsys, draw)


@pytest.mark.slow
@settings(FUZZ, max_examples=2000)
@given(draw=st.data())
def test_two_thousand_changed_records_end_in_no_traceback(kept, tmp_path_factory, capsys, draw):
    fuzz(kept, tmp_path_factory, capsys, draw)

"""Real runs, from which the goldens come; and runs built by hand, so that every number in a sentence is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from crda_spec.audit.canonical import read_as
from crda_spec.counterfactual.basis import movements
from crda_spec.pipeline import run as run_plan
from crda_spec.records import (
    Abduction,
    Accuracy,
    Action,
    Certificate,
    ClassChange,
    Column,
    Cost,
    Counterfactuals,
    DataReport,
    DrawnGraph,
    Ensemble,
    EnsembleScore,
    Falsification,
    FeatureSensitivity,
    FeatureVerdict,
    FoldResult,
    HeldOut,
    JointEvidence,
    MovableFeatures,
    Quoted,
    Remedy,
    Repair,
    RunResult,
    Sensitivity,
    SourceLine,
    Split,
    Table,
    Teacher,
    TestedStatement,
    TestScore,
    Verdict,
)
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec


def feature_verdict(**told):
    """As a record has it: its facts are sentences."""
    return read_as(FeatureVerdict, told)


def certificate_of(**told):
    return read_as(Certificate, told)


HOSTILE = (
    "a<b>&\"c'",
    "two\nlines\x1b[31m",
    "long_" * 60,
    "rtl\u202edesrever",
    "[bold]markup[/bold] :smile:",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "ünïcödé 数量",
)


class MeanModel:
    """The final model of a run: the report never calls it."""

    def predict(self, x):
        return np.zeros(len(x))


COLUMNS = (
    Column(name="dose", type="continuous", unit="mg/day", minimum=0.0, maximum=80.0, inferred=False),
    Column(name="age", type="integer", unit="years", minimum=18.0, inferred=False),
    Column(name="ward", type="category", labels=("north", "south", "intensive")),
    Column(name="exercise", type="continuous", unit="h/week"),
    Column(name="smoker", type="boolean"),
)
TARGET = Column(name="recovery", type="continuous", unit="days")

DECLARED = DrawnGraph(
    nodes=(
        *((column.name, "feature") for column in COLUMNS),
        ("recovery", "target"),
        ("severity", "latent"),
        ("Z", "noise"),
    ),
    edges=(
        ("age", "exercise", "->"),
        ("exercise", "recovery", "->"),
        ("ward", "recovery", "->"),
        ("dose", "recovery", "->"),
        ("severity", "dose", "->"),
        ("severity", "recovery", "->"),
        ("age", "recovery", "->"),
        ("smoker", "exercise", "<->"),
        ("Z", "recovery", "->"),
    ),
)
VERDICTS = (
    feature_verdict(
        name="dose",
        status="blocked",
        reason="An unmeasured cause of recovery also drives it.",
        witness=("recovery", "<-", "severity", "->", "dose"),
        lines=(
            SourceLine(edge="severity -> recovery", where="causal.graph.edges.5"),
            SourceLine(edge="severity -> dose", where="causal.graph.edges.4"),
        ),
        blockers=("severity",),
    ),
    feature_verdict(
        name="age",
        status="cause",
        reason="A direct cause of recovery, separated from its noise by the rest.",
        held="The spec allows at most 3 features to move.",
        evidence={"pearson_r": 0.0213, "p_value": 0.61},
    ),
    feature_verdict(
        name="ward",
        status="cause",
        reason="A direct cause of recovery, separated from its noise by the rest.",
        lemma="ward is a parent of recovery.",
    ),
    feature_verdict(
        name="exercise",
        status="cause",
        reason="A direct cause of recovery, separated from its noise by the rest.",
        evidence={"pearson_r": 0.1312, "p_value": 0.0041},
        warning="The residual is correlated with it (r = 0.1312, p = 0.0041): the model may be misspecified.",
    ),
    feature_verdict(name="smoker", status="irrelevant", reason="Separated from recovery by the other features."),
)

REMEDIES = (
    Remedy(
        kind="measure",
        names=("severity",),
        frees=("dose",),
        sentence="With severity measured and among the features, dose could move.",
    ),
)
JOINT = JointEvidence(
    p_value=0.34,
    gain=-0.011,
    size_gain=0.004,
    rows=320,
    alpha=0.05,
    failed=False,
    pruned=(),
    sentence=(
        "Together, the 3 features that move do not help to predict the residual or its size in rows that were not "
        "fitted (p = 0.34)."
    ),
)
FALSIFICATION = Falsification(
    outcome="not_falsified",
    on_falsified="abstain",
    sentence="The training rows do not contradict the graph, and a graph with shuffled names would do worse.",
    test="partial correlation",
    alpha=0.05,
    rows=320,
    implied=4,
    statements=(
        TestedStatement(
            first="ward", second="age", given=(), statistic=2.1, p_value=0.0357, adjusted=0.1428, violated=False
        ),
        TestedStatement(
            first="smoker",
            second="dose",
            given=("age", "ward"),
            statistic=0.4,
            p_value=0.69,
            adjusted=1.0,
            violated=False,
        ),
    ),
    suggested=(),
    permutations=100,
    as_good=0.04,
    equivalent=0.0,
)
FALSIFIED = replace(
    FALSIFICATION,
    outcome="falsified",
    sentence="The training rows contradict the graph: smoker and dose are dependent where it says they are not.",
    statements=(
        replace(FALSIFICATION.statements[1], statistic=9.7, p_value=2e-20, adjusted=8e-20, violated=True),
        FALSIFICATION.statements[0],
    ),
    suggested=("smoker -> dose", "dose <-> smoker"),
    as_good=0.62,
    equivalent=0.05,
)
SENSITIVITY = Sensitivity(
    gain=0.6119,
    retention=1.0,
    features=(
        FeatureSensitivity(
            name="exercise",
            robustness=0.2209,
            limit=0.0626,
            moved_sd=2.31,
            remaining_sd=2.87,
            observed="age",
            observed_with_feature=0.112,
            observed_with_target=0.0831,
        ),
        FeatureSensitivity(
            name="smoker",
            robustness=0.0431,
            limit=0.00194,
            moved_sd=0.7,
            remaining_sd=0.48,
            observed="exercise",
            observed_with_feature=0.0612,
            observed_with_target=0.0977,
        ),
    ),
    sentence=(
        "A hidden cause of recovery and smoker would have to explain 4.3 % of what the features leave open in each "
        "before it uses up the gain that the gate measured. exercise, the measured feature that is tied most to both, "
        "explains 6.1 % of smoker and 9.8 % of recovery: one more like it, unmeasured, would be enough. "
        "Not measured: ward (a category has no distance to move by)."
    ),
)


def table(columns, target, rows, seed=7):
    rng = np.random.default_rng(seed)
    x = np.empty((rows, len(columns)))
    for position, column in enumerate(columns):
        if column.type == "category":
            x[:, position] = rng.integers(0, len(column.labels), rows)
        elif column.type == "boolean":
            x[:, position] = rng.integers(0, 2, rows)
        elif column.type == "integer":
            x[:, position] = rng.integers(18, 90, rows)
        else:
            x[:, position] = rng.gamma(4.0, 2.5, rows)
    return Table(features=columns, target=target, row_ids=np.arange(rows), x=x, y=rng.normal(20, 5, rows))


def folds(shift, amount=10):
    rng = np.random.default_rng(11)
    plain = rng.normal(9.0, 1.2, amount)
    augmented = plain * (1 + shift + rng.normal(0, 0.04, amount))
    return tuple(
        FoldResult(
            fold=index,
            train_rows=288,
            held_out_rows=32,
            plain=float(plain[index]),
            augmented=float(augmented[index]),
            perturbed=("ward", "exercise"),
            synthetic_rows=360,
        )
        for index in range(amount)
    )


def effect(results):
    plain, augmented = (sum(getattr(fold, arm) for fold in results) for arm in ("plain", "augmented"))
    return 100 * (augmented - plain) / plain


def counterfactuals(train, moved, policies, clipped, rows=400):
    rng = np.random.default_rng(3)
    source = rng.integers(0, len(train), rows)
    x = train.x[source].copy()
    for name in moved:
        position = train.names.index(name)
        column = train.features[position]
        x[:, position] = (
            x[:, position] * (1 + rng.uniform(-0.7, 0.7, rows))
            if column.is_numeric
            else rng.permutation(x[:, position])
        )
    noise, prediction = rng.normal(0, 2, rows), rng.normal(20, 4, rows)
    return Counterfactuals(
        action=Action(x=x, source=source, moved=moved, policies=policies, clipped=clipped),
        prediction=prediction,
        noise=noise,
        retention=1.0,
        y=prediction + noise,
        weight=1.0,
    )


def moving(builder):
    """The run that a builder builds, with what became of each of its features."""

    def built(*given):
        run = builder(*given)
        made = run.counterfactuals
        basis = "certificate" if made is None else made.basis
        names = run.certificate.perturbed if made is None else made.action.moved
        movable = MovableFeatures(basis=basis, names=names)
        return replace(run, movements=movements(run.certificate, movable, None if made is None else made.action))

    return built


@moving
def build_accepted() -> RunResult:
    rows = table(COLUMNS, TARGET, 400)
    train, test = rows.take(np.arange(320)), HeldOut(rows.take(np.arange(320, 400)))
    gate = folds(-0.08)
    return RunResult(
        data=DataReport(
            source="clinic.csv",
            sha256="9f" * 32,
            rows_read=412,
            rows_used=400,
            dropped_missing=9,
            dropped_duplicates=3,
            missing_cells=0,
            notes=("Column 'ward' was read as a category with 3 values.",),
        ),
        split=Split(train=train, test=test),
        certificate=certificate_of(
            basis="declared",
            graph=DECLARED,
            features=VERDICTS,
            assumes=("The declared graph is the true one.", "The noise is additive."),
            noise_side=("Z", "severity"),
            largest=("age", "ward", "exercise", "smoker"),
            lemma_holds=True,
            remedies=REMEDIES,
            joint=JOINT,
            method=(
                "The graph was held against residuals of rows that the model had not seen: a screen by correlation "
                "(alpha 0.05, size below 0.1)."
            ),
        ),
        falsification=FALSIFICATION,
        sensitivity=SENSITIVITY,
        teacher=Teacher(kind="single", members=(MeanModel(),), in_sample=np.zeros(320), out_of_fold=None),
        abduction=Abduction(noise=np.zeros(320), residuals="in_sample"),
        movements=(),
        counterfactuals=counterfactuals(
            train,
            ("ward", "exercise", "smoker"),
            {
                "smoker": "resampled from the training rows, as often as each value occurs",
                "ward": "resampled from the training rows, as often as each value occurs",
                "exercise": "standardised value times 1 + delta, delta uniform on [-0.7, 0.7], one delta a row",
            },
            {"exercise": 12},
        ),
        watched=np.arange(32),
        gate_fold=np.arange(320) % 10 + 1,
        verdict=Verdict(
            decision="accepted",
            reason="improved",
            sentence="The augmented model erred less in 10 of 10 folds; p is below alpha.",
            test="Wilcoxon signed-rank test, one-sided",
            metric="mse",
            alpha=0.05,
            p_value=0.0009765625,
            effect_percent=effect(gate),
            folds=gate,
            fits=21,
        ),
        score=TestScore(
            metric="mse",
            rows=80,
            plain=9.8761,
            augmented=8.8293,
            change_percent=-10.5993,
            interval_percent=(-18.0931, -2.9412),
            level=0.95,
            resamples=2000,
            accuracy=(
                Accuracy(forecaster="plain", rmse=3.1426, mae=2.4711, r2=0.6049),
                Accuracy(forecaster="augmented", rmse=2.9714, mae=2.3309, r2=0.6468),
                Accuracy(forecaster="mean", rmse=5.0113, mae=4.0021, r2=-0.0045),
            ),
        ),
        model=MeanModel(),
        settings={"kind": "xgboost", "n_estimators": 1000, "learning_rate": 0.02154},
        timings={"data": 0.02, "gate": 7.81, "score": 0.3},
        cost=Cost(fits=23, seconds=7.5),
    )


@moving
def build_rejected() -> RunResult:
    run = build_accepted()
    return replace(
        run,
        verdict=replace(
            run.verdict,
            decision="rejected",
            reason="not_significant",
            sentence="The augmented model erred less in 5 of 10 folds; p is not below alpha.",
            p_value=0.5771,
            effect_percent=effect(folds(-0.006)),
            folds=folds(-0.006),
        ),
        sensitivity=None,
        score=replace(run.score, augmented=10.0312, change_percent=1.5705, interval_percent=(-6.4142, 9.8213)),
    )


@moving
def build_abstained() -> RunResult:
    run = build_accepted()
    return replace(
        run,
        certificate=replace(
            run.certificate,
            features=tuple(
                feature_verdict(
                    name=column.name,
                    status="blocked",
                    reason="A descendant of recovery opens the path at recovery.",
                    witness=("Z", "->", "recovery", "<-", column.name),
                )
                for column in COLUMNS
            ),
            largest=(),
            lemma_holds=None,
            remedies=(),
            joint=None,
        ),
        falsification=None,
        sensitivity=None,
        counterfactuals=None,
        verdict=replace(
            run.verdict,
            decision="abstained",
            reason="no_perturbable_features",
            sentence="No feature may be perturbed: each is tied to the noise of recovery.",
            p_value=None,
            effect_percent=None,
            folds=(),
            fits=0,
        ),
        score=replace(run.score, augmented=None, change_percent=None, interval_percent=None),
    )


@moving
def build_falsified() -> RunResult:
    run = build_accepted()
    return replace(
        run,
        falsification=FALSIFIED,
        sensitivity=None,
        counterfactuals=None,
        verdict=replace(
            run.verdict,
            decision="abstained",
            reason="graph_falsified",
            sentence="The data contradict the declared graph, so nothing was augmented: mend the graph first.",
            p_value=None,
            effect_percent=None,
            folds=(),
            fits=0,
        ),
        score=replace(run.score, augmented=None, change_percent=None, interval_percent=None),
    )


@moving
def build_recertified() -> RunResult:
    run = build_accepted()
    change = ClassChange(name="dose", before="cause", after="blocked", by=("smoker -> dose",))
    repair = Repair(edges=("smoker -> dose",), explained=True, changed=(change,), lost=("dose",))
    certificate = replace(run.certificate, repair=repair)
    return replace(run, certificate=certificate, falsification=replace(FALSIFIED, on_falsified="recertify"))


@moving
def build_propagated() -> RunResult:
    """Exercise moves, and what it causes follows."""
    run = build_accepted()
    made = run.counterfactuals
    action = replace(
        made.action,
        moved=("exercise",),
        policies={"exercise": "jittered by 0.5 standard deviations"},
        propagated={"ward": Quoted(text="follows exercise: the uniform of its own row, logistic regression")},
    )
    return replace(
        run,
        certificate=replace(
            run.certificate,
            propagated=("ward",),
            joint=replace(
                JOINT,
                p_value=2e-9,
                failed=True,
                sentence=(
                    "The feature that moves helps to predict the residual or its size in rows that were not "
                    "fitted (p = 2e-09): carrying the noise over is doubtful."
                ),
            ),
        ),
        falsification=replace(FALSIFIED, on_falsified="warn", outcome="falsified"),
        counterfactuals=replace(made, action=action),
        sensitivity=replace(
            SENSITIVITY,
            features=SENSITIVITY.features[:1],
            sentence=(
                "A hidden cause of recovery and exercise would have to explain 22 % of what the features leave open in "
                "each before it uses up the gain that the gate measured."
            ),
        ),
    )


@moving
def build_supported() -> RunResult:
    """Rows without noise: dose moves too, which no certificate covers; some rows were redrawn, some dropped."""
    run = build_accepted()
    made = counterfactuals(
        run.split.train,
        ("dose", "exercise"),
        {"dose": "jittered by 0.5 standard deviations", "exercise": "jittered by 0.5 standard deviations"},
        {"dose": 3},
    )
    action = replace(made.action, redrawn=17, dropped=5, copied=2)
    none = np.zeros(len(made))
    carried = replace(made, action=action, retention=0.0, noise=none, y=made.prediction, basis="support", draw="none")
    return replace(run, counterfactuals=carried, sensitivity=None)


@moving
def build_discovered(features: int = 26) -> RunResult:
    columns = tuple(Column(name=f"band_{index:02d}", type="continuous") for index in range(features))
    target = Column(name="vegetation", type="continuous")
    rows = table(columns, target, 300)
    train = rows.take(np.arange(240))
    run = build_rejected()
    neighbours = ("band_03", "band_11")
    verdicts = tuple(
        feature_verdict(
            name=column.name,
            status="blocked" if column.name in neighbours else "cause",
            reason="PC links it to the noise."
            if column.name in neighbours
            else "No dependence on the residual was found.",
            held=""
            if column.name in (*neighbours, "band_01", "band_02")
            else "Other features are more tied to the target.",
            evidence={"pearson_r": 0.01, "p_value": 0.8},
        )
        for column in columns
    )
    return replace(
        run,
        falsification=None,
        data=replace(run.data, source="satellite.parquet", rows_read=312, rows_used=300, notes=()),
        score=replace(run.score, rows=60),
        split=Split(train=train, test=HeldOut(rows.take(np.arange(240, 300)))),
        certificate=certificate_of(
            basis="discovered",
            graph=DrawnGraph(
                nodes=(*((column.name, "feature") for column in columns), ("vegetation", "target"), ("Z", "noise")),
                edges=(
                    ("Z", "vegetation", "->"),
                    *((name, "Z", "--") for name in neighbours),
                    ("band_03", "band_04", "o-o"),
                    ("band_04", "band_05", "o-o"),
                    ("band_05", "band_03", "o-o"),
                    ("band_06", "vegetation", "o->"),
                    ("band_07", "vegetation", "<->"),
                ),
            ),
            features=verdicts,
            assumes=("The tests of the search did not err.",),
            joint=replace(
                JOINT,
                p_value=0.21,
                rows=240,
                pruned=("band_08",),
                sentence=(
                    "Together, the 2 features that move do not help to predict the residual or its size in rows that "
                    "were not fitted (p = 0.21)."
                ),
            ),
            notes=(
                "The search stopped before it tried sets of 3 columns: they would take more than the 5,000 tests left.",
            ),
            method=(
                "FCI (alpha 0.05, given up to 3 columns) and a screen by correlation (alpha 0.05, size below 0.1) "
                "looked for ties to residuals of rows that the model had not seen."
            ),
        ),
        counterfactuals=counterfactuals(
            train,
            ("band_01", "band_02"),
            {
                "band_01": "Gaussian noise, 0.3 standard deviations",
                "band_02": "Gaussian noise, 0.3 standard deviations",
            },
            {},
        ),
    )


@moving
def build_hostile() -> RunResult:
    columns = tuple(
        Column(name=name, type="category", labels=HOSTILE[:3], unit="<i>")
        if index == 0
        else Column(name=name, type="continuous", unit="m²")
        for index, name in enumerate(HOSTILE)
    )
    target = Column(name="<img src=x onerror=alert(2)>", type="continuous", unit='"')
    rows = table(columns, target, 60)
    train = rows.take(np.arange(48))
    run = build_accepted()
    return replace(
        run,
        data=replace(run.data, source="<b>evil</b>.csv", notes=("<script>note</script>",)),
        split=Split(train=train, test=HeldOut(rows.take(np.arange(48, 60)))),
        certificate=certificate_of(
            basis="declared",
            graph=DrawnGraph(
                nodes=(*((name, "feature") for name in HOSTILE), (target.name, "target"), ("Z", "noise")),
                edges=(*((name, target.name, "->") for name in HOSTILE), ("Z", target.name, "->")),
            ),
            features=tuple(
                feature_verdict(
                    name=name,
                    status="cause",
                    reason=f"{name} is a <direct> cause ({len(name)} letters).",
                    witness=(name, "->", target.name),
                    warning="<warn>",
                    lines=(SourceLine(edge=f"{name} -> y", where="<where>"),),
                    lemma="<lemma>",
                )
                for name in HOSTILE
            ),
            assumes=("<assume>",),
            method="<method>",
            notes=("<note> \u202e",),
            joint=replace(JOINT, sentence="<joint>", pruned=HOSTILE[:2]),
            noise_side=("Z", HOSTILE[0]),
            remedies=(Remedy(kind="measure", names=("<u>",), frees=(HOSTILE[0],), sentence="<remedy>"),),
        ),
        falsification=replace(
            FALSIFIED,
            sentence="<falsified>",
            test="<ci>",
            statements=(replace(FALSIFIED.statements[0], first=HOSTILE[0], second=HOSTILE[1], given=HOSTILE[2:4]),),
            suggested=(f"{HOSTILE[0]} -> {HOSTILE[3]}",),
        ),
        sensitivity=replace(
            SENSITIVITY,
            features=tuple(
                replace(feature, name=name, observed=HOSTILE[5])
                for feature, name in zip(SENSITIVITY.features, HOSTILE[1:3], strict=True)
            ),
            sentence="<sensitive> \u202e",
        ),
        counterfactuals=counterfactuals(
            train, HOSTILE[:2], {HOSTILE[0]: "<policy>", HOSTILE[1]: "\u202epolicy"}, {HOSTILE[0]: 1}, rows=60
        ),
        verdict=replace(run.verdict, sentence="<sentence> & more", test="<test>"),
    )


@moving
def build_ensemble() -> RunResult:
    """Five models of each arm; the augmentation gives less to five than to one."""
    run = build_accepted()
    one, other = run.score.plain, 8.8293
    scores = (
        ensemble_score("plain", (one,), one),
        ensemble_score("augmented", (other,), other, (-10.5993, (-18.0931, -2.9412)), (-10.5993, (-18.0931, -2.9412))),
        ensemble_score("plain", (one, 9.6, 10.4, 11.2, 10.1), 9.0113, (-8.7565, (-12.2, -5.1))),
        ensemble_score(
            "augmented", (other, 9.1, 9.3, 8.9, 9.02), 8.6112, (-12.8077, (-20.1, -5.2)), (-4.4400, (-9.9, 1.3))
        ),
    )
    found = Ensemble(models=5, arm="augmented", fits=8, scores=scores)
    return replace(run, ensemble=found, cost=run.cost + Cost(fits=8))


def ensemble_score(arm, singles, loss, change=(None, None), gain=(None, None)):
    return EnsembleScore(
        arm=arm,
        models=len(singles),
        loss=loss,
        singles=singles,
        change_percent=change[0],
        interval_percent=change[1],
        augmentation_percent=gain[0],
        augmentation_interval=gain[1],
    )


# --- real runs: one small table, one spec, and what each run changes of it

SPEC = """version: 1
recipe: paper
name: clinic
seed: 3
dataset:
  source: {kind: csv, path: clinic.csv}
  target: recovery
  columns:
    dose: {unit: mg/day, min: 0, max: 80}
    age: {unit: years, min: 18}
    exercise: {unit: h/week}
    recovery: {unit: days}
causal:
  graph:
    kind: edges
    edges:
      - "{ward, exercise, dose, age} -> recovery"
      - age -> exercise
      - "severity -> {dose, recovery}"
      - exercise <-> smoker
    latent: [severity]
regressor: {kind: knn}
gate: {kind: wilcoxon, folds: 8}
execution: {jobs: 1}
output: {plots: false, diagnostics: false}
"""
_LINEAR = "{kind: committee, members: [{kind: ridge}, {kind: linear}], folds: gate}"
_WRONG = "causal.graph={kind: edges, edges: ['{dose, ward, exercise, smoker, age} -> recovery']}"
_RESAMPLED = ("partition.max_features=null", "perturbation.default={kind: resample}")
_NO_NOISE = (f"counterfactual={{teacher: {_LINEAR}, retention: 0, factor: 2}}", "partition.basis=support")
RUNS = {
    "accepted": (f"counterfactual={{teacher: {_LINEAR}, retention: 0.2, factor: 4}}", *_RESAMPLED),
    "untested": ("dataset.split={kind: none}", f"counterfactual={{teacher: {_LINEAR}, retention: 0.2, factor: 4}}"),
    "rejected": ("regressor={kind: ridge}",),
    "abstained": ("partition.keep=[ward, exercise, smoker, age, dose]",),
    "falsified": (_WRONG, "falsify.on_falsified=abstain"),
    "recertified": (_WRONG,),
    "propagated": ("perturbation.propagate=true", "partition.max_features=null"),
    "supported": (*_NO_NOISE, *_RESAMPLED),
    "discovered": ("causal={discovery: {kind: fci}}", "regressor={kind: random_forest, n_estimators: 10}"),
    "ensemble": (
        *_NO_NOISE,
        *_RESAMPLED,
        # Smaller leaves know ties, which rounding decides, and so the processor.
        "regressor={kind: random_forest, n_estimators: 4, min_samples_leaf: 8}",
        "output.ensemble=3",
    ),
}

# Runs that end in one more way: looked at on the terminal alone.
_CERTIFIED = ("recipe=certified", f"counterfactual={{teacher: {_LINEAR}, factor: 2}}")
SCREENS = {
    **RUNS,
    "ungated": ("gate.enabled=false", *RUNS["accepted"]),
    "ordered": ("dataset.source.path=days.csv", "dataset.time=day", *RUNS["accepted"]),
    "tuned": (
        f"counterfactual={{teacher: {_LINEAR}, retention: 0}}",
        "partition.basis=support",
        *_RESAMPLED,
        "tune={kind: none, augmentation: {kind: tpe, trials: 2, folds: 2, knobs: {factor: [1, 3]}}}",
    ),
    "quantiles": (
        "goal=quantiles",
        "regressor={kind: hist_gradient_boosting, max_iter: 20, quantile: 0.9}",
        *_CERTIFIED,
    ),
    "controls": (*_CERTIFIED, "output.diagnostics=true"),
    "wide": (
        "dataset={source: {kind: csv, path: wide.csv}, target: recovery}",
        "causal={discovery: {kind: pc}}",
        "regressor={kind: random_forest, n_estimators: 5}",
    ),
}


def write_wide(folder, columns=100):
    """A hundred columns, of which three matter."""
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.normal(size=(80, columns)).round(3)).rename(columns="spectral_band_{:03d}".format)
    y = x.iloc[:, :3].sum(axis=1) + rng.normal(size=80)
    x.assign(recovery=y.round(3)).to_csv(folder / "wide.csv", index=False)


def write_clinic(folder, rows=200):
    """Severity, which nobody measured, drives the dose and the recovery; something hidden ties exercise and smoking."""
    rng = np.random.default_rng(7)
    severity, age = rng.normal(size=rows), rng.integers(18, 90, rows)
    ward = rng.choice(["north", "south", "intensive"], rows, p=[0.5, 0.3, 0.2])
    hidden = rng.normal(size=rows)
    exercise = np.maximum(0.1, 6 - 0.05 * age + 1.2 * rng.normal(size=rows) + 0.8 * hidden)
    smoker = np.where(hidden + rng.normal(size=rows) > 0.3, "true", "false")
    dose = np.clip(30 + 8 * severity + 6 * rng.normal(size=rows), 0, 80)
    stay = np.select([ward == "south", ward == "intensive"], [2.0, 6.0], 0.0)
    recovery = 20 + 0.15 * age - 1.5 * exercise + stay - 0.1 * dose + 2 * severity + 1.5 * rng.normal(size=rows)
    columns = {"dose": dose.round(1), "age": age, "ward": ward, "exercise": exercise.round(2), "smoker": smoker}
    clinic = pd.DataFrame({**columns, "recovery": recovery.round(2)})
    clinic.to_csv(folder / "clinic.csv", index=False)
    clinic.assign(day=pd.date_range("2021-01-01", periods=rows).astype(str)).to_csv(folder / "days.csv", index=False)


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    """A real run by its kind, computed once; its clock times are fixed, since they are printed."""
    folder = tmp_path_factory.mktemp("clinic")
    write_clinic(folder)
    write_wide(folder)
    (folder / "spec.yaml").write_text(SPEC)

    @cache
    def result(kind: str) -> RunResult:
        spec, draft = load_spec(folder / "spec.yaml", overrides=SCREENS[kind])
        return replace(run_plan(build_plan(spec, draft), progress=Silent()), timings={"gate": 7.8})

    return result


def untested(run: RunResult) -> RunResult:
    """The same run, had no row been held back."""
    ensemble = None if run.ensemble is None else replace(run.ensemble, fits=4, scores=())
    return replace(run, split=replace(run.split, test=None), score=None, controls=None, ensemble=ensemble)


BUILDERS = {
    "accepted": build_accepted,
    "untested": lambda: untested(build_accepted()),
    "rejected": build_rejected,
    "abstained": build_abstained,
    "falsified": build_falsified,
    "recertified": build_recertified,
    "propagated": build_propagated,
    "supported": build_supported,
    "discovered": build_discovered,
    "hostile": build_hostile,
    "ensemble": build_ensemble,
}


@pytest.fixture(params=[*RUNS, "hostile"])
def run_kind(request) -> str:
    return request.param


@pytest.fixture(params=[*SCREENS, "hostile"])
def screen_kind(request) -> str:
    return request.param


@pytest.fixture
def any_run(run_kind, real) -> RunResult:
    """Every real run, and one whose every text is hostile."""
    return build_hostile() if run_kind == "hostile" else real(run_kind)


@pytest.fixture
def build():
    """A run by its kind, whose every number is known: for tests of single sentences."""
    return lambda kind: BUILDERS[kind]()


@pytest.fixture
def build_untested(build):
    """The same without test rows."""
    return lambda kind: untested(build(kind))

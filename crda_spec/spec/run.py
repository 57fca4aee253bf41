"""`RunSpec`: all that a user may say, and those of its sections that belong to no family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, WithJsonSchema

from crda_spec.counterfactual.abduct import Additive, LocationScale, NoiseModel
from crda_spec.counterfactual.augmenters import AnyAugmenter
from crda_spec.counterfactual.basis import Invariance
from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.data.dataset import Dataset
from crda_spec.discovery import Discovery, Pc
from crda_spec.errors import Complaint, inconsistent, repeated, show
from crda_spec.gate.tests import AnyGate, Wilcoxon
from crda_spec.records import Sign, Signs, Table
from crda_spec.regressors import AnyRegressor, Xgboost
from crda_spec.regressors.intervals import Intervals
from crda_spec.regressors.teachers import AnyTeacher, SingleTeacher
from crda_spec.scm.falsify import Falsify
from crda_spec.spec.recipes import GoalName, RecipeName
from crda_spec.spec.tune import NoTuning, Tune
from crda_spec.strict import LIST, MAPPING, ColumnName, EdgeText, FilePath, Positive, Strict

_Latent = Annotated[
    Annotated[tuple[ColumnName, ...], Tag(LIST)]
    | Annotated[dict[ColumnName, Literal["additive"] | None], Tag(MAPPING)],
    Discriminator(lambda value: MAPPING if isinstance(value, dict) else LIST),
]


class _AnyGraph(Strict):
    """What every way to write a graph shares."""

    latent: _Latent = Field(
        (),
        description=(
            "Nodes of the graph that are not columns: nobody measured them. {blood_level: additive}: a function of "
            "its causes plus noise that adds to it, and the target is linear in it; {severity: null}: any other."
        ),
    )
    selected: tuple[ColumnName, ...] = Field(
        (), description="Nodes by which rows were chosen into the data; draw what decides them."
    )
    unrelated: tuple[ColumnName, ...] = Field(
        (),
        description=(
            "Features that are chance as far as you know: drawn without an arrow, and so irrelevant. A feature that "
            "stands neither here nor at an arrow counts as forgotten and stays fixed."
        ),
    )
    noise: tuple[ColumnName, ...] = Field(
        (), description="Features that the size of the target's noise depends on (heteroscedastic noise)."
    )


class EdgesGraph(_AnyGraph):
    """A graph written as arrows."""

    kind: Literal["edges"] = Field(description="The graph is written here, as arrows between columns.")
    edges: tuple[EdgeText, ...] = Field(
        min_length=1, description="The arrows: a -> b, a <-> b, a -> b -> c, {a b} -> c."
    )


class _WrittenGraph(_AnyGraph):
    """A graph in another tool's language, in a file or right here."""

    path: FilePath | None = Field(None, description="The graph's file; give either this or text.")
    text: str | None = Field(
        None, min_length=1, description="The graph itself, as a block of text (`text: |`); give either this or path."
    )


class DagittyGraph(_WrittenGraph):
    """A DAGitty model."""

    kind: Literal["dagitty"] = Field(description="DAGitty text, as dagitty.net shows it: dag { a -> b; u [latent] }.")


class DotGraph(_WrittenGraph):
    """A Graphviz digraph."""

    kind: Literal["dot"] = Field(description="A Graphviz digraph; dashed nodes are latent, dir=both is a <-> b.")


class GmlGraph(_WrittenGraph):
    """A GML graph."""

    kind: Literal["gml"] = Field(description="GML, as networkx and yEd write it; a node's latent 1 is unmeasured.")


class GraphmlGraph(_WrittenGraph):
    """A GraphML graph."""

    kind: Literal["graphml"] = Field(description="GraphML; a node's data key `latent` says that nobody measured it.")


Graph = Annotated[EdgesGraph | DagittyGraph | DotGraph | GmlGraph | GraphmlGraph, Field(discriminator="kind")]


class Causal(Strict):
    """Either a declared graph or a discovery method."""

    graph: Graph | None = Field(
        None, description="The causal graph as the expert knows it; give either this or discovery."
    )
    discovery: Discovery | None = Field(
        None, description="How to look for structure when no graph is known; give either this or graph."
    )

    monotone: dict[ColumnName, Sign] = Field(
        default_factory=dict,
        description=(
            "Signs that the expert knows: with all other features held fixed, more of the feature never lowers "
            "(increasing) or never raises (decreasing) the target. A committee seats each kind that can hold them once "
            "more, with signs; a student holds them with `regressor.monotone: true`."
        ),
    )

    @property
    def signs(self) -> Signs:
        """The declared signs, in the order in which they are written."""
        return tuple(self.monotone.items())

    def misfits(self, train: Table) -> Iterator[Complaint]:
        """Signs on labels, which have no order, now that types are known."""
        for column in train.features:
            if column.name in self.monotone and column.type == "category":
                what = f"{show(column.name)} is a category: its labels have no order, so it has no sign"
                hint = "leave the sign out, or give the feature as a number"
                yield Complaint(code="no-sign", path=f"causal.monotone.{column.name}", what=what, hint=hint)

    def complaints(self) -> Iterator[Complaint]:
        """Neither or both of graph and search, of a graph's file and text."""
        if (self.graph is None) == (self.discovery is None):
            what, hint = "both graph and discovery are given", "keep one; the graph, if an expert stands behind it"
            if self.graph is None:
                what, hint = "neither graph nor discovery is given", "write one, or remove `causal` to discover with PC"
            yield inconsistent("causal", what, hint)
        if self.graph is not None and not isinstance(self.graph, EdgesGraph):
            path, text = self.graph.path, self.graph.text
            if (path is None) == (text is None):
                what = "both path and text are given" if path else "neither path nor text is given"
                yield inconsistent("causal.graph", what, "give exactly one of them")


# `tune` is written out before the models see it, but an editor should not underline it.
_Retention = Annotated[
    float, WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"const": "tune"}]})
]


class Counterfactual(Strict):
    """Abduction and prediction: y' = teacher(x') + retention * noise."""

    teacher: AnyTeacher = Field(SingleTeacher(), description="What predicts the outcome of a changed row.")
    residuals: Literal["in_sample", "out_of_fold"] = Field(
        "in_sample",
        description="Which residual is a row's noise: of the fitted teacher, or of members that have not seen the row.",
    )
    noise: NoiseModel = Field(Additive(), description="How noise enters the outcome.")
    retention: _Retention = Field(
        1.0,
        ge=0,
        le=1,
        description=(
            "How much noise a new row carries: 1 all of it (the paper), 0 none. Above 0 only certified features may "
            "move; at 0 the teacher alone labels the new row, and any feature may. tune: found inside the folds, "
            "from 0, 0.25, 0.5, 0.75 and 1 (short for a search under tune.augmentation)."
        ),
    )
    residual_draw: Literal["own", "none", "matched"] = Field(
        "own",
        description=(
            "Whose noise a new row carries: its own source row's (the paper), nobody's (with retention: 0), or that of "
            "a training row with similar kept features (for simulation)."
        ),
    )
    factor: float = Field(1.25, gt=0, le=1000, description="New rows per training row.")
    max_rows: int | None = Field(
        None, ge=1, description="New rows at most, however many training rows there are; null: no limit."
    )
    weight: Positive = Field(1.0, le=1000, description="The weight of a new row in training; a real row weighs 1.")
    invariance: Invariance = Field(
        "off",
        description=(
            "Features that the declared graph calls irrelevant: no label depends on them, and every new row takes them "
            "from rows drawn at random. trusted: only if, on rows that they have not seen, the members of a hedged "
            "committee do about as well without these features. declared: on the graph's word. off: they are features "
            "like any other."
        ),
    )
    watch: Literal["real", "synthetic"] = Field(
        "real",
        description=(
            "What the augmented model's early stopping looks at. real: the rows that the plain model watches too, and "
            "neither trains on. synthetic: the new rows made from these, labelled by the teacher alone, so that every "
            "real row is trained on."
        ),
    )

    def complaints(self) -> Iterator[Complaint]:
        """Noise that is asked for and that no row could carry."""
        noise, retention, draw = self.noise, self.retention, self.residual_draw
        single, more = self.teacher.kind == "single", "remove it, or set counterfactual.retention above 0"
        if single and self.residuals == "out_of_fold":
            what = "a single teacher has seen every row, so it has no out_of_fold residuals"
            hint = "use residuals: in_sample, or teacher: {kind: crossfit}"
            yield inconsistent("counterfactual.residuals", what, hint)
        if isinstance(noise, LocationScale):
            if single:
                cannot = "so it cannot tell where the noise is large and where it is small"
                what = f"a single teacher has seen every row, {cannot}"
                yield inconsistent("counterfactual.noise", what, "use kind: additive, or teacher: {kind: crossfit}")
            if retention == 0:
                what = "no noise is carried (retention: 0), so its size would never be used"
                yield inconsistent("counterfactual.noise", what, more)
            low, high = noise.quantiles
            if low >= high:
                what = f"the first quantile must be below the second, but got [{low:g}, {high:g}]"
                yield inconsistent("counterfactual.noise.quantiles", what, "for example [0.01, 0.99]")
        if self.invariance == "trusted" and not getattr(self.teacher, "hedge", False):
            what = "nothing tests whether the graph's irrelevant features can be trusted: the teacher is not hedged"
            hint = "use teacher: {kind: committee, hedge: true}, or invariance: declared or off"
            yield inconsistent("counterfactual.invariance", what, hint)
        if draw == "none" and retention > 0:
            what = f"none carries no noise, but counterfactual.retention is {retention:g}"
            yield inconsistent("counterfactual.residual_draw", what, "set retention: 0, or draw own or matched noise")
        if draw == "matched" and retention == 0:
            what = "no noise is carried (retention: 0), so there is none to match"
            yield inconsistent("counterfactual.residual_draw", what, more)


class Execution(Strict):
    """How the work is spread. The results are the same bytes for every choice."""

    jobs: int | Literal["auto"] = Field(
        "auto", description="Worker processes for the gate's folds; auto takes one per core."
    )

    def complaints(self) -> Iterator[Complaint]:
        """A number of workers that is none."""
        if self.jobs != "auto" and self.jobs < 1:
            yield inconsistent("execution.jobs", f"must be at least 1, got {self.jobs}", "or write auto")


class Output(Strict):
    """Where a run is written, and what it hands over."""

    dir: FilePath = Field(
        "runs", description="The folder that receives <name>/<run id>/; a relative path starts where the command runs."
    )
    format: tuple[Literal["parquet", "csv"], ...] | None = Field(
        None,
        description=(
            "How the rows are written: augmented.parquet always, augmented.csv on request. null: both, if the CSV has "
            "at most 50 MB."
        ),
    )
    model: bool = Field(default=True, description="Whether the final model is saved.")
    ensemble: int = Field(
        1,
        ge=1,
        le=100,
        description=(
            "How many models are handed over, each with a seed of its own; from 2 on their mean is what predicts. The "
            "gate still judges one model against one, and the report tells what is the ensemble's gain."
        ),
    )
    diagnostics: bool = Field(
        default=True,
        description=(
            "Whether the report looks at the new rows: where they lie, how far they moved, what the teacher does "
            "there, and, by up to three fits more, where the gain comes from."
        ),
    )
    intervals: Intervals | None = Field(
        Intervals(), description="Prediction intervals from the rows that the gate holds out; null: none."
    )
    plots: bool = Field(default=True, description="Whether the report's figures are also saved as SVG and PNG files.")

    @property
    def writes_csv(self) -> bool | None:
        """Whether the rows are written as CSV, too; None: if they are few enough."""
        return None if self.format is None else "csv" in self.format

    def complaints(self) -> Iterator[Complaint]:
        """Rows that would not be written in the form that everything else reads."""
        if self.format is not None:
            yield from repeated("output.format", self.format)
            if "parquet" not in self.format:
                what, hint = "the rows are always written as Parquet, which verify and generate read", "add parquet"
                yield inconsistent("output.format", what, hint)


RunName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class RunSpec(Strict):
    """A CRDA run: what may be changed in a table, why that is allowed, and the test it has to pass."""

    version: Literal[1] = Field(description="The version of the spec language.")
    name: RunName = Field(description="A short name for the run; it names the output folder.")
    description: str = Field("", description="What the run is about, for the report.")
    meta: dict[str, Any] = Field(
        default_factory=dict, description="Anything you like (owner, ticket, ...): recorded, never interpreted."
    )
    recipe: RecipeName = Field(
        "distilled",
        description=(
            "Presets for what is left out. certified (the default with a declared graph): a committee labels, half of "
            "it knows the graph; causes move, irrelevant features move freely, blocked ones stay. distilled (the "
            "default without a graph): the same, but any feature moves on the data's support. paper: Algorithm 1 (one "
            "model labels, noise kept). augmenter (the default with the key `augmenter`): that method makes the rows."
        ),
    )
    goal: GoalName = Field(
        "mean",
        description=(
            "What the rows are for; picks what is left out. mean (the default): as the recipe says. quantiles (the "
            "default with `regressor.objective: quantile`): the student predicts a quantile, certified moves carry all "
            "noise, the gate judges by the pinball loss. simulate: new rows look like real ones, noise and all."
        ),
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="The one seed from which all randomness follows.")
    dataset: Dataset = Field(description="The rows, the columns' contracts and the split.")
    causal: Causal = Field(Causal(discovery=Pc()), description="The causal graph, or the method that looks for one.")
    falsify: Falsify = Field(Falsify(), description="Does the data refute the declared graph, and what then?")
    partition: Partition = Field(Partition(), description="Which of the allowed features are perturbed.")
    regressor: AnyRegressor = Field(Xgboost(), description="The base regressor g.")
    counterfactual: Counterfactual = Field(
        Counterfactual(), description="Who labels the new rows, which noise they carry, how many there are."
    )
    perturbation: Perturbation = Field(Perturbation(), description="What is done to a feature that may move.")
    augmenter: AnyAugmenter | None = Field(
        None,
        description=(
            "Another method that makes the new rows, for comparison: it faces the same gate, and nothing is claimed of "
            "its rows. null: our own, as partition, counterfactual and perturbation say."
        ),
    )
    gate: AnyGate = Field(Wilcoxon(), description="The test that the augmentation has to pass.")
    tune: Tune = Field(NoTuning(kind="none"), description="How the regressor's settings are found.")
    execution: Execution = Field(Execution(), description="How the work is spread; changes no number.")
    output: Output = Field(Output(), description="Where the run is written, and how many models it hands over.")

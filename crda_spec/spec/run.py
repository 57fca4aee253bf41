"""`RunSpec`: all that a user may say, and those of its sections that belong to no family."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, WithJsonSchema

from crda_spec.counterfactual.noise import Additive, NoiseModel
from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.data.dataset import Dataset
from crda_spec.discovery import Discovery, Pc
from crda_spec.gate.tests import AnyGate, Wilcoxon
from crda_spec.regressors import AnyRegressor, Xgboost
from crda_spec.regressors.teachers import AnyTeacher, SingleTeacher
from crda_spec.scm.falsify import Falsify
from crda_spec.spec.recipes import RecipeName
from crda_spec.spec.tune import NoTuning, Tune
from crda_spec.strict import ColumnName, EdgeText, FilePath, Positive, Strict


class _AnyGraph(Strict):
    """What every way to write a graph shares."""

    latent: tuple[ColumnName, ...] = Field(
        (), description="Nodes of the graph that are not columns: nobody measured them."
    )
    selected: tuple[ColumnName, ...] = Field(
        (),
        description="Nodes by which rows were chosen into the data: no certificate can be given then.",
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


Graph = Annotated[
    EdgesGraph | DagittyGraph | DotGraph | GmlGraph | GraphmlGraph,
    Field(discriminator="kind"),
]


class Causal(Strict):
    """Either a declared graph or a discovery method."""

    graph: Graph | None = Field(
        None, description="The causal graph as the expert knows it; give either this or discovery."
    )
    discovery: Discovery | None = Field(
        None, description="How to look for structure when no graph is known; give either this or graph."
    )


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
            "move; at 0 the new row is the teacher's word alone, and any feature may. tune: found inside the folds, "
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
    weight: Positive = Field(1.0, le=1000, description="The weight of a new row in training; a real row weighs 1.")
    watch: Literal["real", "synthetic"] = Field(
        "real",
        description=(
            "What the augmented model's early stopping looks at. real: the rows that the plain model watches too, and "
            "neither trains on. synthetic: the new rows made from these, labelled by the teacher alone, so that every "
            "real row is trained on."
        ),
    )


class Execution(Strict):
    """How the work is spread. The results are the same bytes for every choice."""

    jobs: int | Literal["auto"] = Field(
        "auto", description="Worker processes for the gate's folds; auto takes one per core."
    )


class Output(Strict):
    """Where a run is written, and what it hands over."""

    dir: FilePath = Field(
        "runs", description="The folder that receives <name>/<run id>/; a relative path starts where the command runs."
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
            "there, and, by one fit more, how much of the gain needs no new place."
        ),
    )
    plots: bool = Field(default=True, description="Whether the report's figures are also saved as SVG and PNG files.")


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
        "paper",
        description=(
            "Presets for what is left out. paper: Algorithm 1 (one model labels, noise kept). "
            "distilled: a committee labels, noise dropped, more rows; policy, factor and weight suit the regressor."
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
    gate: AnyGate = Field(Wilcoxon(), description="The test that the augmentation has to pass.")
    tune: Tune = Field(NoTuning(kind="none"), description="How the regressor's settings are found.")
    execution: Execution = Field(Execution(), description="How the work is spread; changes no number.")
    output: Output = Field(Output(), description="Where the run is written, and how many models it hands over.")

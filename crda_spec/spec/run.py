"""`RunSpec`: all that a user may say; with it `execution` and `output`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.data.dataset import Dataset
from crda_spec.discovery import Pc
from crda_spec.gate.tests import AnyGate, Wilcoxon
from crda_spec.regressors import AnyRegressor, Xgboost
from crda_spec.scm.falsify import Falsify
from crda_spec.spec.causal import Causal
from crda_spec.spec.counterfactual import Counterfactual
from crda_spec.spec.recipes import RecipeName
from crda_spec.spec.tune import NoTuning, Tune
from crda_spec.strict import FilePath, Strict


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

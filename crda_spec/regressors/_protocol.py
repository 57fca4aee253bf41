"""The family's contract.

A member only knows numbers: features encoded and standardised, target standardised. What surrounds it (encoding,
imputation, scaling, early-stopping rows, threads, timing) is the same for all and lives in `fit.py`.

Ours are pydantic models, `BaseRegressor`. A plugin may be any frozen dataclass or pydantic model that follows
`Regressor`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from pydantic import BaseModel, Field, PrivateAttr

from crda_spec.records import Array, Predictor, Signs
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.strict import Strict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """What a member trains on, encoded and scaled."""

    x: Array  # (n, p)
    y: Array  # (n,) mean 0, standard deviation 1 on the real training rows
    weight: Array | None  # (n,) mean 1 over the real training rows, or None when all rows weigh 1
    validation_x: Array | None  # real rows set aside for early stopping; None when it is not used
    validation_y: Array | None
    validation_weight: Array | None = None  # of the rows set aside, or None when they all weigh the same
    # (p,) +1: a prediction may not fall when the column grows; -1: nor rise; 0: either. None: nothing is asked.
    signs: tuple[int, ...] | None = None
    looks: int = 1  # how often in one pass over the rows a model that learns in passes looks at those set aside


class EarlyStopping(Strict):
    """Stop when rows that training does not see stop improving; the same real rows in both arms of a comparison."""

    rounds: int = Field(20, ge=1, description="Stop after this many rounds (or epochs) without improvement.")
    validation: float = Field(
        0.1, gt=0, le=0.5, description="The part of the real training rows that training does not see."
    )
    refit: bool = Field(
        True,  # noqa: FBT003 - a default
        description=(
            "Train once more on all rows, those set aside included, for as many rounds (or epochs) as were best. "
            "A model that is stopped by synthetic rows has trained on all real rows already and is not trained again. "
            "Left out: false in recipe paper, true in the others."
        ),
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these values, each as likely."""

    values: tuple[Any, ...]

    def at(self, u: float) -> Any:  # noqa: ANN401 - a setting may be anything
        """The value at the quantile u in [0, 1)."""
        return self.values[int(u * len(self.values))]


@dataclass(frozen=True, slots=True)
class LogUniform:
    """A number whose logarithm is uniform between those of low and high."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at the quantile u in [0, 1)."""
        return self.low * math.exp(u * math.log(self.high / self.low))


Space = Mapping[str, Choice | LogUniform]


def log_points(low: float, high: float, points: int) -> Choice:
    """`points` values from 10^low to 10^high, evenly spaced in the exponent."""
    step = (high - low) / (points - 1)
    return Choice(tuple(10.0 ** (low + position * step) for position in range(points)))


Objective = Literal["mean", "quantile"]
OBJECTIVE = "What the plain and the augmented model predict: the mean of the target, or one quantile of it."
QUANTILE = "Which quantile `objective: quantile` predicts, between 0 and 1."
MONOTONE = "Whether the plain and the augmented model hold the signs that `causal.monotone` declares."
Estimator = Predictor  # of a trained member: encoded rows (m, p) in, standardised predictions (m,) out


class Regressor(Protocol):
    """A kind of model with its settings: a frozen dataclass or pydantic model whose fields are the settings."""

    @property
    def kind(self) -> str:
        """Its name in records."""

    @property
    def stopping(self) -> EarlyStopping | None:
        """The early-stopping rule, or None."""

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Trains on the design. The same design and seed give the same model, bit for bit, on one thread."""


@runtime_checkable
class Refits(Protocol):
    """A regressor that stops early and can train again for as long as it did."""

    def refit(self, stopped: Any, design: Design, *, seed: int) -> Estimator:  # noqa: ANN401 - what its `train` returned
        """Trains on all rows, for as many rounds as `stopped` has; nothing is watched."""


class BaseRegressor(Strict):
    """A regressor of the spec: its fields are the settings, its class variables say what kind of model it is."""

    space: ClassVar[Space] = {}  # what tuning searches; empty: nothing
    seedless: ClassVar[bool] = False  # fitted twice on the same rows, it is the same model
    takes_weights: ClassVar[bool] = True  # whether a row, real or synthetic, can weigh less or more
    holds_signs: ClassVar[bool] = False  # whether it obeys `Design.signs`; then it has a field `monotone`
    # Whether it can predict a quantile; then it has the fields `objective` and `quantile`.
    learns_quantiles: ClassVar[bool] = False
    grows_trees: ClassVar[bool] = False  # its predictions are steps; recipes treat it accordingly
    # Types of the fitted estimator that may be read back from a run folder, beside those that skops trusts by itself.
    saved_types: ClassVar[tuple[str, ...]] = ()

    kind: str
    _signs: Signs = PrivateAttr(default=())

    @property
    def signs(self) -> Signs:
        """The declared signs that its models hold."""
        return self._signs

    def with_signs(self, signs: Signs) -> Self:
        """The same, once the signs are known; they change nothing unless it says `monotone: true`."""
        if not signs or not getattr(self, "monotone", False):
            return self
        signed = self.model_copy()
        signed._signs = signs  # noqa: SLF001 - our own copy
        return signed

    @property
    def stopping(self) -> EarlyStopping | None:
        """The early-stopping rule, or None."""
        rule: EarlyStopping | None = getattr(self, "early_stopping", None)
        return rule

    @property
    def quantile_level(self) -> float | None:
        """The quantile that it predicts; None: the mean."""
        return getattr(self, "quantile", None) if getattr(self, "objective", "mean") == "quantile" else None

    @property
    def own_metric(self) -> Metric:
        """By what its predictions are judged where nobody says otherwise."""
        return MSE if self.quantile_level is None else Metric(kind="pinball", quantile=self.quantile_level)

    def open_space(self) -> Space:
        """What tuning searches: the space without the settings that the user wrote."""
        return {name: prior for name, prior in self.space.items() if name not in self.model_fields_set}

    def load(self) -> Regressor:
        """What trains: the model itself, or the class of another package that it names."""
        return self

    def placed(self, path: str) -> Self:
        """The same, once its place in the spec is known, for whoever complains only when it trains."""
        return self

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Trains on the design. The same design and seed give the same model, bit for bit, on one thread."""
        raise NotImplementedError


def label_of(regressor: Regressor) -> str:
    """What a reader calls it: its kind, or the class that it names."""
    named: str | None = getattr(regressor, "class_", None)
    return regressor.kind if named is None else named.rpartition(".")[2]


def refits(regressor: Regressor) -> bool:
    """Whether a model that real rows have stopped is trained again on all rows: asked for, and it can."""
    return regressor.stopping is not None and regressor.stopping.refit and isinstance(regressor, Refits)


def recorded_settings(regressor: Regressor) -> dict[str, Any]:
    """Kind and settings, as a run records them."""
    # A plugin that is no pydantic model is a dataclass.
    settings = regressor.model_dump() if isinstance(regressor, BaseModel) else asdict(regressor)  # type: ignore[call-overload]
    if "early_stopping" in settings or "stopping" in settings:
        settings.pop("early_stopping", None)
        rule = regressor.stopping
        # In the order of canonical JSON, so that a page drawn from the record is the same.
        settings["stopping"] = (
            None if rule is None else {"refit": refits(regressor), **rule.model_dump(exclude={"refit"})}
        )
    return {"kind": regressor.kind, **settings}

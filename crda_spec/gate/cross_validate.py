"""The gate's folds: everything is refitted inside each, both arms are scored on the same rows that neither has seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented, refit_with_seed
from crda_spec.data.folds import Division, folds, scoring_folds
from crda_spec.errors import Complaint, DataError
from crda_spec.execution import Clock, in_order, workers_for
from crda_spec.gate.tests import Gate
from crda_spec.records import Array, Cost, FoldResult, FoldRows, IntArray, Predictor, Study, Table, read_only, spread_of
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.teachers import FoldContext, FoldModelCache
from crda_spec.regressors.teachers.fold_models import FoldFitting, FoldLayout, fold_context, time_context
from crda_spec.seeds import integer_seed, stream

Advance = Callable[[], None]


def divisions(gate: Gate, train: Table, *, seed: int) -> tuple[Division, ...]:
    """The gate's divisions of the rows. The first has the run's own seed: its models serve the teacher too.

    A gate that is off has no need of its folds; a teacher that shares them makes do with as many as there can be.
    """
    count = gate.folds if gate.enabled else min(gate.folds, _units(train))
    if train.times is not None:
        parts = scoring_folds(train, gate.folds, rng=stream(seed, "gate-folds"))
        seen, held = zip(*parts, strict=True)
        return (Division(seed=seed, held=held, seen=seen),)
    each = enumerate(division_seeds(seed, gate.divisions))
    draw = partial(folds, len(train), count, groups=train.groups)
    return tuple(Division(number=number, seed=own, held=draw(rng=stream(own, "gate-folds"))) for number, own in each)


def _units(rows: Table) -> int:
    """What a fold holds out whole: rows, or groups of them."""
    return len(rows) if rows.groups is None else len(np.unique(rows.groups))


def division_seeds(seed: int, count: int) -> list[int]:
    """The seed of each division; the first has the run's own."""
    return [seed, *(integer_seed(seed, "gate-repeat", number) for number in range(1, count))]


def fold_models(procedure: Procedure, train: Table, division: Division) -> FoldModelCache:
    """The models that serve teacher and gate, none fitted yet; nothing is shared where rows have an order in time."""
    layout = fold_layout(procedure, len(division.held), in_time=division.in_time)
    return FoldModelCache(
        FoldFitting(regressor=procedure.regressor, fill=procedure.fill, layout=layout, train=train, division=division)
    )


def fit_fold_models(
    procedure: Procedure, train: Table, division: Division, clock: Clock, *, jobs: int | None
) -> FoldModelCache:
    """The plain model on all rows and every model that leaves out one fold, where these serve teacher and gate."""
    models = fold_models(procedure, train, division)
    if models.shares:
        plain, *singles = models.first
        with clock.stage("fit the fold models", 1 + len(singles)) as step:
            models.fit([plain], advance=step.advance)
            workers = workers_for(jobs, len(singles), models.cost.seconds * len(singles))
            models.fit(singles, workers=workers, advance=step.advance)
    return models


def fold_layout(procedure: Procedure, count: int, *, in_time: bool) -> FoldLayout:
    """Which models serve teacher and gate in so many folds."""
    return FoldLayout(learners=() if in_time else procedure.shared_learners, folds=count, in_blocks=procedure.in_blocks)


def tuning_context(gate: Gate, rows: Table, *, seed: int) -> FoldContext:
    """On rows that are spent on searches: folds as the gate's, drawn among these rows."""
    if rows.times is not None:
        return time_context(gate.folds, None, seed=seed)
    held = folds(len(rows), min(gate.folds, _units(rows)), rng=stream(seed, "tuning-gate-folds"), groups=rows.groups)
    return fold_context(Division(held=held, seed=seed), len(rows), None)


def fold_numbers(rows: int, held: Sequence[IntArray]) -> IntArray:
    """(rows,) the fold, counted from 1, that holds each row out; 0 where none does."""
    numbers = np.zeros(rows, dtype=np.int64)
    for number, positions in enumerate(held, start=1):
        numbers[positions] = number
    return read_only(numbers)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldOutcome:
    """One fold's result, what each of its rows cost, and what the fold itself did."""

    result: FoldResult
    held: IntArray  # (m,) positions of its held-out rows
    plain: Array  # (m,) their losses, whatever they weigh
    augmented: Array  # (m,)
    errors: Array = field(
        default_factory=lambda: np.empty((0, 2, 0))
    )  # (restarts, 2, m) y - prediction, by start and arm
    models: tuple[Predictor, ...] = ()  # the first start's plain and augmented one, where somebody asks for them
    cost: Cost = field(default_factory=Cost)
    studies: tuple[Study, ...] = ()  # the searches inside this fold

    @property
    def rows(self) -> FoldRows:
        """The losses alone."""
        return FoldRows(held=self.held, plain=self.plain, augmented=self.augmented)


def run_fold(
    procedure: Procedure,
    train: Table,
    division: Division,
    number: int,
    *,
    metric: Metric = MSE,
    restarts: int = 1,
    context: FoldContext | None = None,
    keep: bool = False,
) -> FoldOutcome:
    """Fold `number` (from 1): the whole procedure on the other rows, both arms scored on the held-out ones.

    A row's loss is its mean over the restarts, a fold's loss the mean loss of its rows, weighted where rows are.

    context: models that have not seen this fold (`FoldModelCache` proves it); None: none is at hand.
    restarts: how often both arms are trained and the synthetic rows are drawn (`refit_with_seed`).
    keep: whether the first start's models are handed back.
    A metric that needs the errors of other folds is computed when these are there (`rescored`).
    """
    held = division.held[number - 1]
    seen = np.setdiff1d(np.arange(len(train)), held) if division.seen is None else division.seen[number - 1]
    if context is None:
        context = fold_context(division, len(train), number, in_blocks=procedure.in_blocks)
    rows = train.take(seen)
    x, y, weights = train.x[held], train.y[held], None if train.weights is None else train.weights[held]
    metric = MSE if metric.needs_errors else metric
    losses, errors, models = np.zeros((2, len(held))), list[Array](), tuple[Predictor, ...]()
    first = arms = augment(procedure, rows, context)
    for start, own in enumerate(restart_seeds(division.seed, restarts)):
        if start:
            arms = refit_with_seed(first, rows, own)
        plain_errors = y - arms.plain.predict(x)
        augmented = fit_augmented(arms, rows)
        augmented_errors = plain_errors if augmented is arms.plain else y - augmented.predict(x)
        errors.append(np.stack([plain_errors, augmented_errors]))
        models = models or ((arms.plain, augmented) if keep else ())
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            losses += np.stack([metric.row_losses(plain_errors), metric.row_losses(augmented_errors)])
    losses /= restarts
    spread = spread_of(y, weights)
    plain_loss, augmented_loss = (metric.mean(arm, spread=spread, weights=weights) for arm in losses)
    _check_finite(number, plain_loss, augmented_loss)
    made = first.counterfactuals
    result = FoldResult(
        fold=number,
        train_rows=len(rows),
        held_out_rows=len(held),
        plain=plain_loss,
        augmented=augmented_loss,
        perturbed=first.moved,
        synthetic_rows=0 if made is None else len(made),
    )
    return FoldOutcome(
        result=result,
        held=held,
        plain=losses[0],
        augmented=losses[1],
        errors=np.stack(errors),
        models=models,
        cost=first.fitter.cost,
        studies=first.studies,
    )


def rescored(outcomes: Sequence[FoldOutcome], train: Table, metric: Metric) -> list[FoldOutcome]:
    """The folds of one division, their losses by a metric that needs the errors of the other folds.

    The models behind those errors have seen the row that is scored, in both arms alike; the model that predicts it has
    not. Of several starts, each is scored by its own errors.
    """
    rows = np.concatenate([outcome.held for outcome in outcomes])
    fold = np.repeat(np.arange(len(outcomes)), [len(outcome.held) for outcome in outcomes])
    errors = np.concatenate([outcome.errors for outcome in outcomes], axis=2)  # (restarts, 2, n)
    weights = None if train.weights is None else train.weights[rows]
    losses = np.mean([[metric.cross_losses(arm, fold, weights) for arm in start] for start in errors], axis=0)
    found = []
    for number, outcome in enumerate(outcomes):
        plain, augmented = losses[:, fold == number]
        own = None if weights is None else weights[fold == number]
        means = [metric.mean(arm, spread=1.0, weights=own) for arm in (plain, augmented)]
        result = replace(outcome.result, plain=means[0], augmented=means[1])
        found.append(replace(outcome, plain=plain, augmented=augmented, result=result))
    return found


def restart_seeds(seed: int, restarts: int) -> list[int]:
    """The seed of each start; the first has that of its division of the rows."""
    return [seed, *(integer_seed(seed, "gate-start", number) for number in range(1, restarts))]


def _check_finite(number: int, plain: float, augmented: float) -> None:
    """A model that has run away is an error that says so, not a verdict."""
    for arm, value in (("plain", plain), ("augmented", augmented)):
        if not math.isfinite(value):
            what = f"the {arm} model of gate fold {number} predicts numbers that are not finite"
            hint = "lower its learning rate, or look for extreme values in the data"
            raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))


@dataclass(slots=True)
class CrossValidation:
    """The folds that were run, in declared order, and what they cost."""

    outcomes: list[FoldOutcome] = field(default_factory=list)
    shared: Cost = field(default_factory=Cost)  # of models that these folds share, as far as they needed them

    @property
    def cost(self) -> Cost:
        """Of all folds, each model counted once."""
        return sum((outcome.cost for outcome in self.outcomes), self.shared)

    @property
    def studies(self) -> tuple[Study, ...]:
        """The searches, fold by fold."""
        return tuple(study for outcome in self.outcomes for study in outcome.studies)

    @property
    def rows(self) -> tuple[FoldRows, ...]:
        """What the held-out rows cost, fold by fold."""
        return tuple(outcome.rows for outcome in self.outcomes)

    def is_certain(self, gate: Gate) -> bool:
        """Whether the folds that are left could no longer make the gate accept."""
        left = 1.0 - gate.min_effect / 100.0
        difference = np.array([one.result.augmented - left * one.result.plain for one in self.outcomes])
        return gate.is_certain(difference, gate.all_folds - len(self.outcomes))

    def run(
        self,
        procedure: Procedure,
        train: Table,
        models: FoldModelCache,
        gate: Gate,
        *,
        workers: int = 1,
        advance: Advance = lambda: None,
        keep: bool = False,
    ) -> None:
        """Adds the folds of one division; models without two folds are fitted when the first of the two needs them.

        One worker goes fold by fold and keeps at most about half of these models at a time. Several workers fit all of
        them first: waiting for each other at every fold would cost more than the memory. Where the gate may stop
        early, they take as many folds at a time as there are workers, and what was fitted beyond the fold at which the
        verdict became certain is forgotten, so that the number of workers changes nothing that is recorded.
        """
        division, numbers = models.fitting.division, list(models.numbers)
        size = workers if workers == 1 or getattr(gate, "stop", "never") == "certain" else len(numbers)
        used = list[int]()
        for block in (numbers[start : start + size] for start in range(0, len(numbers), size)):
            if self.is_certain(gate):
                break
            models.fit(models.missing(block), workers=workers, advance=advance)
            fold = partial(run_fold, procedure, train, division, metric=gate.loss, restarts=gate.restarts, keep=keep)
            tasks = (partial(fold, number, context=models.inside(number)) for number in block)
            for number, outcome in zip(block, in_order(tasks, workers=workers), strict=True):
                advance()
                if self.is_certain(gate):
                    continue  # was computed beside the fold that made it certain
                place = division.number * len(numbers) + number  # counted over all divisions, its searches too
                studies = tuple(replace(study, fold=place) for study in outcome.studies)
                self.outcomes.append(replace(outcome, result=replace(outcome.result, fold=place), studies=studies))
                used.append(number)
            models.release(range(block[-1] + 1, len(numbers) + 1))
        if gate.loss.needs_errors:
            self.outcomes[-len(used) :] = rescored(self.outcomes[-len(used) :], train, gate.loss)
        self.shared += models.cost_of(models.layout.pairs(used))


def cross_validate(
    procedure: Procedure,
    train: Table,
    parts: Sequence[Division],
    models: FoldModelCache,
    gate: Gate,
    *,
    workers: int = 1,
    advance: Advance = lambda: None,
    keep: bool = False,
) -> CrossValidation:
    """Every fold of every division. models: of the first, whose fold models serve the teacher on all rows too.

    keep: whether the folds of the first division hand back their models.
    """
    done = CrossValidation()
    for division in parts:
        own = models if division.number == 0 else fold_models(procedure, train, division)
        kept = keep and division.number == 0
        done.run(procedure, train, own, gate, workers=workers, advance=advance, keep=kept)
    return done

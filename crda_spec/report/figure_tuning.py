"""A search as a picture: the loss of every trial in its order, and the best so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from crda_spec.records import Study, Trial
from crda_spec.report.figures import KIND, RULES, label, line, round_numbers
from crda_spec.report.svg import coordinate, drawing, element, text_width, words
from crda_spec.report.words.numbers import change, count, number, percent, setting

_Scale = Callable[[float], float]
_WIDTH, _HEIGHT = 620.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, 604.0, 44.0, 250.0
_WORST = 4.0  # times the spread of the better half: what lies above is drawn at the edge


def trials_plot(study: Study) -> str:
    """Each trial at its loss: filled when whole, hollow when it was pruned.

    Where there is a plain model, the loss is told as a change against it on the same inner folds: a pruned trial has
    not seen all of them, and some folds are harder than others.
    """
    losses = {trial.number: _height(trial, study) for trial in study.trials if trial.state != "failed"}
    plain = 0.0 if study.plain else None
    low, high = _ends([*losses.values(), *([plain] if plain is not None else [])])
    most = max(len(study.trials), 2)

    def across(trial: float) -> float:
        return _LEFT + (trial - 1) / (most - 1) * (_RIGHT - _LEFT)

    def up(loss: float) -> float:
        return _BOTTOM - (min(loss, high) - low) / (high - low) * (_BOTTOM - _TOP)

    parts = [line(_LEFT, up(value), _RIGHT, up(value), "grid") for value in round_numbers(low, high)]
    parts += [
        label(setting(value), _LEFT - 8, up(value) + 4, anchor="end", look="soft") for value in round_numbers(low, high)
    ]
    parts += [label(setting(one), across(one), _BOTTOM + 18, look="soft") for one in _whole_numbers(len(study.trials))]
    if plain is not None:
        parts.append(line(_LEFT, up(plain), _RIGHT, up(plain), "worse"))
    parts.append(_best_so_far(study, losses, across, up))
    parts += [_dot(trial, losses[trial.number], across, up, study) for trial in study.trials if trial.number in losses]
    parts += _key(has_plain=plain is not None)
    axis = f"inner {study.metric.upper()}" + (", change against the plain model in %" if study.plain else "")
    parts.append(label(f"{axis}; trial by trial", (_LEFT + _RIGHT) / 2, _HEIGHT - 8, look="soft"))
    pruned = sum(trial.state == "pruned" for trial in study.trials)
    told = f"{count(len(study.trials), 'trial')}, {pruned} pruned; the best is trial {study.best}"
    return drawing(
        parts,
        kind=KIND,
        size=(_WIDTH, _HEIGHT),
        title=f"Inner {study.metric.upper()} of each trial",
        description=f"{told}, with {number(study.mean_loss(study.chosen.losses))}",
        rules=RULES,
    )


def _height(trial: Trial, study: Study) -> float:
    loss = study.mean_loss(trial.losses)
    if not study.plain:
        return loss
    moved = change(study.mean_loss(study.plain[: len(trial.losses)]), loss)
    return math.inf if moved is None else moved


def _ends(losses: Sequence[float]) -> tuple[float, float]:
    """The part of the scale that is drawn: bad trials must not flatten the good ones."""
    known = sorted(loss for loss in losses if math.isfinite(loss)) or [0.0, 1.0]
    low, middle = known[0], known[len(known) // 2]
    high = min(known[-1], low + _WORST * (middle - low)) if middle > low else known[-1]
    pad = 0.06 * (high - low) or max(1e-9, abs(high) * 0.1)
    return low - pad, high + pad


def _whole_numbers(trials: int) -> list[float]:
    return [value for value in round_numbers(1, max(trials, 2), most=9) if value == int(value)]


def _best_so_far(study: Study, losses: dict[int, float], across: _Scale, up: _Scale) -> str:
    """A staircase that only goes down."""
    best, steps = math.inf, ""
    for trial in study.trials:
        if trial.state == "complete" and losses[trial.number] < best:
            best = losses[trial.number]
        if math.isfinite(best):
            x, y = coordinate(across(trial.number)), coordinate(up(best))
            steps += f"H{x}V{y}" if steps else f"M{x} {y}"
    return element("path", class_="outline", d=steps or "M0 0")


def _dot(trial: Trial, loss: float, across: _Scale, up: _Scale, study: Study) -> str:
    chosen = trial.number == study.best
    values = ", ".join(f"{name} {said(value)}" for name, value in sorted(trial.values.items()))
    height = f"{percent(loss)} %" if study.plain else number(loss)
    told = element("title", words(f"trial {trial.number} ({trial.state}): {height}; {values}"))
    look = "outline" if trial.state == "pruned" else "mean" if chosen else "better"
    return element(
        "g", told + element("circle", class_=look, cx=across(trial.number), cy=up(loss), r=7 if chosen else 4)
    )


def said(value: object) -> str:
    """A value that was tried, as short as it can be said."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return setting(value)


def _key(*, has_plain: bool) -> list[str]:
    shown = [("better", "a whole trial"), ("outline", "pruned"), ("mean", "chosen")]
    parts, x = [], _LEFT
    for look, words_ in shown:
        parts += [
            element("circle", class_=look, cx=x, cy=18, r=5 if look == "mean" else 4),
            label(words_, x + 11, 22, anchor="start", look="soft"),
        ]
        x += 34 + text_width(words_, 12.0)
    parts.append(element("path", class_="outline", d=f"M{coordinate(x - 4)} 18H{coordinate(x + 18)}"))
    parts.append(label("best so far", x + 24, 22, anchor="start", look="soft"))
    x += 48 + text_width("best so far", 12.0)
    if has_plain:
        parts += [line(x - 4, 18, x + 18, 18, "worse"), label("plain model", x + 24, 22, anchor="start", look="soft")]
    return parts

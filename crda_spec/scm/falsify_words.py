"""What the test of the graph found, as a sentence for somebody without causal training. Nothing here decides."""

from __future__ import annotations

from collections.abc import Sequence

from crda_spec.records import FalsificationOutcome, OnFalsified, TestedStatement
from crda_spec.scm.reasons import listed


def verdict_sentence(
    outcome: FalsificationOutcome,
    tested: Sequence[TestedStatement],
    suggested: Sequence[str],
    on_falsified: OnFalsified,
    *,
    explained: bool,
    unasked: int,
    shuffled_pass: float | None,
) -> str:
    """What was found, and what to do next.

    tested: the worst first.  explained: whether the graph with the suggested edges, tested again, is not contradicted.
    unasked: how many more statements the first test calls violated, about which no second opinion was asked.
    shuffled_pass: the share of graphs with shuffled names that pass the same test, of those that imply something else;
    None when there was no such graph, or none was asked for.
    """
    if outcome == "falsified":
        return " ".join(
            (
                _contradiction([each for each in tested if each.violated], len(tested), unasked),
                _advice(suggested, on_falsified, explained=explained),
            )
        )
    if not tested:
        return (
            "The graph implies no independence that these columns could contradict, so the data cannot test it: "
            "it stands on the expert's word alone."
        )
    no = (
        "do not contradict the one statement"
        if len(tested) == 1
        else f"contradict none of the {len(tested)} statements"
    )
    if outcome == "not_informative":
        why = (
            "every shuffling of the names implies the same"
            if shuffled_pass is None
            else f"so do {shuffled_pass:.0%} of the graphs with shuffled names that claim something else"
        )
        return (
            f"The data {no} that the graph implies, but {why}: "
            "this test tells little about the graph, and more rows might."
        )
    passing = ""
    if shuffled_pass is not None:
        passing = f", and {_share(shuffled_pass)} of the graphs with shuffled names that claim something else pass"
    return f"The data {no} that the graph implies{passing}."


def _contradiction(violated: Sequence[TestedStatement], tested: int, unasked: int) -> str:
    worst = violated[0]
    held = f" given {listed(worst.given)}" if worst.given else ""
    many = f"at least {len(violated)}" if unasked else f"{len(violated)}"
    more = "" if len(violated) == 1 and not unasked else f"; in all, {many} of {_statements(tested)} fail"
    return (
        f"The data contradict the graph: {worst.first} and {worst.second} should be independent{held}, but are not "
        f"(adjusted p {_shown(worst.adjusted)}){more}."
    )


def _advice(suggested: Sequence[str], on_falsified: OnFalsified, *, explained: bool) -> str:
    edges = listed([f"`{edge}`" for edge in suggested], most=len(suggested))
    next_step = {
        "abstain": "correct the graph, or set falsify.on_falsified to warn",
        "warn": "correct the graph before you trust what it certifies",
        "ignore": "correct the graph before you trust what it certifies",
    }[on_falsified]
    if explained:
        return f"With {edges} added, the data no longer contradict it: {next_step}."
    these = "this edge" if len(suggested) == 1 else "these edges"
    return f"Even with {edges} added, the data contradict it, so more than {these} is wrong: {next_step}."


def _statements(count: int) -> str:
    return "one statement" if count == 1 else f"{count} statements"


def _share(share: float) -> str:
    return "none" if share == 0 else f"{share:.0%}"


def _shown(p: float) -> str:
    return "< 1e-12" if p < 1e-12 else f"= {p:.2g}"


__all__ = ["verdict_sentence"]

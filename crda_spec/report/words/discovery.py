"""What a search for a graph found, noted and guessed, and how the data were asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crda_spec.records import Inquiry, Note, Quoted, Screened, ScreenUsed, SearchTie, SearchUsed

if TYPE_CHECKING:  # checking a spec needs some of these words, and must not wait for the searches
    from crda_spec.discovery.findings import Findings, GraphDraft, Guess

BY_ORDER = (
    "no graph fits all links without a new common effect, so open directions follow the order of the columns, "
    "the target last"
)
GUESSES: Mapping[Guess, str] = {
    "open": "the data leave its direction open",
    "conflict": "the data argue for both directions",
    "circle": "the arrows that were found run in a circle, and this one is part of it",
    "hidden_too": "a hidden common cause may tie the two as well",
    "hidden_instead": "a hidden common cause may tie the two instead, or as well",
    "open_or_hidden": "the data leave its direction open, and a hidden common cause may tie the two instead",
    "against_knowledge": "it contradicts what you told the search (tiers, required or forbidden edges, roots, leaves)",
    "selected": "its marks make sense only if rows were selected by an effect; the direction is a guess",
}
# By screen: what it measures, what its statistic is called, and whether the statistic's sign means something.
_SCREENS = {
    "pearson": ("correlation", "r", "+"),
    "spearman": ("rank correlation", "rank r", "+"),
    "distance": ("distance correlation", "distance correlation", ""),
    "hsic": ("kernel dependence", "HSIC", ""),
    "mutual_information": ("mutual information", "mutual information", ""),
}


_NOTES = {
    "budget": (
        "The search stopped before it tried sets of {depth} columns: they would take more than the {amount:,} tests "
        "allowed. Links that such sets would have cut are still there. Raise the budget, or tell the search what you "
        "know (tiers, forbidden edges), so that it has less to try."
    ),
    "budget_of_neighbours": "the search ran out of its budget of tests: links that it did not get to test stay",
    "budget_beyond": (
        "The search beyond direct neighbours stopped at its budget of {amount:,} tests: links that it would have cut "
        "are still there. Raise the budget, or lower max_depth."
    ),
    "directions_by_cutting_set": (
        "Comparing all separating sets would take more than the {amount:,} tests left, so directions were decided by "
        "the set that cut each link."
    ),
    "arrowheads_by_cutting_set": (
        "Comparing all separating sets would take more tests than were left, so arrowheads were decided by the set "
        "that cut each link."
    ),
    "conflict": "The data argue for both directions between {0} and {1}: do not rely on either.",
    "overruled": (
        "The data suggest that {0} is caused by both {1} and {2}; what you told the search rules that out, and was "
        "followed."
    ),
    "left_out": "GES left out columns that are constant or that others determine: {names}.",
    "methods_disagree": "The methods disagree on the direction between {0} and {1}.",
}


def note_sentence(note: Note | Quoted) -> str:
    """What a reader must know of a search."""
    if isinstance(note, Quoted):
        return note.text
    return _NOTES[note.code].format(*note.names, names=", ".join(note.names), amount=note.amount, depth=note.depth)


def search_notes(found: Findings) -> tuple[str, ...]:
    """All that a reader must know of a search of its own: the rows that it could use, and its notes."""
    rows = []
    if found.graph.tests == 0 and found.graph.alpha is not None and found.complete <= 3:
        rows.append(
            f"Only {found.complete} rows have no missing cell: nothing could be tested, so every link is still there."
        )
    elif found.complete < found.rows:
        rows.append(f"{found.rows - found.complete} of {found.rows} rows have a missing cell and were left out.")
    return (*rows, *map(note_sentence, found.graph.notes))


def guess_notes(draft: GraphDraft) -> tuple[str, ...]:
    """Every guess, and every arrow out of the target: `a -> y is a guess: the data leave its direction open`."""
    guesses = [(edge, draft.guess(edge)) for edge in draft.graph.edges]
    each = (f"{edge} is a guess: {GUESSES[guess]}" for edge, guess in guesses if guess)
    leaving = (
        f"{edge} leaves the target, so that nothing that causes the target may move: is {edge.head} known beforehand?"
        for edge in draft.graph.edges
        if edge.tail == draft.graph.target and edge.mark == "->"
    )
    return (*((BY_ORDER,) if draft.by_order else ()), *each, *leaving)


def inquiry_sentence(inquiry: Inquiry | Quoted | None) -> str:
    """How the data were asked: the search, the screen, and whose residuals; empty when they were not."""
    if inquiry is None or isinstance(inquiry, Quoted):
        return inquiry.text if inquiry else ""
    unseen = inquiry.screen.out_of_fold
    whose = "residuals of rows that the model had not seen" if unseen else "the model's own training residuals"
    screen = _screen_used(inquiry.screen)
    if not inquiry.searches:
        return f"The graph was held against {whose}: {screen}."
    searches = "; ".join(map(_search_used, inquiry.searches))
    searches = f"The majority of {searches}" if len(inquiry.searches) > 1 else searches
    return f"{searches} and {screen} looked for ties to {whose}."


def _search_used(search: SearchUsed) -> str:
    """`PC (alpha 0.05, given up to 3 columns)`."""
    settings = [] if search.alpha is None else [f"alpha {search.alpha:g}", f"given up to {search.max_depth} columns"]
    settings += ["nonlinear ties too"] if search.nonlinear else []
    settings += ["bound by what the expert knows"] if search.knowledge else []
    settings += [] if search.resamples is None else [f"on {search.resamples} resamples"]
    label = search.method.upper()
    return f"{label} ({', '.join(settings)})" if settings else label


def _screen_used(screen: ScreenUsed) -> str:
    """`a screen by correlation (alpha 0.05, size below 0.1)`."""
    below = "" if screen.threshold is None else f", size below {screen.threshold:g}"
    adjusted = "" if screen.adjustment == "none" else f", adjusted: {screen.adjustment}"
    return f"a screen by {_SCREENS[screen.screen][0]} (alpha {screen.alpha:g}{below}{adjusted})"


def screened_words(seen: Screened) -> str:
    """What search and screen hold against a feature, or that they hold nothing, and the screen's numbers."""
    if seen.tie is not None:
        tie = tie_words(seen.tie)
    elif seen.failure is not None:
        much = "significant" if seen.failure == "significant" else f"at least {seen.threshold:g}"
        tie = f"its {_SCREENS[seen.screen][0]} with the residual is {much}"
    else:
        tie = "no tie to the residual was found"
    return f"{tie} ({screen_numbers(seen)})"


def screen_numbers(seen: Screened) -> str:
    """`r = +0.12, p = 0.034`."""
    _, name, sign = _SCREENS[seen.screen]
    return f"{name} = {seen.statistic:{sign}.2f}, p = {seen.p_value:.2g}"


def tie_words(tie: SearchTie) -> str:
    """What a search holds against a feature."""
    match tie.kind:
        case "linked":
            return f"{tie.method.upper()} finds it directly tied to the residual"
        case "resampled":
            return f"{tie.method.upper()} ties it to the residual in {tie.share:.0%} of the resamples"
        case "hidden_cause":
            return f"for all that {tie.method.upper()} can tell, a hidden cause may tie it to {tie.target}"
        case "votes":
            first = "" if tie.first is None else tie_words(tie.first)
            return f"{tie.votes[0]} of {tie.votes[1]} methods tie it to the noise; the first: {first}"

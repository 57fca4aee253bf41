"""The five questions of `crda-spec init --ask`, in a terminal."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from crda_spec.cli.options import say
from crda_spec.errors import Complaint, CrdaError, OutputError

if TYPE_CHECKING:
    from crda_spec.interview import Answers, Interview, Question

_MOST = 60  # columns that are listed


def check_can_ask() -> None:
    """Questions need somebody to answer them."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        what = "there is no terminal to ask in"
        hint = (
            "write the answers into a file: --answers FILE.yaml, with keys causes, after, hidden, decided_by, chosen_by"
        )
        raise OutputError(Complaint(code="no-terminal", path="--ask", what=what, hint=hint))


def ask(interview: Interview) -> Answers:
    """The answers; Enter skips a question, which then claims nothing, and Ctrl-D skips all that are left."""
    from crda_spec.interview import TIES_NOTHING, Answers

    with suppress(ImportError):
        import readline  # noqa: F401 - gives `input` arrow keys and a history
    _introduce(interview)
    questions = interview.questions()
    answers = Answers()
    with suppress(EOFError):
        for number, question in enumerate(questions, start=1):
            say(f"\n{number}/{len(questions)}  {question.text}\n     {question.help}\n")
            answers = _answered(interview, question, answers)
        if any(one.code == TIES_NOTHING for one in interview.complaints(answers)):
            say(f"\nNo answer ties {interview.target} to anything. Once more:\n     {questions[0].text}\n")
            answers = _answered(interview, questions[0], answers)
    if any(one.code == TIES_NOTHING for one in interview.complaints(answers)):
        say(f"\nNo answer ties {interview.target} to anything, so no graph is written.\n")
        return Answers()
    say("\n")
    return answers


def _introduce(interview: Interview) -> None:
    names = ", ".join(interview.features[:_MOST])
    more = f" and {len(interview.features) - _MOST} more" if len(interview.features) > _MOST else ""
    say(f"Five questions about {interview.target} and its columns. Enter skips one, and then nothing is claimed.\n")
    say(f"Columns: {names}{more}\n")


def _answered(interview: Interview, question: Question, answers: Answers) -> Answers:
    """The answers with that to one more question: one line, or, of a mapping, lines up to an empty one."""
    from crda_spec.interview import TIES_NOTHING

    before, good = interview.complaints(answers), list[str]()
    while line := input("   > ").strip():
        try:
            more = answers.model_copy(update=interview.typed(question.key, [*good, line]))
            wrong = [one for one in interview.complaints(more) if one.code != TIES_NOTHING and one not in before]
        except CrdaError as error:
            wrong = list(error.complaints)
        if wrong:
            for one in wrong:
                say(f"     {one.what}; {one.hint}\n" if one.hint else f"     {one.what}\n")
            say("     Not taken. Write the line again, or press Enter to go on.\n")
            continue
        good.append(line)
        if not question.arrow:
            break
    return answers.model_copy(update=interview.typed(question.key, good)) if good else answers

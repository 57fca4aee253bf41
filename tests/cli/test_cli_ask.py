"""`crda-spec init --ask`: five questions, in a real terminal or from a file, and the graph that the answers draw."""

import json
import os
import pty
import select
import signal
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from crda_spec.errors import SpecError
from crda_spec.interview import Answers, Interview

SECONDS = 20  # that a command may be silent before its next word


def patients(rows=80):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(20, 85, rows), "bmi": rng.uniform(19, 38, rows).round(1)})
    frame["dose"], frame["pain"] = rng.uniform(10, 90, rows).round(1), rng.integers(0, 11, rows)
    frame["distance"] = rng.uniform(1, 30, rows).round(1)
    frame["seen"] = pd.date_range("2021-03-01", periods=rows, freq="13D").strftime("%Y-%m-%d")
    frame["sick_leave"] = rng.integers(0, 40, rows)
    frame["recovery"] = (90 - 0.3 * frame["age"] - frame["bmi"] + rng.normal(0, 4, rows)).round(2)
    return frame


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients().to_csv("patients.csv", index=False)
    return tmp_path


@pytest.fixture
def interview():
    return Interview.about(patients(), target="recovery")


class Terminal:
    """A command in a pseudo-terminal: what it prints is read until the awaited text, and then an answer is typed."""

    def __init__(self, *line):
        primary, secondary = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": "120"}
        self.process = subprocess.Popen(
            line, stdin=secondary, stdout=secondary, stderr=secondary, env=environment, close_fds=True
        )
        os.close(secondary)
        self.file, self.printed, self.read = primary, "", 0

    def until(self, text):
        while text not in self.printed[self.read :]:
            assert self._more(), self.printed
        self.read = self.printed.index(text, self.read) + len(text)

    def type(self, *lines):
        for line in lines:
            self.until("   > ")
            os.write(self.file, f"{line}\n".encode())

    def end_input(self):
        self.until("   > ")
        os.write(self.file, b"\x04")

    def interrupt(self):
        self.until("   > ")
        # Readline forgets a signal that comes in the instant between its prompt and its wait for a key.
        for _ in range(SECONDS):
            self.process.send_signal(signal.SIGINT)
            while select.select([self.file], [], [], 1.0)[0]:
                if not self._more() or "interrupted" in self.printed:
                    return

    def ended(self):
        while self._more():
            pass
        os.close(self.file)
        return self.process.wait(timeout=SECONDS)

    def _more(self):
        """Whether there was more to read; a command that waits for an answer is ended, and what it said is shown."""
        if not select.select([self.file], [], [], SECONDS)[0]:
            self.process.kill()
            self.process.wait()
            raise AssertionError(self.printed)
        try:
            piece = os.read(self.file, 4096)
        except OSError:  # the other end is closed
            return False
        self.printed += piece.decode().replace("\r\n", "\n")
        return bool(piece)


def test_in_a_terminal(script):
    terminal = Terminal(script("crda-spec"), "init", "patients.csv", "--target", "recovery", "--ask")
    terminal.until("Columns: age, bmi, dose, pain, distance, seen, sick_leave\n")
    terminal.until("1/5  If one column alone had been different, which ones would have changed recovery?")
    terminal.type("age, bmi, dosis")
    terminal.until("there is no column 'dosis'; did you mean 'dose'?")
    terminal.type("age, bmi, dose")
    terminal.until("2/5  ")
    terminal.type("sick_leave")
    terminal.until("3/5  ")
    terminal.type("severity dose")
    terminal.until("'severity dose' has no -> between two names; write severity -> dose, pain\n")
    terminal.type("severity -> dose", "")
    terminal.until("4/5  ")
    terminal.type("dose <- age, severity", "distance <- chance", "")
    terminal.until("5/5  ")
    terminal.type("pain")
    assert terminal.ended() == 0
    assert terminal.printed.endswith(
        "\n"
        "spec.yaml: 9 features, 1 left out, 80 rows\n"
        "  sick_leave: left out: it came after recovery, and knows the answer\n"
        "  seen: a date, used as year, day_of_year, weekday, elapsed_days\n"
        "  The certificate: 3 of 9 features may move: bmi, pain, distance.\n"
        "  fixed: age: holding dose fixed ties age to the unmeasured severity, which drives recovery: age -> dose <- "
        "severity -> recovery\n"
        "  fixed: dose: the unmeasured severity drives both dose and recovery: dose <- severity -> recovery\n"
        "  fixed: seen.year, seen.day_of_year, seen.weekday, seen.elapsed_days: no edge of the graph names it, so "
        "nothing is known of it: draw it, or leave it out of the features\n"
        "read it, then: crda-spec plan spec.yaml, crda-run spec.yaml\n"
    )
    graph = yaml.safe_load(Path("spec.yaml").read_text())["causal"]["graph"]
    assert graph == {
        "kind": "edges",
        "edges": [
            "{age, bmi, dose} -> recovery",
            "severity -> {dose, recovery}",
            "age -> dose",
            "recovery -> sick_leave",
            "pain -> in_the_table",
        ],
        "latent": ["severity"],
        "selected": ["in_the_table"],
        "unrelated": ["distance"],
    }


@pytest.mark.usefixtures("interruptible")
def test_ctrl_d_skips_the_rest_and_ctrl_c_writes_nothing(script):
    line = (script("crda-spec"), "init", "patients.csv", "--target", "recovery", "--ask", "--out")
    terminal = Terminal(*line, "skipped.yaml")
    terminal.type("age")
    terminal.until("2/5  ")
    terminal.end_input()
    assert terminal.ended() == 0
    assert yaml.safe_load(Path("skipped.yaml").read_text())["causal"]["graph"]["edges"] == ["age -> recovery"]
    terminal = Terminal(*line, "stopped.yaml")
    terminal.type("age")
    terminal.until("2/5  ")
    terminal.interrupt()
    assert terminal.ended() == 130
    assert terminal.printed.endswith("interrupted; nothing half-written was left behind\n")
    assert not Path("stopped.yaml").exists()


def test_answers_that_say_nothing_of_the_target_are_asked_for_once_more(script):
    terminal = Terminal(script("crda-spec"), "init", "patients.csv", "--target", "recovery", "--ask")
    terminal.type("", "", "", "dose <- age", "", "")
    terminal.until("No answer ties recovery to anything. Once more:")
    terminal.type("")
    assert terminal.ended() == 0
    assert "No answer ties recovery to anything, so no graph is written.\n" in terminal.printed
    assert "graph" not in yaml.safe_load(Path("spec.yaml").read_text())["causal"]


def test_without_a_terminal_the_error_names_the_file_of_answers(command):
    outcome = command("crda-spec", "init", "patients.csv", "--target", "recovery", "--ask")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "--ask: there is no terminal to ask in; write the answers into a file: --answers FILE.yaml, with keys causes, "
        "after, hidden, decided_by, chosen_by\n"
    )
    assert not Path("spec.yaml").exists()


ANSWERS = """\
causes: [age, bmi, dose]
after: [sick_leave]
hidden: {severity: [dose], unknown: [pain]}
decided_by:
  dose: [age, severity]
  bmi: [chance]
  distance: [chance]
chosen_by: [pain, recovery]
"""


def test_answers_from_a_file_make_a_spec_that_runs(command):
    Path("answers.yaml").write_text(ANSWERS)
    outcome = command("crda-spec", "init", "patients.csv", "--target", "recovery", "--answers", "answers.yaml")
    assert outcome.code == 0, outcome.err
    text = Path("spec.yaml").read_text()
    lines = text[text.index("causal:") : text.index("regressor:")].splitlines()
    assert lines[:22] == [
        "causal:",
        "  # Your answers as arrows. <- correct them here; a missing arrow is the stronger claim",
        "  # decided by chance, so that no arrow leads to them: bmi",
        "  # no answer names these, so the graph claims nothing of them: seen.year, seen.day_of_year, seen.weekday,",
        "  #   seen.elapsed_days",
        "  graph:",
        "    kind: edges",
        "    edges:",
        '      - "{age, bmi, dose} -> recovery"  # act on recovery directly',
        '      - "severity -> {dose, recovery}"  # nobody measured severity',
        '      - "pain <-> recovery"  # a common cause that nobody measured is suspected',
        '      - "age -> dose"  # what decided dose',
        '      - "recovery -> sick_leave"  # came after recovery',
        '      - "{pain, recovery} -> in_the_table"  # rows were chosen by these',
        "    latent:",
        "      - severity",
        "    selected:",
        "      - in_the_table",
        "    unrelated:",
        "      - distance",
        "  # The certificate: 1 of 9 features may move: distance.",
        (
            "  # fixed: age: in_the_table is caused by recovery, and choosing rows by it ties age to "
            "the noise of recovery: Z"
        ),
    ]
    assert command("crda-spec", "validate", "spec.yaml").code == 0
    fast = ["--set", "regressor={kind: ridge}", "--set", "gate={kind: wilcoxon, folds: 5}", "-q", "--jobs", "1"]
    one_teacher = [
        "--set",
        "counterfactual.teacher={kind: crossfit, folds: 3}",
        "--set",
        "counterfactual.invariance=off",
    ]
    assert command("crda-run", "spec.yaml", *fast, *one_teacher, "--out", "run").code == 0
    record = json.loads(Path("run/record.json").read_text())
    assert "sick_leave" not in [one["name"] for one in record["data"]["features"]]


def test_an_empty_file_skips_every_question(command):
    Path("answers.yaml").write_text("# nothing is known yet\n")
    assert command("crda-spec", "init", "patients.csv", "--target", "recovery", "--answers", "answers.yaml").code == 0
    assert yaml.safe_load(Path("spec.yaml").read_text())["causal"] == {"discovery": {"kind": "pc"}}


WRONG = """\
cause: [age]
after: [age, sick_leaves]
hidden:
  age: [dose]
  severity: [dose, dose, recovery]
decided_by:
  recovery: [age]
  dosis: [age]
  dose: [severty, dose]
  bmi: [chance, age]
  pain: [recovery]
"""


def test_wrong_answers_are_named_with_their_places(command):
    def said(text):
        Path("answers.yaml").write_text(text)
        outcome = command("crda-spec", "init", "patients.csv", "--target", "recovery", "--answers", "answers.yaml")
        assert (outcome.code, outcome.out) == (2, "")
        assert not Path("spec.yaml").exists()
        return outcome.err

    assert said(WRONG) == (
        "answers.yaml:1:1: cause: unknown key 'cause'; did you mean 'causes'?\n    1 | cause: [age]\n      | ^\n"
    )
    lines = said(WRONG.replace("cause:", "causes:")).splitlines()
    assert [line for line in lines if not line.startswith("  ")] == [
        "answers.yaml:2:9: after.0: 'age' cannot act on recovery and come after it; leave it out of causes or of after",
        "answers.yaml:2:14: after.1: there is no column 'sick_leaves'; did you mean 'sick_leave'?",
        "answers.yaml:4:8: hidden.age: 'age' is a column, so it was measured; name what stands in no column",
        "answers.yaml:5:13: hidden.severity: 'dose' is listed 2 times; list it once",
        (
            "answers.yaml:5:26: hidden.severity.2: 'recovery' is the target; leave it out: the question is about the "
            "other columns"
        ),
        "answers.yaml:7:13: decided_by.recovery: 'recovery' is the target; what acts on it goes under causes",
        "answers.yaml:8:10: decided_by.dosis: there is no column 'dosis'; did you mean 'dose'?",
        "answers.yaml:9:9: decided_by.dose: 'dose' cannot decide itself; name what came before it, or leave it out",
        (
            "answers.yaml:9:10: decided_by.dose.0: there is no column 'severty'; did you mean 'severity'? what nobody "
            "measured goes under hidden, question 3, first"
        ),
        "answers.yaml:10:9: decided_by.bmi.0: chance stands beside others; write what decided bmi, or [chance] alone",
        (
            "answers.yaml:11:10: decided_by.pain.0: 'pain' was decided by the target, so it came after it; name pain "
            "under after"
        ),
        "11 problems",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("causes: age\n", "answers.yaml:1:9: causes: expected a list, got 'age' (text); put it in brackets: [age]"),
        (
            "causes: [al]\n",
            (
                "answers.yaml:1:10: causes.0: there is no column 'al'; columns: age, bmi, dose, pain, "
                "distance, seen, sick_leave, seen.year, seen.day_of_year, seen.weekday, seen.elapsed_days"
            ),
        ),
        (
            "- age\n",
            (
                "answers.yaml:1:1: answers are key: value lines, got ['age']; keys: causes, after, "
                "hidden, decided_by, chosen_by"
            ),
        ),
        (
            "causes: [all, age]\n",
            "answers.yaml:1:10: causes.0: all stands beside others; write [all] alone, or the columns",
        ),
        (
            "hidden: {severity: dose}\n",
            "answers.yaml:1:20: hidden.severity: expected a list, got 'dose' (text); put it in brackets: [dose]",
        ),
        (
            "decided_by: {dose: [age]}\n",
            (
                "answers.yaml: causes: no answer ties recovery to anything, so the graph would say "
                "nothing of it; name what acts on recovery, or skip every question"
            ),
        ),
        (
            "causes: [age]\nafter: [age]\n",
            (
                "answers.yaml:2:9: after.0: 'age' cannot act on recovery and come after it; leave it out "
                "of causes or of after"
            ),
        ),
        (
            "causes: [age]\nhidden: {severity: [dose]}\ndecided_by: {dose: [chance]}\n",
            (
                "answers.yaml:3:20: decided_by.dose: 'dose' was decided by chance, but severity is said "
                "to drive it; leave out one of the two answers"
            ),
        ),
        (
            "causes: [age]\ndecided_by: {dose: [age], age: [dose]}\n",
            (
                "answers.yaml:2:32: decided_by.age: dose -> age contradicts age -> dose: together they "
                "are the cycle age -> dose -> age; leave out one of these answers, or turn it round"
            ),
        ),
        (
            "causes: [age]\ndecided_by: {dose: [age], pain: [dose], age: [pain]}\n",
            (
                "answers.yaml:2:46: decided_by.age: the edges form a cycle: age -> dose -> pain -> age; "
                "leave out one of these answers, or turn it round"
            ),
        ),
        (
            "causes: [age\n",
            (
                "answers.yaml:2:1: not valid YAML: expected ',' or ']', but got '<stream end>'; check "
                "quotes, brackets and indentation around here"
            ),
        ),
    ],
)
def test_what_is_wrong_with_answers(text, message, command):
    Path("answers.yaml").write_text(text)
    outcome = command("crda-spec", "init", "patients.csv", "--target", "recovery", "--answers", "answers.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0] == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--ask", "--answers", "a.yaml"],
            "--answers: --ask and --answers each say what the graph is; leave all but one out",
        ),
        (
            ["--graph", "g.txt", "--answers", "a.yaml"],
            "--answers: --graph and --answers each say what the graph is; leave all but one out",
        ),
        (
            ["--ask", "--json"],
            "--ask: the questions and the JSON object both want to be printed; leave --json out, or use --answers",
        ),
        (
            ["--answers", "anwsers.yaml"],
            "anwsers.yaml: there is no such file: 'anwsers.yaml'; did you mean 'answers.yaml'?",
        ),
        (
            ["--answers", "patients.csv"],
            (
                "patients.csv:1:1: answers are key: value lines, got "
                "'age,bmi,dose,pain,distance,seen,sick_leave,recovery 67,32.…; keys: causes, after, "
                "hidden, decided_by, chosen_by"
            ),
        ),
        (["--answers", "."], ".: '.' is a folder; YAML files in it: answers.yaml"),
    ],
)
def test_options_that_do_not_go_together(arguments, message, command):
    Path("answers.yaml").write_text(ANSWERS)
    outcome = command("crda-spec", "init", "patients.csv", "--target", "recovery", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0] == message


def test_all_leaves_out_what_came_later(interview):
    drawing = interview.draw(Answers(causes=("all",), after=("sick_leave",)))
    assert drawing.settings["edges"][0] == (
        "{age, bmi, dose, pain, distance, seen.year, seen.day_of_year, seen.weekday} -> recovery"
    )
    assert drawing.settings["edges"][1:] == ["seen.elapsed_days -> recovery", "recovery -> sick_leave"]
    assert tuple(drawing.without) == ("sick_leave",)


def test_a_date_is_one_column_and_its_parts_may_be_named_alone(interview):
    assert interview.features == ("age", "bmi", "dose", "pain", "distance", "seen", "sick_leave")
    assert interview.draw(Answers(causes=("seen.year",))).settings["edges"] == ["seen.year -> recovery"]
    after = interview.draw(Answers(causes=("age",), after=("seen",)))
    assert after.settings["edges"] == ["age -> recovery", "recovery -> seen"]


def test_no_arrow_is_drawn_twice(interview):
    answers = Answers(
        causes=("age", "dose"),
        hidden={"severity": ("dose", "pain")},
        decided_by={"dose": ("severity", "age"), "pain": ("severity", "dose")},
    )
    assert interview.draw(answers).settings["edges"] == [
        "{age, dose} -> recovery",
        "severity -> {dose, pain, recovery}",
        "age -> dose",
        "dose -> pain",
    ]


def test_what_is_typed_means_what_a_file_says(interview):
    typed = {
        "causes": ["age, bmi,dose"],
        "hidden": ["severity -> dose", "unknown->pain"],
        "decided_by": ["dose <- age, severity", "bmi, distance <- chance"],
        "chosen_by": ["pain,  recovery"],
        "after": ["sick_leave"],
    }
    values = {key: value for question in typed for key, value in interview.typed(question, typed[question]).items()}
    assert Answers(**values) == Answers.model_validate_json(json.dumps(yaml.safe_load(ANSWERS)))


def test_names_with_commas_and_quotes():
    frame = patients().rename(columns={"age": "age, years", "bmi": 'the "bmi"', "dose": "a -> b"})
    interview = Interview.about(frame, target="recovery")
    assert interview.typed("causes", ["age, years"]) == {"causes": ("age, years",)}
    assert interview.typed("causes", ['"age, years", pain']) == {"causes": ("age, years", "pain")}
    made = interview.first_spec(Answers(causes=("age, years", 'the "bmi"', "a -> b")))
    assert yaml.safe_load(made.text)["causal"]["graph"]["edges"] == [
        '{"age, years", "the \\"bmi\\"", "a -> b"} -> recovery'
    ]


def test_a_long_answer_is_written_in_several_lines():
    frame = patients()
    for number in range(60):
        frame[f"measurement number {number}"] = np.random.default_rng(number).normal(size=len(frame))
    interview = Interview.about(frame, target="recovery")
    edges = interview.draw(Answers(causes=("all",))).settings["edges"]
    assert max(map(len, edges)) < 110
    with pytest.raises(SpecError, match="there is no column 'measurement number'"):
        interview.draw(Answers(causes=("measurement number",)))

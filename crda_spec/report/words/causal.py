"""What the graph promises and how far the data bear it out, in sentences for the terminal and the page alike."""

from __future__ import annotations

from collections.abc import Sequence

from crda_spec.records import Certificate, Falsification, FeatureSensitivity, FeatureVerdict, RunResult, TestedStatement
from crda_spec.report.words.numbers import count, listed, number, setting, share, shorten, shown

OUTCOMES = {
    "not_falsified": "Not falsified",
    "falsified": "Falsified",
    "not_informative": "Not informative",
}
JOINT = "Joint check:"
_CONSEQUENCES = {
    "abstain": "Under on_falsified: abstain, nothing is augmented on the word of a falsified graph.",
    "warn": "Under on_falsified: warn, the run went on: read its numbers with care.",
    "ignore": "Under on_falsified: ignore, the run went on: read its numbers with care.",
}


def moving_first(result: RunResult) -> list[FeatureVerdict]:
    """The verdicts: of features that move, then of those that may, then of the others; each in the table's order."""
    moves = {movement.name: movement.moves != "stays" for movement in result.movements}
    return sorted(result.certificate.features, key=lambda one: (not moves[one.name], not one.perturbable))


def moved_without_noise(result: RunResult) -> tuple[str, ...]:
    """What moved in rows that carry no noise; nothing when they carry some."""
    return tuple(one.name for one in result.movements if one.moves == "moves" and one.licence == "support")


def ground_sentences(certificate: Certificate, without_noise: Sequence[str] = ()) -> tuple[str, ...]:
    """What the certificate looked at: everything unmeasured that drives the target, and the paper's lemma.

    without_noise: what moved in rows that carry no noise, whatever the certificate would have chosen.
    """
    said: list[str] = []
    if certificate.noise_side:
        target = next((shown(name) for name, role in certificate.graph.nodes if role == "target"), "the target")
        parts = listed(tuple(shown(name) for name in certificate.noise_side))
        said.append(
            f"What drives {target} and is not measured: {parts}. "
            "A feature may move if none of it is tied to the feature once the other features are known."
        )
    changed = {*(without_noise or certificate.perturbed), *certificate.propagated}
    idle = tuple(shown(name) for name in certificate.largest if name not in changed)
    if idle:
        said.append(f"The graph would also let {listed(idle)} move, which the spec or the ranking did not choose.")
    if certificate.propagated:
        followers = listed(tuple(shown(name) for name in certificate.propagated))
        said.append(f"What the moved features cause moves with them: {followers}.")
    if certificate.lemma_holds is not None:
        said.append(
            "The paper's lemma was checked on this graph, and it holds."
            if certificate.lemma_holds
            else "The paper's lemma was checked on this graph, and it does not hold: please report this as a bug."
        )
    return tuple(said)


def evidence_sentences(certificate: Certificate, without_noise: Sequence[str] = ()) -> tuple[str, ...]:
    """How the data were asked, what they say of the moving features together, and what to know of the search.

    Where no noise is carried the joint check, which asks whether it may be, has nothing to say of the run.
    """
    said = [shown(certificate.method)] if certificate.method else []
    joint = None if without_noise else certificate.joint
    if joint is not None:
        said.append(f"{JOINT} {shown(joint.sentence)}")
        if joint.pruned:
            held = listed(tuple(shown(name) for name in joint.pruned))
            said.append(f"It held fixed: {held}.")
        elif joint.failed:
            said.append(
                "With a declared graph this only warns: the regressor may have missed an effect, or the graph may be "
                "wrong."
                if certificate.basis == "declared"
                else "Under joint.on_failure: warn, the run went on: read its numbers with care."
            )
    said += [f"About the search: {shown(note)}" for note in certificate.notes]
    return tuple(said)


def closing_sentence(verdict: FeatureVerdict) -> str:
    """What would close a witness path, if it were known."""
    if not verdict.blockers:
        return ""
    names = [shown(name) for name in verdict.blockers]
    return f"Knowing {' or '.join(names)} would close this path."


def tested_sentence(found: Falsification) -> str:
    """What was tested, how, and how much of it failed; empty when the graph implies nothing to test."""
    if not found.statements:
        return ""
    violated = sum(statement.violated for statement in found.statements)
    tested = len(found.statements)
    amount = "1 implied independence" if found.implied == 1 else f"{found.implied} implied independencies"
    of_all = f"{tested} of {amount}" if tested != found.implied else amount
    were = "was" if found.implied == 1 else "were"
    return (
        f"{of_all} {were} tested on {count(found.rows, 'training row')} ({shown(found.test)}, "
        f"alpha {setting(found.alpha)} over all together): {violated} violated."
    )


def consequence_sentence(found: Falsification) -> str:
    """What the spec wants done about a falsified graph."""
    return _CONSEQUENCES[found.on_falsified] if found.outcome == "falsified" else ""


def permutation_sentence(found: Falsification) -> str:
    """The baseline: would a graph of the same shape with shuffled names have done as well?"""
    if found.as_good is None or not found.permutations:
        return ""
    graphs = f"Of {count(found.permutations, 'graph')} of the same shape with shuffled names"
    same = f"; {share(found.equivalent)} say the very same" if found.equivalent else ""
    return f"{graphs}, {share(found.as_good)} contradict the data no more than this one{same}."


def suggestion_sentence(found: Falsification) -> str:
    """Edges that would excuse what was violated."""
    if not found.suggested:
        return ""
    edges = listed(tuple(shown(edge) for edge in found.suggested), limit=8)
    return f"Edges that would explain it: {edges}. Draw one only if it makes sense in the field."


def statement_words(statement: TestedStatement) -> str:
    """`dose and age, given ward`: what should be independent."""
    given = f", given {listed(tuple(_name(name) for name in statement.given))}" if statement.given else ""
    return f"{_name(statement.first)} and {_name(statement.second)}{given}"


def statement_numbers(statement: TestedStatement) -> tuple[str, str]:
    """The p-value and the adjusted one, with a bound where more digits would say nothing."""
    raw, adjusted = ("< 0.0001" if value < 1e-4 else number(value) for value in (statement.p_value, statement.adjusted))
    return raw, adjusted


def sensitivity_absence(result: RunResult) -> str:
    """Why there is nothing to say of a hidden cause; empty where the question does not arise."""
    verdict = result.verdict
    if result.sensitivity is not None or result.certificate.basis != "declared" or verdict.effect_percent is None:
        return ""
    if verdict.effect_percent >= 0:
        return "The gate measured no gain, so there is none that a hidden cause could use up."
    if verdict.metric != "mse":
        compared = f"The gate compared the {verdict.metric.upper()}"
        return f"{compared}, and this question needs a gain in squared error: set gate.metric to mse."
    return ""


def gain_sentence(result: RunResult) -> str:
    """The gain that is at stake, in its unit."""
    found = result.sensitivity
    if found is None:
        return ""
    unit = result.split.train.target.unit
    squared = f" (unit: {shown(unit)} squared)" if unit else ""
    return f"The gain: the mean held-out squared error fell by {number(found.gain)}{squared}."


def _name(name: str) -> str:
    """A name that stands inside a cell: shortened when it would fill it."""
    return shorten(shown(name), 40, gap="...")


def yardstick_words(feature: FeatureSensitivity, target: str) -> str:
    """The observed feature that a hidden cause is compared with."""
    if not feature.observed:
        return "no other feature"
    return (
        f"{_name(feature.observed)}: {share(feature.observed_with_feature)} of {_name(feature.name)}, "
        f"{share(feature.observed_with_target)} of {_name(target)}"
    )

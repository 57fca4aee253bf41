"""What the graph promises and how far the data bear it out, in sentences for record, terminal and page alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crda_spec import records
from crda_spec.errors import show
from crda_spec.records import Certificate, Falsification, FeatureVerdict, Quoted, Repair, RunResult, Stated, movable
from crda_spec.report.words.discovery import inquiry_sentence, note_sentence, screen_numbers, screened_words
from crda_spec.report.words.numbers import count, listed, named, number, setting, share, shorten, shown
from crda_spec.scm.sensitivity import uses_up_the_gain

_MOST_NAMED = 12  # of features to leave out: a longer list is no longer read, and the remedies have it whole
_CONSEQUENCES = {
    "recertify": "Under on_falsified: recertify, features are certified by the graph with the suggested edges.",
    "abstain": "Under on_falsified: abstain, nothing is augmented on the word of a falsified graph.",
    "warn": "Under on_falsified: warn, the run went on: read its numbers with care.",
    "ignore": "Under on_falsified: ignore, the run went on: read its numbers with care.",
}

# Why a feature stays that could have moved: after `it may move, but` in the certificate, alone in a run's movements.
_LEFT = ("kept", "derived", "not_named", "moves_together", "identifies_rows")
_STATED = {
    "direct_cause": (
        "a direct cause of {1}, and once the other features are known, nothing unmeasured that drives {1} is tied to it"
    ),
    "separated": "once the other features are known, {0} says nothing about {1} or its noise",
    "isolated": "no arrow of the graph touches {0}: it is chance, and tells nothing of {1}",
    "undrawn": "no edge of the graph names it, so nothing is known of it: draw it, or leave it out of the features",
    "follows": "a moved feature causes it, and it follows",
    "follows_equation": "a moved feature causes it, and it follows by its fitted equation",
    "follows_its_cause": "it follows what causes it",
    "blind_screen": (
        "a linear fit leaves residuals uncorrelated with every feature by construction: there is nothing to screen"
    ),
    "not_certified": "it is not certified, and new rows keep to the certificate",
    "no_rows": "no row was made",
    "kept": "partition.keep holds it fixed",
    "derived": "it is a date's part, or marks missing cells: draw it in the graph, or name it in partition.perturb",
    "augmenter_keeps": "the augmenter does not change it",
    "not_named": "partition.perturb does not name it",
    "identifies_rows": (
        "it has more labels than half the rows: such a column tells rows apart, or is free text, and moves only by a "
        "policy of its own under perturbation.features"
    ),
}


def movable_words(verdicts: Sequence[FeatureVerdict]) -> str:
    """`3 of 5 features may move`: the one count of plan, terminal, page and record."""
    return f"{len(movable(verdicts))} of {count(len(verdicts), 'feature')} may move"


def is_contradicted(result: RunResult) -> bool:
    """Whether the data contradict the declared graph: then nothing in the run is shown as certified."""
    return result.falsification is not None and result.falsification.outcome == "falsified"


def badge(status: str, *, contradicted: bool) -> str:
    """The class as it is shown; one that a contradicted graph lets move is `doubted`."""
    return f"doubted {status}" if contradicted and status in ("irrelevant", "cause") else status


def reason_sentence(reason: records.Reason, *, subject: bool = True) -> str:
    """Why a feature has its class, or why it is held. subject: False where the feature's name stands before it."""
    left = isinstance(reason, records.Outranked) or (isinstance(reason, Stated) and reason.code in _LEFT)
    why = why_sentence(reason, subject=subject)
    return f"it may move, but {why}" if left else why


def held_sentence(held: records.Reason | None) -> str:
    """Why a feature does not move by itself although its class lets it; empty when nothing holds it."""
    return reason_sentence(held) if held else ""


def why_sentence(reason: records.Reason, *, subject: bool = True) -> str:
    """The same where it is clear that the feature may move."""
    match reason:
        case Quoted():
            return reason.text
        case records.Tied():
            also = f"; {reason.path.feature} is also caused by {reason.path.target}" if reason.effect_too else ""
            return f"{path_sentence(reason.path, subject=subject)}{also}{_relief(reason.relief, reason.path.target)}"
        case records.Obstacle():
            return obstacle_sentence(reason)
        case Stated(code="moves_together"):
            return f"it moves together with {' and '.join(map(show, reason.names))}, which may not move"
        case Stated():
            name = f"{reason.names[0]} is " if reason.code == "direct_cause" and subject else ""
            return name + _STATED[reason.code].format(*reason.names)
        case records.Outranked():
            return f"ranks {reason.place} of {reason.of} and partition.max_features is {reason.limit}"
        case records.HelpsToPredict(features=features, p_value=p):
            residual = "residual's size" if reason.size else "residual"
            predicts = f"predict the {residual} of rows that were not fitted"
            if features == 1:
                return f"it helps to {predicts} (p = {p:.2g})"
            return f"together, {features} features help to {predicts} (p = {p:.2g}); of them it is the most tied to it"
        case records.Screened():
            return screened_words(reason)
        case records.Untested(rows=rows, of=of):
            few = f"only {rows} of {of} rows have no missing cell" if rows < of else f"only {rows} rows"
            return f"PC could not test anything: {few}"


def path_sentence(path: records.OpenPath, *, subject: bool = True) -> str:
    """What an open path means, the path included."""
    feature, target, tokens = path.feature, path.target, " ".join(path.tokens)
    end = f"the noise of {target}" if path.from_noise else target
    match path.kind:
        case "held_fixed":
            return f"{_held_fixed(path)}: {tokens}"
        case "effect":
            caused = f"{feature} is caused" if subject else "caused"
            return f"{caused} by the target {target} and carries its noise: {tokens}"
        case "noise_parent":
            return f"the noise of {target} depends on {feature}, as declared: {tokens}"
        case "acts_through":
            acts = f"{feature} acts" if subject else "acts"
            return f"{acts} on {end} through {_node(path.node)}, which cannot be held fixed: {tokens}"
        case "shared_cause":
            return f"{feature} and {target} share an unmeasured cause: {tokens}"
        case "common_cause":
            return f"{_node(path.node)} drives both {feature} and {end}: {tokens}"


def _held_fixed(path: records.OpenPath) -> str:
    """On a path with colliders it is the other features, held fixed, that make the tie."""
    source = f"the noise of {path.target}" if path.node is None else _node(path.node)
    drives = "" if path.node is None or path.node.kind == "hidden_cause" else f", which drives {path.target}"
    caused = path.effects
    verb = "is" if len(caused) == 1 else "are"
    why = f"{named(caused)} {verb} caused by {path.target}, and " if caused else ""
    it = "it" if len(caused) == 1 else "them"
    held = tuple(name for name in path.openers if name not in path.chosen_by)
    does = [f"holding {it if held == caused else named(held)} fixed"] if held else []
    does += [f"choosing rows by {it if path.chosen_by == caused else named(path.chosen_by)}"] if path.chosen_by else []
    verb = "ties" if len(does) == 1 else "tie"
    return f"{why}{' and '.join(does)} {verb} {path.feature} to {source}{drives}"


def _node(node: records.Unmeasured | None) -> str:
    """How a node that is not among the features is spoken of."""
    if node is None:
        return "something unmeasured"
    if node.kind == "hidden_cause":
        return f"an unmeasured cause of both {named(node.drives)}"
    return f"the unmeasured {node.name}" if node.kind == "latent" else f"the column {node.name} (not a feature)"


_RELIEFS = {
    "leave_it_out": "leaving it out of the features would free {frees}",
    "leave_out_effects": "leaving out all that {target} causes ({names}) would free {frees}",
    "leave_out": "leaving {names} out of the features would free {frees}",
    "add": "with {names} among the features, {frees} would be free",
}


def _relief(relief: records.Relief | None, target: str) -> str:
    if relief is None:
        return ""
    names, frees = named(relief.names, most=_MOST_NAMED), named(relief.frees)
    return "; " + _RELIEFS[relief.kind].format(names=names, frees=frees, target=target)


def obstacle_sentence(obstacle: records.Obstacle) -> str:
    """Why a feature may not move when its effects are to follow."""
    follower, node = obstacle.follower, obstacle.node
    fixed, tied = f"partition.keep holds {follower} fixed", path_sentence(obstacle.path) if obstacle.path else ""
    if follower == obstacle.feature:
        return tied or fixed
    match obstacle.kind:
        case "not_certified":
            why = f"and {follower} may not move: {tied}"
        case "held_fixed":
            why = f"but {fixed}"
        case "not_computable":
            what = ""
            if node is not None:
                latent = node.kind == "latent"
                what = f"the unmeasured {node.name}" if latent else f"{node.name}, which is no feature,"
            why = f"but how far cannot be computed: {what} changes on the way"
        case "rows_chosen":
            why = f"but {follower} cannot keep its own noise: rows were chosen by it, or by something that it causes"
        case "noise_tied":
            ties = f"something unmeasured ties it to {obstacle.loop[0]} ({' '.join(obstacle.loop)})"
            why = f"but {follower} cannot keep its own noise: {ties}"
    return f"{obstacle.feature} would move {follower} with it ({' '.join(obstacle.way)}), {why}"


def lemma_sentence(lemma: records.Lemma | Quoted | None) -> str:
    """Why the paper's lemma holds for a certified feature; empty for one that is not."""
    if lemma is None or isinstance(lemma, Quoted):
        return lemma.text if lemma else ""
    if lemma.parent:
        return f"{lemma.feature} is a parent of {lemma.target}"
    given = named(lemma.given, most=6) if lemma.given else "nothing"
    return f"{lemma.feature} is d-separated from {lemma.target} given {given}"


def warning_sentence(doubt: records.Doubt | Quoted | None) -> str:
    """Where the graph lets a feature move and the residual is tied to it; empty where it is not."""
    if doubt is None or isinstance(doubt, Quoted):
        return doubt.text if doubt else ""
    return (
        f"graph and data disagree ({screen_numbers(doubt.seen)}): the paper's misspecified regime, in which the "
        "regressor has not caught all of this feature's effect and its error would travel with the noise"
    )


_ASSUMPTIONS = {
    "graph_is_right": "the graph is right: an arrow that is not drawn stands for an effect that does not exist",
    "common_causes_drawn": "every common cause of two nodes is drawn, measured or not",
    "noise_adds": (
        "{target} is a function of its causes plus noise that adds to it, and the noise depends on no feature but "
        "those declared to drive it"
    ),
    "same_effect": "nothing unmeasured changes the effect of a feature that moves",
    "latents_additive": (
        "{names} {are} a function of {its} causes plus noise of {its} own, and {target} is linear in {it}, with the "
        "same slope in every row: so it was declared (latent: additive)"
    ),
    "rows_not_selected": "the rows were not chosen by anything that these nodes cause",
    "selection_drawn": (
        "the rows were chosen by {names} and by nothing else that these nodes cause, and what decides {it} is drawn"
    ),
    "regressor_accurate": "the regressor is accurate where features move: its own error travels with the noise",
    "undrawn_harmless": (
        "{names}, which the graph does not draw, {are} not caused by {target} or by anything unmeasured that drives "
        "{target}: if {one}, nothing may move"
    ),
    "followers_add": (
        "each feature that follows is a function of its causes plus noise that adds to it (a label: one draw a row)"
    ),
    "tests_see_links": (
        "no link found means no link: the tests need enough rows, and see only the dependence they look for"
    ),
    "no_hidden_cause": "there is no hidden common cause that these tests cannot see",
    "hidden_causes_leave_traces": (
        "a hidden cause that ties a feature to the target leaves traces that the tests can see"
    ),
    "methods_see_hidden_causes": "there is no hidden common cause that most of the methods cannot see",
}


def assumption_sentence(assumption: records.Assumption | Quoted) -> str:
    """What must hold for a certificate to mean anything."""
    if isinstance(assumption, Quoted):
        return assumption.text
    are, one = ("is", "it is") if len(assumption.names) == 1 else ("are", "one of them is")
    names = named(assumption.names) if assumption.names else ""
    its, it = ("its", "it") if len(assumption.names) == 1 else ("their", "them")
    about = {"target": assumption.target, "names": names, "are": are, "one": one, "its": its, "it": it}
    return _ASSUMPTIONS[assumption.code].format(**about)


def remedy_sentence(remedy: records.Remedy) -> str:
    """What an expert can do, and what it frees."""
    names = named(remedy.names, most=6)
    match remedy.kind:
        case _ if remedy.sentence:
            return remedy.sentence
        case "leave_out":
            action = f"leave {names} out of the features"
        case "add":
            action = f"add {names} to the features"
        case "measure":
            hidden = [f"what drives both {named(node.drives)}" if node.drives else node.name for node in remedy.nodes]
            them = "it" if len(remedy.names) == 1 else "them"
            action = f"measure {named(hidden, most=6)} and add {them} to the features"
    return f"{action}: then {named(remedy.frees, most=6)} may move"


def joint_sentence(joint: records.JointEvidence) -> str:
    """What the check of all moving features together says."""
    if joint.sentence:
        return joint.sentence
    if not joint.features:
        return "No feature was left after the check of all of them together."
    if not joint.failed and not joint.folds:
        return "There were too few rows to check the features that move together."
    one = joint.features == 1
    them = "The feature that moves" if one else f"Together, the {joint.features} features that move"
    helps = ("helps" if one else "help") if joint.failed else f"{'does' if one else 'do'} not help"
    text = f"{them} {helps} to predict the residual or its size in rows that were not fitted (p = {joint.p_value:.2g})"
    if not joint.failed:
        return f"{text}."
    effect = "its effect" if one else "their effect"
    why = f": something unmeasured may change {effect}, or the noise may depend on {'it' if one else 'them'}"
    return f"{text}: carrying the noise over is doubtful{why if joint.in_size else ''}."


_MOVES = {
    "invariance": "moves freely: no label depends on it",
    "certificate": "moves: the certificate allows it",
    "support": "moves: carries no noise, so only the data's support is claimed",
    "augmenter": "moves: the augmenter makes the rows, and nothing is claimed of them",
}


def movement_sentence(movement: records.Movement) -> str:
    """Why a feature moves in this run, or why it stays."""
    if movement.sentence:
        return movement.sentence
    if movement.moves == "follows":
        return "follows: a moved feature causes it"
    if movement.why is None:
        return _MOVES[movement.basis or "certificate"]
    return f"stays: {why_sentence(movement.why)}"


def movement_word(movement: records.Movement, retention: float) -> str:
    """What becomes of a feature in a run. retention: how much noise the new rows carry."""
    if movement.moves != "moves":
        return movement.moves
    if movement.basis == "invariance":
        return "moves freely"
    if movement.basis == "augmenter":
        return "moves, unclaimed"
    return "moves, with noise" if retention > 0 else "moves, no noise"


_FOLLOWED = {
    "additive": "additive noise, kernel ridge",
    "rounded": "additive noise, rounded, kernel ridge",
    "uniform": "abducted uniform, kernel logistic regression",
    "unlearned": "no value to learn from, stays missing",
}


def followed_words(followed: records.Followed | Quoted) -> str:
    """`follows dose and age: additive noise, kernel ridge`."""
    if isinstance(followed, Quoted):
        return followed.text
    held = f", with {named(followed.adjusted)} held fixed" if followed.adjusted else ""
    return f"follows {named(followed.parents)}{held}: {_FOLLOWED[followed.kind]}"


def moving_first(result: RunResult) -> list[FeatureVerdict]:
    """The verdicts: of features that move, then of those that may, then of the others; each in the table's order."""
    moves = {movement.name: movement.moves != "stays" for movement in result.movements}
    return sorted(result.certificate.features, key=lambda one: (not moves[one.name], not one.perturbable))


def moved_without_noise(result: RunResult) -> tuple[str, ...]:
    """What moved in rows that carry no noise; nothing when they carry some."""
    return tuple(one.name for one in result.movements if one.moves == "moves" and one.basis == "support")


def ground_sentences(certificate: Certificate, without_noise: Sequence[str] = ()) -> tuple[str, ...]:
    """What the certificate looked at: everything unmeasured that drives the target, and the paper's lemma.

    without_noise: what moved in rows that carry no noise, whatever the certificate would have chosen.
    """
    sentences: list[str] = []
    if certificate.noise_side:
        target = next((shown(name) for name, role in certificate.graph.nodes if role == "target"), "the target")
        parts = listed(tuple(map(shown, certificate.noise_side)))
        sentences.append(
            f"What drives {target} and is not measured: {parts}. "
            "A feature may move if none of it is tied to the feature once the other features are known."
        )
    changed = {*(without_noise or certificate.perturbed), *certificate.propagated}
    idle = tuple(shown(name) for name in certificate.largest if name not in changed)
    if idle:
        sentences.append(f"The graph would also let {listed(idle)} move, which the spec or the ranking did not choose.")
    if certificate.propagated:
        sentences.append(
            f"What the moved features cause moves with them: {listed(tuple(map(shown, certificate.propagated)))}."
        )
    if certificate.lemma_holds is not None:
        holds = "holds" if certificate.lemma_holds else "does not hold: please report this as a bug"
        sentences.append(f"The paper's lemma was checked on this graph, and it {holds}.")
    return tuple(sentences)


JOINT_CHECK = "Joint check: "


def evidence_sentences(certificate: Certificate, without_noise: Sequence[str] = ()) -> tuple[str, ...]:
    """How the data were asked, what they say of the moving features together, and what to know of the search.

    Where no noise is carried the joint check, which asks whether it may be, has nothing to say of the run.
    """
    sentences = [shown(inquiry_sentence(certificate.method))] if certificate.method else []
    joint = None if without_noise else certificate.joint
    if joint is not None:
        sentences.append(f"{JOINT_CHECK}{shown(joint_sentence(joint))}")
        if joint.pruned:
            sentences.append(f"It held fixed: {listed(tuple(map(shown, joint.pruned)))}.")
        elif joint.failed:
            sentences.append(
                "With a declared graph this only warns: the regressor may have missed an effect, or the graph may be "
                "wrong."
                if certificate.basis == "declared"
                else "Under joint.on_failure: warn, the run went on: read its numbers with care."
            )
    sentences += [f"About the search: {shown(note_sentence(note))}" for note in certificate.notes]
    return tuple(sentences)


def closing_sentence(verdict: FeatureVerdict) -> str:
    """What would close a witness path, if it were known."""
    names = " or ".join(map(shown, verdict.blockers))
    return f"Knowing {names} would close this path." if names else ""


def measured_words(verdict: FeatureVerdict) -> str:
    """What was measured, the p-values last; the order is our own, since a record on disk keeps none."""
    measured = sorted(verdict.evidence.items(), key=lambda item: ("p_value" in item[0], item[0]))
    return ", ".join(f"{key.replace('_', ' ')} {setting(value)}" for key, value in measured)


_FALSIFICATION_TEST = (
    "generalised covariance measure on spline ridge residuals (normal scores and their sizes, one column a label), "
    "Bonferroni within a statement, Holm over statements; what it calls violated is confirmed by pairs of rows that "
    "are alike in the given columns, on spline and kernel residuals, Holm over the statements asked"
)


def falsification_test(found: Falsification) -> str:
    """The conditional test by which the graph was held against the rows."""
    return found.test or _FALSIFICATION_TEST


def falsification_sentence(found: Falsification) -> str:
    """Whether the data contradict the graph, and what to do next."""
    if found.sentence:
        return found.sentence
    tested, others = len(found.statements), found.others_as_good
    if found.outcome == "falsified":
        return f"{_contradiction(found)} {_advice(found)}"
    if not tested:
        return (
            "The graph implies no independence that these columns could contradict, so the data cannot test it: "
            "it stands on the expert's word alone."
        )
    no = "do not contradict the one statement" if tested == 1 else f"contradict none of the {tested} statements"
    if found.outcome == "not_informative":
        why = "every shuffling of the names implies the same"
        if others is not None:
            why = f"so do {others:.0%} of the graphs with shuffled names that claim something else"
        little = "this test tells little about the graph, and more rows might"
        return f"The data {no} that the graph implies, but {why}: {little}."
    passing = f"{others:.0%}" if others else "none"
    shuffled = f", and {passing} of the graphs with shuffled names that claim something else pass"
    return f"The data {no} that the graph implies{'' if others is None else shuffled}."


def _contradiction(found: Falsification) -> str:
    violated, tested = [each for each in found.statements if each.violated], len(found.statements)
    worst = violated[0]
    held = f" given {named(worst.given)}" if worst.given else ""
    many = f"at least {len(violated)}" if found.unasked else f"{len(violated)}"
    statements = "one statement" if tested == 1 else f"{tested} statements"
    more = "" if len(violated) == 1 and not found.unasked else f"; in all, {many} of {statements} fail"
    p_value = "< 1e-12" if worst.adjusted < 1e-12 else f"= {worst.adjusted:.2g}"
    return (
        f"The data contradict the graph: {worst.first} and {worst.second} should be independent{held}, but are not "
        f"(adjusted p {p_value}){more}."
    )


def _advice(found: Falsification) -> str:
    edges = _edges(found.suggested)
    next_step = "correct the graph before you trust what it certifies"
    if found.on_falsified == "abstain":
        next_step = "correct the graph, or set falsify.on_falsified to warn"
    if found.explained:
        return f"With {edges} added, the data no longer contradict it: {next_step}."
    these = "this edge" if len(found.suggested) == 1 else "these edges"
    return f"Even with {edges} added, the data contradict it, so more than {these} is wrong: {next_step}."


def repair_sentence(repair: Repair) -> str:
    """What the certificate of the graph with the suggested edges changes, and whether the run goes on."""
    if repair.sentence:
        return repair.sentence
    classes = [f"{one.name} is {one.after} instead of {one.before} (by {_edges(one.by)})" for one in repair.changed]
    changes = named(classes, most=_MOST_NAMED) if classes else "no feature changes its class"
    then = "The run went on by these classes: read its numbers with care, and correct the graph."
    if repair.stops:
        why = "these edges do not explain all that the data contradict"
        if repair.lost:
            why = f"{named(repair.lost)} would have moved with the noise, which the graph no longer allows"
        then = f"New rows were to carry noise and {why}: nothing was augmented."
    return f"Certified again with {_edges(repair.edges)} added: {changes}. {then}"


def _edges(edges: Sequence[str]) -> str:
    return named([f"`{edge}`" for edge in edges], most=len(edges))


def falsification_sentences(found: Falsification, repair: Repair | None = None) -> Iterator[str]:
    """The outcome, what is done about it, what was tested, and how graphs with shuffled names did."""
    yield shown(falsification_sentence(found))
    if found.outcome == "falsified":
        yield _CONSEQUENCES[found.on_falsified] if repair is None else shown(repair_sentence(repair))
    if found.statements:
        violated, tested = sum(statement.violated for statement in found.statements), len(found.statements)
        amount = "1 implied independence" if found.implied == 1 else f"{found.implied} implied independencies"
        of_all = f"{tested} of {amount}" if tested != found.implied else amount
        yield (
            f"{of_all} {'was' if found.implied == 1 else 'were'} tested on {count(found.rows, 'training row')} "
            f"({shown(falsification_test(found))}, alpha {setting(found.alpha)} over all together): {violated} "
            "violated."
        )
    if found.as_good is not None and found.permutations:
        graphs = f"Of {count(found.permutations, 'graph')} of the same shape with shuffled names"
        same = f"; {share(found.equivalent)} say the very same" if found.equivalent else ""
        yield f"{graphs}, {share(found.as_good)} contradict the data no more than this one{same}."


def suggestion_sentence(found: Falsification) -> str:
    """Edges that would excuse what was violated."""
    edges = listed(tuple(map(shown, found.suggested)), limit=8)
    return f"Edges that would explain it: {edges}. Draw one only if it makes sense in the field." if edges else ""


def statement_words(statement: records.TestedStatement) -> str:
    """`dose and age, given ward`: what should be independent."""
    given = f", given {listed(tuple(_name(name) for name in statement.given))}" if statement.given else ""
    return f"{_name(statement.first)} and {_name(statement.second)}{given}"


_NOT_MEASURED = {
    "category": "a category has no distance to move by",
    "too_few_rows": "there are too few rows for so many columns",
}


def sensitivity_sentence(found: records.Sensitivity) -> str:
    """The weakest feature, its yardstick, and what was left out."""
    if found.sentence:
        return found.sentence
    if found.retention == 0:
        return "No noise is carried, so the certificate promises nothing that a hidden cause could break."
    parts = ["No feature that moved can be measured this way."]
    if found.features:
        weakest = min(found.features, key=lambda feature: feature.robustness)
        parts = [*_hidden_cause(weakest, found.target)]
    if found.left_out:
        names: dict[str, list[str]] = {}
        for name, why in found.left_out.items():
            names.setdefault(why, []).append(name)
        reasons = "; ".join(f"{', '.join(some)} ({_NOT_MEASURED[why]})" for why, some in names.items())
        parts.append(f"Not measured: {reasons}.")
    return " ".join(parts)


def _hidden_cause(feature: records.FeatureSensitivity, target: str) -> Iterator[str]:
    """What a hidden cause of this feature would have to explain, and the measured one that it is compared with."""
    if math.isinf(feature.limit):
        yield "Nothing that moved lets a hidden cause spoil the labels."
        return
    if feature.robustness == 0:
        yield (
            f"The other features determine {feature.name}, so that the data cannot tell its own effect: "
            "the weakest hidden cause would use up the gain that the gate measured."
        )
    else:
        yield (
            f"A hidden cause of {target} and {feature.name} would have to explain {_partial_r2(feature.robustness)} "
            "of what the features leave open in each before it uses up the gain that the gate measured."
        )
    if feature.observed:
        yield (
            f"{feature.observed}, the measured feature that is tied most to both, explains "
            f"{_partial_r2(feature.observed_with_feature)} of {feature.name} and "
            f"{_partial_r2(feature.observed_with_target)} of {target}: one more like it, unmeasured, would "
            f"{'' if uses_up_the_gain(feature) else 'not '}be enough."
        )


def _partial_r2(value: float) -> str:
    """None at all is a measurement, too."""
    return "less than 0.01 %" if 100.0 * value < 0.01 else share(value)


def sensitivity_sentences(result: RunResult) -> Iterator[str]:
    """How strong a hidden cause would have to be, or why there is nothing to say of one."""
    found, verdict = result.sensitivity, result.verdict
    if found is not None:
        yield shown(sensitivity_sentence(found))
        unit = result.split.train.target.unit
        squared = f" (unit: {shown(unit)} squared)" if unit else ""
        yield f"The gain: the mean held-out squared error fell by {number(found.gain)}{squared}."
    elif result.certificate.basis != "declared" or verdict.effect_percent is None:
        return
    elif verdict.effect_percent >= 0:
        yield "The gate measured no gain, so there is none that a hidden cause could use up."
    elif verdict.metric != "mse":
        compared = f"The gate compared the {verdict.metric.upper()}"
        advice = "" if verdict.metric.startswith("pinball") else ": set gate.metric to mse"
        yield f"{compared}, and this question needs a gain in squared error{advice}."


def _name(name: str) -> str:
    """A name that stands inside a cell: shortened when it would fill it."""
    return shorten(shown(name), 40, gap="...")


def yardstick_words(feature: records.FeatureSensitivity, target: str) -> str:
    """The observed feature that a hidden cause is compared with."""
    if not feature.observed:
        return "no other feature"
    return (
        f"{_name(feature.observed)}: {share(feature.observed_with_feature)} of {_name(feature.name)}, "
        f"{share(feature.observed_with_target)} of {_name(target)}"
    )


def graph_words(graph: Mapping[str, Any] | None) -> dict[str, str]:
    """A recorded graph pair by pair, so that two graphs can be compared edge by edge."""
    parts: dict[str, str] = {}
    for name, role in (graph or {"nodes": ()})["nodes"]:
        parts[f"node {name}"] = role
    for one, other, mark in (graph or {"edges": ()})["edges"]:
        first, second = sorted((one, other))
        key, edge = f"edge {first}, {second}", f"{one} {mark} {other}"
        parts[key] = f"{parts[key]}; {edge}" if key in parts else edge
    return parts

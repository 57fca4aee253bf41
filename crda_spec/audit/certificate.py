"""`certificate.json` and its published JSON Schema. `python -m crda_spec.audit.certificate` rewrites the schema's file.

The schema is closed and every key is always written, so that an auditor's program can rely on both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from crda_spec.audit.canonical import Schema, closed_object, plain, text
from crda_spec.records import Certificate, EdgeMark, FeatureStatus, NodeRole, RemedyKind
from crda_spec.scm.certificate import graph_certificate
from crda_spec.scm.graph import CausalGraph

CERTIFICATE_VERSION = 1
PUBLISHED = Path("schemas/crda-certificate.v1.schema.json")


def certificate_record(certificate: Certificate) -> dict[str, Any]:
    """`certificate.json`: the partition, the reason for each feature, what would free the others, what is assumed."""
    return {
        "certificate_version": CERTIFICATE_VERSION,
        "perturbed": list(certificate.perturbed),
        "kept": list(certificate.kept),
        **plain(certificate),
    }


def foreseen_record(graph: CausalGraph, features: Sequence[str]) -> dict[str, Any]:
    """The same for all that a declared graph proves by itself, before a row is seen: every feature it frees moves."""
    return certificate_record(graph_certificate(graph, features))


def certificate_schema() -> Schema:
    """The schema of `certificate.json` (draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "crda-spec certificate v1",
        **closed_object(
            "Which features of a table may be perturbed while a row keeps its noise, and on what ground.",
            certificate_version={"const": CERTIFICATE_VERSION, "description": "The version of this form."},
            basis=_one_of(
                ("declared", "discovered"),
                "declared: an expert's graph proves it. discovered: tests on the training rows suggest it.",
            ),
            perturbed=_names("X_P: the features that may move while a row keeps its noise, as chosen."),
            kept=_names("X_R: the others. A row that carries no noise may move them; the record says what moved."),
            graph=_ref("Graph", "The graph on which the certificate stands."),
            features=_list("One verdict a feature, in the table's order.", _ref("Feature")),
            assumes=_list("What must hold for the certificate to mean anything.", text("A sentence.")),
            noise_side=_names(
                "L: the target's noise and every unmeasured cause of the target; what X_P is separated from. "
                "Empty when discovered."
            ),
            largest=_names("X_P*: all features that the graph lets move, chosen or not. Empty when discovered."),
            lemma_holds={
                "type": ["boolean", "null"],
                "description": "Whether the lemma of the paper's appendix was found to hold; null when discovered.",
            },
            remedies=_list("What would make more features perturbable, the smallest first.", _ref("Remedy")),
            propagated=_names("Features that follow X_P through their fitted equations."),
            joint={
                "anyOf": [_ref("Joint"), {"type": "null"}],
                "description": "The check of all features that move, together; null when there was none.",
            },
            notes=_list(
                "What a reader must know of the search: a budget that was hit, conflicts.", text("A sentence.")
            ),
            method=text(
                "How the data were asked: the search, the screen, and whose residuals. Empty when they were not."
            ),
        ),
        "$defs": {
            "Graph": _graph(),
            "Feature": _feature(),
            "Line": _line(),
            "Remedy": _remedy(),
            "Joint": _joint(),
        },
    }


def certificate_schema_text() -> str:
    """The published form: indented, with a final newline, the same bytes every time."""
    return json.dumps(certificate_schema(), indent=2, ensure_ascii=False) + "\n"


def _graph() -> Schema:
    role = _one_of(get_args(NodeRole), "unused: a column that is no feature.")
    mark = _one_of(
        get_args(EdgeMark),
        "->: causes. <->: share a hidden cause. --: tied, direction unknown. o->, o-o, o--: of a search that allows "
        "hidden causes; a circle stands where both an arrowhead and a tail fit the data.",
    )
    return closed_object(
        "A graph as it is shown.",
        nodes=_list("The nodes, each as [name, role].", _row("[name, role]", text("The node's name."), role)),
        edges=_list(
            "The edges, each as [node, node, mark].",
            _row("[node, node, mark]", text("The left node."), text("The right node."), mark),
        ),
    )


def _feature() -> Schema:
    return closed_object(
        "Why one feature may, or may not, be perturbed.",
        name=text("The feature's column."),
        status=_one_of(
            get_args(FeatureStatus),
            "direct_cause, irrelevant: certified by a declared graph. screened: no dependence on the residual was "
            "found. follows: a moved feature causes it. blocked: tied to the noise. undrawn: the graph does not name "
            "it. kept: could have moved, but the spec or the ranking left it alone.",
        ),
        reason=text("The reason, in a sentence."),
        witness=_names(
            "Of a feature that a declared graph blocks: a shortest open path to it, nodes and arrows as they are read. "
            "It starts at the noise, or at the target when it runs over an unmeasured cause of the target."
        ),
        lines=_list("The edges of the witness that somebody wrote, and where.", _ref("Line")),
        blockers=_names(
            "Unmeasured nodes that, each by itself, would close the witness if held fixed; (a <-> b) is the hidden "
            "cause of both."
        ),
        lemma=text("Of a certified feature: why the lemma of the paper's appendix holds for it. Else empty."),
        evidence={
            "type": "object",
            "description": "What the screen measured on the training rows, by name.",
            "additionalProperties": {"type": "number", "description": "A statistic, a p-value or a score."},
        },
        warning=text("Where graph and data disagree; empty when they do not."),
    )


def _line() -> Schema:
    return closed_object(
        "One edge and where it was written.",
        edge=text("The edge as it is read: a -> b, or a <-> b."),
        where=text("A path inside the spec (causal.graph.edges.3) or a place in a graph's file (model.dag:4:3)."),
    )


def _remedy() -> Schema:
    return closed_object(
        "Something that an expert can do, computed to work. No proper subset of its names frees the same features.",
        kind=_one_of(
            get_args(RemedyKind),
            "leave_out: take these features out of the model. add: make these unused columns features. measure: "
            "observe what is hidden and make it a feature.",
        ),
        names=_names("The features, columns or hidden nodes; (a <-> b) is the hidden cause of both."),
        frees=_names("The features that it makes perturbable, all of them."),
        sentence=text("The same in a sentence."),
    )


def _joint() -> Schema:
    return closed_object(
        "Whether the features that move, together, help to predict the residual of rows that were not fitted.",
        p_value=_number("For the residual and its size together."),
        gain=_number("The share of the residual's squared error that they explain beside X_R, out of sample."),
        size_gain=_number("The same for the residual's size."),
        rows={"type": "integer", "minimum": 0, "description": "The rows that were asked."},
        alpha=_number("A p-value at most this small means that they help."),
        failed={"type": "boolean", "description": "Whether they help, so that carrying the noise over is doubtful."},
        pruned=_names("Features that were held fixed until the rest passed, the first one first."),
        sentence=text("The same in a sentence."),
    )


def _list(description: str, items: Schema) -> Schema:
    return {"type": "array", "description": description, "items": items}


def _row(description: str, *cells: Schema) -> Schema:
    size = len(cells)
    return {"type": "array", "description": description, "prefixItems": list(cells), "minItems": size, "items": False}


def _names(description: str) -> Schema:
    return _list(description, {"type": "string"})


def _number(description: str) -> Schema:
    return {"type": "number", "description": description}


def _one_of(values: Sequence[str], description: str) -> Schema:
    return {"enum": list(values), "description": description}


def _ref(name: str, description: str = "") -> Schema:
    return {"$ref": f"#/$defs/{name}", **({"description": description} if description else {})}


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PUBLISHED
    target.write_text(certificate_schema_text(), encoding="utf-8")

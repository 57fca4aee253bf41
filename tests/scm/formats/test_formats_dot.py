"""DOT: what is read, and what is refused with which words."""

from __future__ import annotations

import pytest

from crda_spec.scm.formats import read_graph


def read(text):
    return read_graph(text, "dot", file="g")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("digraph { a -> b }", ["a -> b"], id="arrow"),
        pytest.param("strict digraph G { a -> b -> c; }", ["a -> b", "b -> c"], id="chain"),
        pytest.param("digraph { a -> b [dir=both] }", ["a <-> b"], id="both"),
        pytest.param("digraph { a -> b [dir=back] }", ["b -> a"], id="back"),
        pytest.param("digraph { a -> b [dir=both, style=dashed] }", ["a <-> b"], id="dashed-both"),
        pytest.param("digraph { a -> b [dir=forward, style=dashed] }", ["a -> b"], id="dashed-forward"),
        pytest.param("digraph { u [style=dashed]; u -> b [style=dashed] }", ["u -> b"], id="dashed-from-a-latent"),
        pytest.param("digraph { a -> {b c} }", ["a -> b", "a -> c"], id="fan-out"),
        pytest.param("digraph { subgraph cluster_1 { label=x; a; b } -> c }", ["a -> c", "b -> c"], id="subgraph"),
        pytest.param(
            "digraph { {edge [dir=both]; a -> b} b -> c }", ["a <-> b", "b -> c"], id="defaults-end-with-braces"
        ),
        pytest.param(
            "digraph { edge [dir=both]; a -> b; edge [dir=forward]; b -> c }", ["a <-> b", "b -> c"], id="defaults"
        ),
        pytest.param('digraph { "a b" -> "c\\"d" }', ['a b -> c"d'], id="quotes"),
        pytest.param('digraph { "a\\\\" -> "b\\\nc" }', ["a\\\\ -> bc"], id="backslashes-as-graphviz-reads-them"),
        pytest.param('digraph { "a" + "b" -> "node" }', ["ab -> node"], id="joined-and-keyword"),
        pytest.param("digraph {\n# a -> z\na -> b // c\n/* d -> \ne */ }", ["a -> b"], id="comments"),
        pytest.param("digraph { -1.5 -> .5 }", ["-1.5 -> .5"], id="numerals"),
        pytest.param("digraph { größe -> 体重 }", ["größe -> 体重"], id="any-alphabet"),
    ],
)
def test_the_language(text, expected):
    found = read(text)
    assert found.complaints == ()
    assert [str(edge) for edge in found.edges] == expected


def test_roles_defaults_and_what_is_lost():
    found = read(
        "digraph { rankdir=LR; a; node [latent=true, shape=box]; b; c [latent=false]; d [style=dashed, latent=no]\n"
        'y [outcome=yes, latent=0, pos="1,2!"]; x [noise=1, latent=0] }'
    )
    assert found.complaints == ()
    assert found.roles == {"latent": ("b",), "outcome": ("y",), "noise": ("x",)}
    assert found.positions == {"y": (1.0, 2.0)}
    assert found.lost == ("the rankdir of the graph", "the shape of a node (5 times)")


UNDIRECTED = "has edges without a direction, and those are not a causal claim"
DASHED = "write dir=both if it is one, dir=forward if not"
ANGLE = "a label in angle brackets is no name; write the name in double quotes"
KEYWORD = "write attributes in brackets after it; a node of that name needs double quotes"
BESIDE = "a name with spaces or signs needs double quotes; separate statements by ; or a line break"
DIRECTION = "does not say which of the two is the cause, so it is not a causal claim"
SIDES = "write a node's name on both sides of an arrow, as in a -> b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "graph { a -- b }",
            [
                f"1:11: '--' {DIRECTION}; write ->",
                f"1:1: a graph {UNDIRECTED}; write digraph {{ a -> b }}",
            ],
            id="graph",
        ),
        pytest.param(
            "dag { a -> b }",
            ["1:1: a dag is DAGitty, not DOT; read the graph as dagitty, or write digraph"],
            id="dagitty",
        ),
        pytest.param("digraph { a <-> b }", ["1:13: '<->' is not DOT; write a -> b [dir=both]"], id="both-ways"),
        pytest.param("digraph { a <- b }", ["1:13: '<-' is not DOT; write ->, and the cause on its left"], id="left"),
        pytest.param(
            "digraph { a -> b [dir=none] }",
            [f"1:19: dir=none {DIRECTION}; write dir=forward, dir=back or, for a hidden common cause, dir=both"],
            id="dir-none",
        ),
        pytest.param("digraph { a -> b [dir=up] }", ["1:19: dir is 'up'; write one of forward, back, both"], id="dir"),
        pytest.param(
            "digraph { a -> b [style=dashed] }",
            [f"1:19: a -> b is dashed, as hidden common causes often are; {DASHED}"],
            id="dashed",
        ),
        pytest.param(
            "digraph { Jitter:PPQ -> b }", [f"1:17: ':' follows 'Jitter' on the same line; {BESIDE}"], id="port"
        ),
        pytest.param("digraph { ADCY9.8 -> b }", [f"1:16: '.8' follows 'ADCY9' on the same line; {BESIDE}"], id="dot"),
        pytest.param("digraph { Fly Ash -> b }", [f"1:15: 'Ash' follows 'Fly' on the same line; {BESIDE}"], id="space"),
        pytest.param(
            "digraph { a [label=<<b>x</b>>] }",
            ["1:14: 'label' is written in HTML, which is not read; write it in double quotes"],
            id="html-label",
        ),
        pytest.param(
            "digraph { <b>a</b> -> c }",
            [f"1:11: a name is expected, but here is '<b>'; {ANGLE}"],
            id="html-name",
        ),
        pytest.param("digraph { a [latent] }", ["1:14: 'latent' has no value; write latent=true"], id="no-value"),
        pytest.param(
            "digraph { a [latent=maybe] }",
            ["1:14: latent is 'maybe', which is neither true nor false; write latent=true"],
            id="maybe",
        ),
        pytest.param(
            "digraph { a [laten=true] }", ["1:14: 'laten' is no attribute of a node; did you mean 'latent'?"], id="typo"
        ),
        pytest.param(
            "digraph { a -> b [arrowhead=none] }",
            ["1:19: 'arrowhead' is no attribute of an edge; known are: dir, style"],
            id="arrowhead",
        ),
        pytest.param(
            "digraph { foo=1 }", ["1:11: 'foo' is no attribute of a graph; known are: rankdir, label"], id="setting"
        ),
        pytest.param(
            "digraph { node -> b }",
            ["1:11: 'node' is a keyword; " + KEYWORD],
            id="keyword",
        ),
        pytest.param(
            'digraph { a -> "b }',
            [
                '1:16: a quoted name is not closed; end it with "',
                f"1:20: a name is expected, but here is the end of the text; {SIDES}",
                "1:9: the brace is not closed; end the graph with }",
            ],
            id="open-quote",
        ),
        pytest.param(
            "digraph { a [color=#ff0000] }",
            [
                "1:20: '#' means nothing here; a name with signs needs double quotes",
            ],
            id="colour-without-quotes",
        ),
    ],
)
def test_what_is_refused(text, expected):
    assert [complaint.headline() for complaint in read(text).complaints] == [f"g:{message}" for message in expected]

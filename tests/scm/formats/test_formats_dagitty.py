"""DAGitty's text: what is read, and what is refused with which words."""

from __future__ import annotations

import pytest

from crda_spec.scm.formats import read_graph


def read(text):
    return read_graph(text, "dagitty", file="g")


def headlines(text):
    return [complaint.headline() for complaint in read(text).complaints]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("dag { a -> b }", ["a -> b"], id="arrow"),
        pytest.param("dag{a->b}", ["a -> b"], id="no-spaces"),
        pytest.param("strict DAG name { a -> b }", ["a -> b"], id="strict-and-named"),
        pytest.param("\ufeffdag { a -> b }", ["a -> b"], id="byte-order-mark"),
        pytest.param("dag {\r\na -> b\r\nb -> c\r\n}\r\n", ["a -> b", "b -> c"], id="windows-lines"),
        pytest.param("dag { a <- b <-> c }", ["b -> a", "b <-> c"], id="all-arrows"),
        pytest.param("dag { a -> b -> c; c -> d\ne -> d }", ["a -> b", "b -> c", "c -> d", "e -> d"], id="separators"),
        pytest.param("dag { a -> {b c} <- d }", ["a -> b", "a -> c", "d -> b", "d -> c"], id="fan-out"),
        pytest.param("dag { {a -> b; c} -> d }", ["a -> b", "a -> d", "b -> d", "c -> d"], id="edges-in-braces"),
        pytest.param("dag { a\n-> b ->\nc }", ["a -> b", "b -> c"], id="over-lines"),
        pytest.param('dag { "a b" -> "say \\"so\\"" }', ['a b -> say "so"'], id="quotes"),
        pytest.param('dag { "a\\\\" b" -> c }', ['a\\" b -> c'], id="backslash-before-an-escape"),
        pytest.param('dag { "a" + " b" -> c }', ["a b -> c"], id="joined-quotes"),
        pytest.param("dag { a -> b # -> c\n// d -> e\n/* f -> \n g */ b -> c }", ["a -> b", "b -> c"], id="comments"),
        pytest.param('dag { "a # b" -> c }', ["a # b -> c"], id="no-comment-in-quotes"),
        pytest.param("dag { x [exposure] y [outcome] x -> y }", ["x -> y"], id="after-brackets"),
        pytest.param('dag { a -> b [beta=-0.3, pos="1,2"] }', ["a -> b"], id="edge-attributes"),
        pytest.param("dag { 1 -> x.2 }", ["1 -> x.2"], id="digits-and-dots"),
    ],
)
def test_the_language(text, expected):
    found = read(text)
    assert found.complaints == ()
    assert [str(edge) for edge in found.edges] == expected


def test_roles_positions_and_what_is_lost():
    found = read('dag { bb="0,0,1,1" a [latent, pos="-1.5,2"] b [unobserved;adjusted] c[selected] a -> b [pos="1,2"] }')
    assert found.complaints == ()
    assert found.roles == {"latent": ("a", "b"), "adjusted": ("b",), "selected": ("c",)}
    assert found.positions == {"a": (-1.5, 2.0)}
    assert found.lost == ("the bounding box", "the pos of an edge")


def test_places_of_names_and_edges():
    found = read("dag {\n  a -> b\n  {c d} -> b }")
    assert [str(edge.place) for edge in found.edges] == ["g:2:3", "g:3:4", "g:3:6"]
    assert {name: str(place) for name, place in found.nodes.items()} == {
        "a": "g:2:3",
        "b": "g:2:8",
        "c": "g:3:4",
        "d": "g:3:6",
    }


BESIDE = "a name with spaces or signs needs double quotes; separate statements by ; or a line break"
DIRECTION = "does not say which of the two is the cause, so it is not a causal claim"
WRITE = "write ->, <- or, for a hidden common cause, <->"
SIDES = "write a node's name on both sides of an arrow, as in a -> b"
CLASS = "can have edges without a direction, and those are not a causal claim"
DECIDE = "decide on the direction of each edge and write dag { ... }"
KNOWN = "known are: exposure, outcome, latent, unobserved, adjusted, selected, pos"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("pdag { a -> b }", [f"1:1: a pdag {CLASS}; {DECIDE}"], id="pdag"),
        pytest.param("mag { a <-> b }", [f"1:1: a mag {CLASS}; {DECIDE}"], id="mag"),
        pytest.param(
            "digraph { a -> b }",
            ["1:1: a digraph is DOT, not DAGitty; read the graph as dot, or write dag { ... }"],
            id="dot",
        ),
        pytest.param(
            "a -> b",
            [
                "1:3: a brace is expected, but here is '->'; write the edges between { and }",
                "1:1: the graph does not start with dag {; write dag { a -> b }",
            ],
            id="no-dag",
        ),
        pytest.param("dag { a -- b }", [f"1:9: '--' {DIRECTION}; {WRITE}"], id="undirected"),
        pytest.param("dag { a @-@ b }", [f"1:9: '@-@' {DIRECTION}; {WRITE}"], id="circles"),
        pytest.param("dag { a --> b }", ["1:9: '-->' is not an arrow; write ->, <- or <->"], id="long-arrow"),
        pytest.param("dag { a => b }", ["1:9: '=>' is not an arrow; write ->, <- or <->"], id="double-arrow"),
        pytest.param("dag { x-1 -> y }", [f"1:8: '-1' follows 'x' on the same line; {BESIDE}"], id="hyphen"),
        pytest.param("dag { Fly Ash -> y }", [f"1:11: 'Ash' follows 'Fly' on the same line; {BESIDE}"], id="space"),
        pytest.param(
            "dag {\n'a b' -> y }",
            [
                "2:1: \"'a b'\" is in single quotes; write names in double quotes",
                f"2:7: a name is expected, but here is '->'; {SIDES}",
            ],
            id="single-quotes",
        ),
        pytest.param('dag { "a -> b\nc -> d }', ['1:7: a quoted name is not closed; end it with "'], id="open-quote"),
        pytest.param("dag { a -> b", ["1:5: the brace is not closed; end the graph with }"], id="open-brace"),
        pytest.param("dag { a -> {b c", ["1:12: the brace is not closed; end the group with }"], id="open-group"),
        pytest.param(
            "dag { a -> {} }", ["1:12: the braces are empty; name at least one node, as in {a b}"], id="empty-group"
        ),
        pytest.param(
            "dag { a -> {b, c} }",
            ["1:14: a comma between names in braces; separate them by spaces, as in {a b}"],
            id="comma",
        ),
        pytest.param(
            "dag { a -> b /* c }",
            ["1:14: a comment is not closed; end it with */", "1:5: the brace is not closed; end the graph with }"],
            id="open-comment",
        ),
        pytest.param(
            "dag { a -> b } c",
            ["1:16: 'c' stands after the end of the graph; write one graph, in one pair of braces"],
            id="after",
        ),
        pytest.param("dag { a -> }", [f"1:12: a name is expected, but here is '}}'; {SIDES}"], id="no-head"),
        pytest.param("dag { -> a }", [f"1:7: a name is expected, but here is '->'; {SIDES}"], id="no-tail"),
        pytest.param('dag { "" -> a }', ["1:7: a name is empty; write the node's name"], id="empty-name"),
        pytest.param(
            "dag { a [laten] }", ["1:10: 'laten' is no attribute of a node; did you mean 'latent'?"], id="typo"
        ),
        pytest.param("dag { a [zzz] }", [f"1:10: 'zzz' is no attribute of a node; {KNOWN}"], id="unknown"),
        pytest.param("dag { a [latent=1] }", ["1:10: 'latent' takes no value; write [latent]"], id="value"),
        pytest.param(
            'dag { a [pos="1"] b [pos] }',
            [
                "1:10: '1' is not a position; write two numbers, as in pos=\"0.5,-1\"",
                "1:22: '' is not a position; write two numbers, as in pos=\"0.5,-1\"",
            ],
            id="position",
        ),
        pytest.param(
            'dag { a [pos="nan,1"] }',
            ["1:10: 'nan,1' is not a position; write two numbers, as in pos=\"0.5,-1\""],
            id="not-finite",
        ),
        pytest.param(
            "dag { a [latent }",
            ["1:9: the bracket is not closed before '}'; write attributes as in [latent] or [pos=\"0,1\"]"],
            id="open-bracket",
        ),
        pytest.param(
            "dag { a -> b [latent] }",
            ["1:15: 'latent' is no attribute of an edge; known are: pos, beta"],
            id="edge-role",
        ),
        pytest.param(
            "dag { {a b} [latent] }",
            ["1:14: 'latent' is said of a group; write it after each node, or after an edge"],
            id="group-role",
        ),
        pytest.param(
            "dag { c=1 a -> b }",
            [f"1:11: 'a' follows '1' on the same line; {BESIDE}", "1:7: 'c' is no attribute of a graph; known are: bb"],
            id="setting",
        ),
        pytest.param(
            "dag { a [latent, outcome] }",
            ["1:10: 'a' is both latent and the outcome; an outcome is measured; remove one of the roles"],
            id="roles",
        ),
        pytest.param(
            "dag " + "{" * 10_000,
            ["1:26: braces are nested more than 20 deep; write the edges without so many groups"],
            id="deep",
        ),
    ],
)
def test_what_is_refused(text, expected):
    assert headlines(text) == [f"g:{message}" for message in expected]


def test_everything_wrong_is_said_at_once_and_the_rest_is_read():
    found = read("dag {\na -- b\nc => d\ne -> f\ng [latnt]\n}")
    assert [str(complaint.place) for complaint in found.complaints] == ["g:2:3", "g:3:3", "g:5:4"]
    assert [str(edge) for edge in found.edges] == ["e -> f"]
    assert list(found.nodes) == ["a", "b", "c", "d", "e", "f", "g"]

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scm_worlds import World, worlds

from crda_spec.errors import GraphError
from crda_spec.scm.formats import from_edges, parse_edges, to_edges
from crda_spec.scm.formats.edges import MAX_TEXT
from crda_spec.scm.graph import CausalGraph, Edge


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("dose -> recovery", ["dose -> recovery"], id="arrow"),
        pytest.param("a <- b", ["b -> a"], id="turned"),
        pytest.param("a <-> b", ["a <-> b"], id="hidden-cause"),
        pytest.param("a->b", ["a -> b"], id="no-spaces"),
        pytest.param("  a   ->\n b  ", ["a -> b"], id="many-spaces"),
        pytest.param("a -> b -> c", ["a -> b", "b -> c"], id="chain"),
        pytest.param("a -> b <- c <-> d", ["a -> b", "c -> b", "c <-> d"], id="mixed-chain"),
        pytest.param("{a b} -> c", ["a -> c", "b -> c"], id="fan-in"),
        pytest.param("a -> {b c}", ["a -> b", "a -> c"], id="fan-out"),
        pytest.param("{a, b} -> {c, d}", ["a -> c", "a -> d", "b -> c", "b -> d"], id="all-pairs"),
        pytest.param("a -> {b c} -> d", ["a -> b", "a -> c", "b -> d", "c -> d"], id="group-in-a-chain"),
        pytest.param("{Blast Furnace Slag, Fly Ash} -> s", ["Blast Furnace Slag -> s", "Fly Ash -> s"], id="commas"),
        pytest.param('{"Fly Ash" water} -> s', ["Fly Ash -> s", "water -> s"], id="quotes-in-braces"),
        pytest.param('{"a,b", c} -> s', ["a,b -> s", "c -> s"], id="comma-in-quotes"),
        pytest.param("Blast Furnace Slag -> strength", ["Blast Furnace Slag -> strength"], id="spaces-in-a-name"),
        pytest.param("Jitter(%) -> total_UPDRS", ["Jitter(%) -> total_UPDRS"], id="percent"),
        pytest.param("Jitter:PPQ5 -> x-1", ["Jitter:PPQ5 -> x-1"], id="colon-and-hyphen"),
        pytest.param("x- -> -y", ["x- -> -y"], id="hyphens-at-the-ends"),
        pytest.param("a - b -- c -> d=e", ["a - b -- c -> d=e"], id="dashes-alone-belong-to-names"),
        pytest.param('"p < 0.05" -> "a -> b"', ["p < 0.05 -> a -> b"], id="arrows-in-quotes"),
        pytest.param(r'"say \"so\"" -> "back\\slash"', [r'say "so" -> back\slash'], id="escapes"),
        pytest.param(r"back\slash -> y", [r"back\slash -> y"], id="bare-backslash"),
        pytest.param('" a " -> y', [" a  -> y"], id="spaces-kept-in-quotes"),
        pytest.param("größe -> 体重", ["größe -> 体重"], id="any-alphabet"),
    ],
)
def test_the_edge_language(text, expected):
    edges, complaints = parse_edges([text])
    assert complaints == ()
    assert [str(edge) for edge in edges] == expected


ARROW = "write ->, <- or <->, with a space on both sides; a name with < or > needs double quotes"
SIDES = "write a node on both sides, as in a -> b"
CLOSE = "end the group with }"
COMMA = "a comma without a name beside it; remove the comma or add a name"
SEMICOLON = "a semicolon; write each statement as its own entry; a name with ; needs double quotes"
BRACES = "a name with braces needs double quotes"
STRAY = f"a closing brace that nothing opened; write {{ before the first name; {BRACES}"
SECOND = f"an opening brace after a name or inside braces; close the group and write an arrow first; {BRACES}"
OUTSIDE = (
    "a comma outside braces; put several names in braces, as in {a, b} -> c; a name with a comma needs double quotes"
)
LARGE = "the entry stands for 160000 edges, and at most 100000 are allowed; leave out what is not tied to the target"
LONG = "the entry has 10001 characters, and at most 10000 are read; write it as several entries"
BETWEEN = "put an arrow between them, or several names in braces, as in {a b} -> c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "dose", ["character 1: 'dose' has no arrow; write an edge, such as dose -> recovery"], id="no-arrow"
        ),
        pytest.param("", ["character 1: '' has no arrow; write an edge, such as dose -> recovery"], id="empty"),
        pytest.param(
            "->",
            [f"character 1: no name before the arrow; {SIDES}", f"character 1: no name after the arrow; {SIDES}"],
            id="only-an-arrow",
        ),
        pytest.param("-> b", [f"character 1: no name before the arrow; {SIDES}"], id="nothing-before"),
        pytest.param("a -> ", [f"character 3: no name after the arrow; {SIDES}"], id="nothing-after"),
        pytest.param("a -> -> b", [f"character 6: no name before the arrow; {SIDES}"], id="nothing-between"),
        pytest.param("a --> b", [f"character 3: '-->' is not an arrow; {ARROW}"], id="long-arrow"),
        pytest.param("a => b", [f"character 3: '=>' is not an arrow; {ARROW}"], id="double-arrow"),
        pytest.param("p<0.05 -> y", [f"character 2: '<' is not an arrow; {ARROW}"], id="less-than"),
        pytest.param(
            'a -> "b',
            [
                'character 6: a quoted name is not closed; end it with "',
                f"character 3: no name after the arrow; {SIDES}",
            ],
            id="open-quote",
        ),
        pytest.param(
            '"" -> b', ["character 1: the quotes hold no name; write the node's name between them"], id="empty-quotes"
        ),
        pytest.param('"a" b -> c', [f"character 5: 'b' follows a name without an arrow; {BETWEEN}"], id="two-names"),
        pytest.param(
            "{} -> c", ["character 1: the braces are empty; name at least one node, as in {a b}"], id="empty-braces"
        ),
        pytest.param(
            "{a b -> c",
            [f"character 1: the brace is not closed before the arrow; {CLOSE}"],
            id="open-brace-before-arrow",
        ),
        pytest.param("c -> {a b", [f"character 6: the brace is not closed; {CLOSE}"], id="open-brace"),
        pytest.param("a} -> c", [f"character 2: {STRAY}"], id="stray-brace"),
        pytest.param("{a {b}} -> c", [f"character 4: {SECOND}", f"character 7: {STRAY}"], id="nested"),
        pytest.param("{a,, b} -> c", [f"character 4: {COMMA}"], id="two-commas"),
        pytest.param("{a, b,} -> c", [f"character 6: {COMMA}"], id="last-comma"),
        pytest.param(
            '{a, b "c"} -> d', ["character 7: no comma before 'c'; separate the names by commas"], id="no-comma"
        ),
        pytest.param("a, b -> c", [f"character 2: {OUTSIDE}"], id="comma-outside"),
        pytest.param("a -> b; c -> d", [f"character 7: {SEMICOLON}"], id="semicolon"),
        pytest.param("a -> b;", [f"character 7: {SEMICOLON}"], id="last-semicolon"),
        pytest.param("a" * (MAX_TEXT + 1), [f"character 10001: {LONG}"], id="too-long"),
        pytest.param(f"{{{'a ' * 400}}} -> {{{'b ' * 400}}}", [f"character 1: {LARGE}"], id="too-many"),
    ],
)
def test_a_bad_entry_is_refused_at_its_character(text, expected):
    edges, complaints = parse_edges(["a -> b", text], path="here")
    assert [str(edge) for edge in edges] == ["a -> b"]
    assert [complaint.headline() for complaint in complaints] == [f"here.1: {message}" for message in expected]


def test_edges_remember_their_entry_and_characters():
    edges, _ = parse_edges(["a -> b", "x <- {y, long name}"])
    assert [(edge.path, edge.at) for edge in edges] == [
        ("causal.graph.edges.0", (1, 6)),
        ("causal.graph.edges.1", (7, 1)),
        ("causal.graph.edges.1", (10, 1)),
    ]


def test_text_and_graph_are_complained_about_together_but_nothing_is_missed_that_could_not_be_read():
    with pytest.raises(GraphError) as caught:
        from_edges(
            ["dose => recovery", "age -> doze", "age -> age"],
            columns=["dose", "age", "recovery"],
            target="recovery",
            latents=["severity"],
        )
    assert str(caught.value) == (
        f"causal.graph.edges.0: character 6: '=>' is not an arrow; {ARROW}\n"
        "causal.graph.edges.1: character 8: 'doze' is neither a column of the data nor a latent node; "
        "did you mean 'dose'? if nobody measured it, list it under latent\n"
        "causal.graph.edges.2: age -> age makes 'age' its own cause; "
        "remove the edge; an earlier value of the same quantity is another node\n"
        "3 problems"
    )


def test_an_unknown_name_is_shown_at_its_character_also_when_the_arrow_points_left():
    with pytest.raises(GraphError) as caught:
        from_edges(["recovery <- {dose, agee}"], columns=["dose", "age", "recovery"], target="recovery")
    assert str(caught.value) == (
        "causal.graph.edges.0: character 20: 'agee' is neither a column of the data nor a latent node; "
        "did you mean 'age'? if nobody measured it, list it under latent"
    )


def test_the_writer_quotes_only_what_needs_it():
    columns = ["Jitter(%)", "x-1", "p < 5", "a, b", 'a "b"', " pad", "y"]
    graph = CausalGraph.build([Edge(name, "y") for name in columns[:-1]], columns=columns, target="y")
    assert to_edges(graph) == (
        '" pad" -> y',
        "Jitter(%) -> y",
        '"a \\"b\\"" -> y',
        '"a, b" -> y',
        '"p < 5" -> y',
        "x-1 -> y",
    )


@settings(max_examples=100, deadline=None)
@given(world=worlds())
def test_a_written_graph_is_read_back(world: World):
    graph = world.graph()
    back = from_edges(
        to_edges(graph),
        columns=world.columns,
        target="y",
        features=world.features,
        latents=world.latents,
        noise_parents=world.noise_parents,
    )
    assert back == graph
    assert back.dag == graph.dag


NAMES = st.text(st.sampled_from(string.ascii_letters[:4] + '<>-={},;"\\ ~().%:\n\téß'), min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(names=st.lists(NAMES | st.text(min_size=1, max_size=5), min_size=3, max_size=4, unique=True))
def test_any_names_survive_writing_and_reading(names):
    edges = [Edge(names[0], names[1]), Edge(names[1], names[2]), Edge(names[0], names[2], "<->")]
    graph = CausalGraph.build(edges, columns=names, target=names[2])
    assert from_edges(to_edges(graph), columns=names, target=names[2]) == graph


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b ", '"', "\\", "{", "}", ",", ";", "->", "<-", "<->", "-", ">", " "]), max_size=12)
)
def test_any_text_is_read_or_complained_about(parts):
    edges, complaints = parse_edges(["".join(parts)])
    assert bool(edges) != bool(complaints)
    assert all(edge.tail and edge.head for edge in edges)

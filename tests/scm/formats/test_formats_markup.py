"""GML and GraphML: what is read, and what is refused with which words; XML cannot expand or fetch anything."""

from __future__ import annotations

import pytest

from crda_spec.scm.formats import read_graph

UNDIRECTED = "the graph is not directed, and edges without a direction are not a causal claim"
SOURCE = "make the cause its source; for a hidden common cause, say bidirected"
SEVERAL = "a key has a value of the wrong kind, or several"
N = 'node [ id 0 label "a" ] node [ id 1 label "b" ]'


def gml(inside, head="directed 1"):
    return read_graph(f"graph [ {head}\n{inside}\n]", "gml", file="g")


def graphml(inside, head="", default="directed"):
    return read_graph(
        f'<graphml>{head}<graph edgedefault="{default}">\n{inside}\n</graph></graphml>', "graphml", file="g"
    )


def test_gml_is_read():
    found = read_graph(
        'Creator "someone"\nVersion 1\n# a comment\ngraph [ directed 1 label "trial"\n'
        'edge [ source 0 target 1 weight 2 mark "<->" ]\n'
        'node [ id 0 label "a &amp; &#233;&#x41;&nope;&#10;2" latent 1 graphics [ x 1 y -2.5E3 w 3 ] ]\n'
        'node [ id 1 label 7 outcome "true" noise 0 ] ]',
        "gml",
        file="g",
    )
    assert found.complaints == ()
    assert [str(edge) for edge in found.edges] == ["a & éA&nope;\n2 <-> 7"]
    assert found.roles == {"latent": ("a & éA&nope;\n2",), "outcome": ("7",)}
    assert found.positions == {"a & éA&nope;\n2": (1.0, -2500.0)}
    assert found.lost == (
        "the Creator of the file",
        "the Version of the file",
        "the label of the graph",
        "the graphics of a node",
        "the weight of an edge",
    )
    assert str(found.edges[0].place) == "g:5:1"


CANNOT = "networkx cannot read it"
KEYS_AND_VALUES = 'write keys with their values, as in node [ id 0 label "dose" ]'


@pytest.mark.parametrize(
    ("inside", "place", "reason"),
    [
        pytest.param('node [ label "a" ]', "2:1", "node #0 has no 'id' attribute", id="no-id"),
        pytest.param(f"{N} edge [ source 0 ]", "2:49", "edge #0 has no 'target' attribute", id="no-target"),
        pytest.param(f"{N} edge [ source 0 target 7 ]", "2:49", "edge #0 has undefined target 7", id="unknown-id"),
        pytest.param(f'{N} node [ id 0 label "c" ]', "", "node id 0 is duplicated", id="same-id"),
        pytest.param('node [ id 0 id 1 label "a" ]', "", SEVERAL, id="two-ids"),
        pytest.param('node [ id 0 label "a" u_of_edge 1 ] node 5', "", SEVERAL, id="no-list"),
        pytest.param(f"{N} 5", "2:1", "expected ']', found 5", id="no-key"),
        pytest.param(f"{N} edge", "3:1", "expected an int, float, string or '[', found ']'", id="no-value"),
        pytest.param(f"? {N}", "2:1", f"cannot tokenize ? {N}", id="sign"),
        pytest.param(f"{N} edge [", "3:1", "expected ']', found EOF", id="open-bracket"),
        pytest.param(f"{N} ] ]", "2:1", "expected EOF, found ']'", id="stray-bracket"),
        pytest.param(f"{N} x {'9' * 5000}", "", SEVERAL, id="endless-number"),
    ],
)
def test_what_networkx_cannot_read_is_refused_with_its_reason(inside, place, reason):
    where = f"g:{place}" if place else "g"
    assert [complaint.headline() for complaint in gml(inside).complaints] == [
        f"{where}: {CANNOT}: {reason}; {KEYS_AND_VALUES}"
    ]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        pytest.param(
            f'{N} node [ id 2 label "a" ]',
            ["2:49: a second node has the label 'a'; give each node its own label"],
            id="same-label",
        ),
        pytest.param(
            "node [ id 0 ]", ['2:1: the node 0 needs one label; write label "..." inside its brackets'], id="no-label"
        ),
        pytest.param('node [ id 0 label "" ]', ["2:1: a name is empty; write the node's name"], id="empty-label"),
        pytest.param(
            'node [ id 0 label "a&#55296;" ]',
            [r"2:1: 'a\ud800' is no name: half of a surrogate pair is no character; rename the node"],
            id="surrogate",
        ),
        pytest.param(
            'node [ id 0 label "a" latnt 1 ]',
            ["2:1: 'latnt' is no attribute of the node 'a'; did you mean 'latent'?"],
            id="typo",
        ),
        pytest.param(
            'node [ id 0 label "a" latent 2 ]',
            ["2:1: latent of 'a' is 2, which is neither true nor false; write latent 1"],
            id="flag",
        ),
        pytest.param(
            'node [ id 0 label "a" latent 1 latent 0 ]',
            ["2:1: latent of 'a' is [1, 0], which is neither true nor false; write latent 1"],
            id="two-flags",
        ),
        pytest.param(
            f'{N} edge [ source 0 target 1 mark "--" ]',
            ["2:49: the mark of a -> b is '--'; write '->' or '<->'"],
            id="mark",
        ),
        pytest.param("nodes [ ] " + N, ["2:1: 'nodes' is no key of a graph; did you mean 'node'?"], id="graph-key"),
        pytest.param(
            'node [ id 0 label "a ]',
            ['2:19: a quoted text is not closed; end it with " on the same line; a line break inside it is &#10;'],
            id="open-quote",
        ),
        pytest.param(
            "node [ graphics " + "[ a " * 5000,
            ["2:89: brackets are nested more than 20 deep; write nodes and edges only"],
            id="deep",
        ),
        pytest.param(
            "node [ id 0 label ] ]",
            ["2:13: 'label' has no value; write a number or a text in double quotes after it"],
            id="label-is-a-bracket",
        ),
        pytest.param(
            f"{N} ] graph [ directed 1",
            ["2:51: a second graph; write one graph to a file: graph [ directed 1 ... ]"],
            id="two-graphs",
        ),
        pytest.param(f"{N} ] node [", ["2:51: 'node' is no key of a file; known are: graph"], id="outside-the-graph"),
        pytest.param(
            f"{N} crdaOffset 1", ["2:49: 'crdaOffset' is no key of a file; known are: graph"], id="our-own-key"
        ),
    ],
)
def test_gml_is_refused(inside, expected):
    assert [complaint.headline() for complaint in gml(inside).complaints] == [f"g:{message}" for message in expected]


@pytest.mark.parametrize(
    ("head", "place"),
    [
        pytest.param("", "1:1", id="not-said"),
        pytest.param("directed 0", "1:9", id="no"),
        pytest.param('directed "0"', "1:9", id="text"),
        pytest.param("directed 0 directed 0", "1:9", id="twice"),
        pytest.param("directed [ ]", "1:9", id="list"),
    ],
)
def test_undirected_gml_is_refused(head, place):
    assert [complaint.headline() for complaint in gml(N, head).complaints] == [
        f"g:{place}: {UNDIRECTED}; write directed 1, and the cause as source"
    ]


KEYS = (
    '<key id="k0" for="node" attr.name="latent" attr.type="boolean"><default>false</default></key>'
    '<key id="k1" for="node" attr.name="label" attr.type="string"/>'
    '<key id="k2" for="edge" attr.name="bidirected" attr.type="boolean"/>'
    '<key id="k3" for="node" attr.name="colour" attr.type="string"/>'
    '<key id="k4" for="node" attr.name="latnt" attr.type="boolean"/>'
    '<key id="k5" for="node" yfiles.type="nodegraphics"/>'
)


def test_graphml_is_read():
    found = read_graph(
        '<?xml version="1.0" encoding="iso-8859-1"?>\n<!-- é -->\n'
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="urn:y">{KEYS}\n'
        '<graph edgedefault="directed"><data key="k1">x</data>\n'
        '<edge source="n1" target="n0"><desc>why</desc><data key="k2">True</data></edge>\n'
        'é<node id="n0"><data key="k1">Fly &lt; <![CDATA[&]]></data></node>\n'
        '<node id="n1"><data key="k0">true</data><data key="k5"><y:Shape><y:Deep/></y:Shape></data></node>\n'
        "</graph></graphml>",
        "graphml",
        file="g",
    )
    assert found.complaints == ()
    assert [str(edge) for edge in found.edges] == ["n1 <-> Fly < &"]
    assert found.latents == ("n1",)
    assert str(found.edges[0].place) == "g:5:1"
    assert [str(place) for place in found.nodes.values()] == ["g:6:2", "g:7:1"]
    assert found.lost == ("data of the graph", "the nodegraphics of a node")


def test_defaults_of_graphml_hold_for_those_that_do_not_speak():
    keys = KEYS.replace("<default>false", "<default>true")
    found = graphml('<node id="a"/><node id="b"><data key="k0">0</data></node>', keys)
    assert found.complaints == ()
    assert found.latents == ("a",)


CLOSED = "write one <graphml> element, every tag closed"
INSIDE = "write nodes and edges inside one <graph>, keys before it"
NODE = "name, label, latent, additive, outcome, exposure, adjusted, selected, noise, unrelated, x, y"
AB = '<node id="a"/><node id="b"/>'


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        pytest.param("<node/>", ['2:1: the node has no id; write <node id="..."/>'], id="no-id"),
        pytest.param('<node id=""/>', ["2:1: a name is empty; write the node's name"], id="empty-id"),
        pytest.param(
            f'{AB}<node id="a"/>', ["2:29: a second node has the id 'a'; give each node its own id"], id="same-id"
        ),
        pytest.param(
            f'{AB}<node id="c"><data key="k1">a</data></node>',
            ["2:29: a second node has the name 'a'; give each node its own name"],
            id="same-name",
        ),
        pytest.param(
            f'{AB}<edge source="a"/>', ['2:29: the edge has no target; write <edge target="..."/>'], id="no-target"
        ),
        pytest.param(
            f'{AB}<edge source="a" target="c"/>', ["2:29: no node has the id 'c'; the ids are: a, b"], id="unknown-id"
        ),
        pytest.param(
            f'{AB}<edge source="a" target="b" directed="false"/>',
            [f"2:29: the edge is not directed, so it is not a causal claim; {SOURCE}"],
            id="undirected-edge",
        ),
        pytest.param(
            '<node id="a"><data key="zz">1</data></node>',
            ["2:14: no key 'zz' is declared; declared are: k0, k1, k2, k3, k4, k5"],
            id="undeclared",
        ),
        pytest.param(
            '<node id="a"><data key="k4">1</data></node>',
            ["2:1: 'latnt' is no attribute of the node 'a'; did you mean 'latent'?"],
            id="typo",
        ),
        pytest.param(
            '<node id="a"><data key="k3">red</data></node>',
            [f"2:1: 'colour' is no attribute of the node 'a'; known are: {NODE}"],
            id="unknown-data",
        ),
        pytest.param(
            '<node id="a"><data key="k0">si</data></node>',
            ["2:1: latent of 'a' is 'si', which is neither true nor false; write true or false"],
            id="flag",
        ),
        pytest.param(
            '<node id="a"><data key="k0">1</data><data key="k0">0</data></node>',
            ["2:37: 'latent' is said twice; remove one"],
            id="twice",
        ),
        pytest.param(f"{AB}<hyperedge/>", [f"2:29: <hyperedge> inside <graph> is not read; {INSIDE}"], id="hyperedge"),
        pytest.param(
            '<node id="a"><graph/></node>', [f"2:14: <graph> inside <node> is not read; {INSIDE}"], id="nested"
        ),
        pytest.param(
            f"{AB}<oops>",
            [
                "3:3: this is not XML: mismatched tag; write one <graphml> element, every tag closed",
            ],
            id="open-tag",
        ),
        pytest.param(
            '<node id="a/>',
            ["3:1: this is not XML: not well-formed (invalid token); write one <graphml> element, every tag closed"],
            id="open-quote",
        ),
    ],
)
def test_graphml_is_refused(inside, expected):
    found = graphml(inside, KEYS)
    assert [complaint.headline() for complaint in found.complaints] == [f"g:{message}" for message in expected]


def test_undirected_graphml_is_refused():
    assert [complaint.headline() for complaint in graphml(AB, default="undirected").complaints] == [
        f'g:1:10: {UNDIRECTED}; write edgedefault="directed", and the cause as source'
    ]


BOMB = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))


@pytest.mark.parametrize(
    "doctype",
    [
        pytest.param(f'<!DOCTYPE graphml [<!ENTITY e0 "ha">{BOMB}]>', id="billion-laughs"),
        pytest.param('<!DOCTYPE graphml [<!ENTITY e12 SYSTEM "file:///etc/passwd">]>', id="external-entity"),
        pytest.param('<!DOCTYPE graphml SYSTEM "http://localhost/evil.dtd">', id="external-dtd"),
        pytest.param("<!DOCTYPE graphml>", id="harmless"),
    ],
)
def test_a_document_type_is_refused_before_anything_expands(doctype):
    text = f'{doctype}<graphml><graph edgedefault="directed"><node id="&e12;"/></graph></graphml>'
    found = read_graph(text, "graphml", file="g")
    assert [complaint.headline() for complaint in found.complaints] == [
        "g:1:1: a document type declaration is refused: it can define entities; remove <!DOCTYPE ...>"
    ]
    assert found.nodes == {}


def test_an_entity_that_nothing_defines_is_refused():
    found = graphml('<node id="&e12;"/>')
    assert [complaint.headline() for complaint in found.complaints] == [
        "g:2:1: this is not XML: undefined entity; write one <graphml> element, every tag closed"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("<a>" * 200_000, f"1:600001: this is not XML: no element found; {CLOSED}", id="open"),
        pytest.param("<a>" * 200_000 + "</a>" * 200_000, f"1:1: <a> at the top is not read; {INSIDE}", id="closed"),
        pytest.param(
            "<a>\ud800</a>", " this is not XML: half of a surrogate pair is no character; remove it", id="surrogate"
        ),
    ],
)
def test_what_is_no_graphml_gives_one_complaint(text, expected):
    found = read_graph(text, "graphml", file="g")
    assert [complaint.headline() for complaint in found.complaints] == [f"g:{expected}"]


def test_a_comment_with_a_quotation_mark_swallows_no_line():
    """networkx takes it for the start of a text that goes on over lines."""
    found = gml(f'{N}\n# a 5" pipe\nedge [ source 0 target 1 ] # so "\nnode [ id 2 label "c" ]')
    assert (found.complaints, list(found.nodes), [str(edge) for edge in found.edges]) == (
        (),
        ["a", "b", "c"],
        ["a -> b"],
    )


def test_what_an_editor_adds_to_graphml_is_read_over():
    data = '<data key="k5"><y:ShapeNode xmlns:y="urn:y"><y:NodeLabel>z</y:NodeLabel></y:ShapeNode></data>'
    found = graphml(f'<!-- <node id="x"/> --><node id="a" yfiles.foldertype="group">{data}</node><node id="b"/>', KEYS)
    assert (found.complaints, list(found.nodes), found.lost) == ((), ["a", "b"], ("the nodegraphics of a node",))
    assert [str(place) for place in found.nodes.values()] == ["g:2:24", f"g:2:{70 + len(data)}"]

"""GML and GraphML: what is read, and what is refused with which words; XML cannot expand or fetch anything."""

from __future__ import annotations

import pytest

from crda_spec.scm.formats import read_graph

UNDIRECTED = "the graph is not directed, and edges without a direction are not a causal claim"
SOURCE = "make the cause its source; for a hidden common cause, say bidirected"
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
        'node [ id 0 label "a &amp; &#233;&#x41;&nope;\n2" latent 1 graphics [ x 1 y -2.5E3 w 3 ] ]\n'
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


IDS = "write id and a value inside its brackets"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        pytest.param('node [ label "a" ]', [f"2:1: the node has no id; {IDS}"], id="no-id"),
        pytest.param(
            f"{N} edge [ source 0 ]",
            ["2:49: the edge has no target; write target and a value inside its brackets"],
            id="no-target",
        ),
        pytest.param(
            f"{N} edge [ source 0 target 7 ]", ["2:72: no node has the id '7'; the ids are: 0, 1"], id="unknown-id"
        ),
        pytest.param(
            f'{N} node [ id 0 label "c" ]',
            ["2:59: a second node has the id '0'; give each node its own id"],
            id="same-id",
        ),
        pytest.param(
            f'{N} node [ id 2 label "a" ]',
            ["2:67: a second node has the label 'a'; give each node its own label"],
            id="same-label",
        ),
        pytest.param('node [ id 0 label "" ]', ["2:19: a name is empty; write the node's name"], id="empty-label"),
        pytest.param(
            'node [ id 0 id 1 label "a" ]',
            ["2:13: the node needs one id with one value; remove the rest"],
            id="two-ids",
        ),
        pytest.param(
            'node [ id 0 label "a" latnt 1 ]', ["2:23: 'latnt' is no key of a node; did you mean 'latent'?"], id="typo"
        ),
        pytest.param(
            'node [ id 0 label "a" latent 2 ]',
            ["2:30: latent is '2', which is neither 1 nor 0; write latent 1"],
            id="flag",
        ),
        pytest.param(
            f'{N} edge [ source 0 target 1 mark "--" ]', ['2:79: the mark is \'--\'; write "->" or "<->"'], id="mark"
        ),
        pytest.param("node 5", ["2:6: a node is '5'; write node [ ... ]"], id="no-list"),
        pytest.param("nodes [ ] " + N, ["2:1: 'nodes' is no key of a graph; did you mean 'node'?"], id="graph-key"),
        pytest.param(f"{N} 5", ["2:49: a key is expected, but here is '5'; write pairs, as in id 0"], id="no-key"),
        pytest.param(
            f"{N} edge",
            ["2:49: 'edge' has no value; write a number, a text in double quotes or [ ... ]"],
            id="no-value",
        ),
        pytest.param(f"{N} ?", ["2:49: '?' means nothing here; put it in double quotes"], id="sign"),
        pytest.param(
            'node [ id 0 label "a ]',
            [
                '2:19: a quoted text is not closed; end it with "',
                "2:13: 'label' has no value; write a number, a text in double quotes or [ ... ]",
                "2:1: the node has no label; write label and a value inside its brackets",
            ],
            id="open-quote",
        ),
        pytest.param(
            f"{N} edge [",
            [
                "1:7: the bracket is not closed; end it with ]",
                "2:49: the edge has no source; write source and a value inside its brackets",
                "2:49: the edge has no target; write target and a value inside its brackets",
            ],
            id="open-bracket",
        ),
        pytest.param(f"{N} ] ]", ["2:51: a bracket closes that nothing opened; remove it"], id="stray-bracket"),
        pytest.param(
            "node [ graphics " + "[ a " * 5000,
            [
                "2:89: brackets are nested more than 20 deep; write nodes and edges only",
                f"2:1: the node has no id; {IDS}",
                "2:1: the node has no label; write label and a value inside its brackets",
            ],
            id="deep",
        ),
    ],
)
def test_gml_is_refused(inside, expected):
    assert [complaint.headline() for complaint in gml(inside).complaints] == [f"g:{message}" for message in expected]


@pytest.mark.parametrize(("head", "place"), [("", "1:1"), ("directed 0", "1:9")])
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


INSIDE = "write nodes and edges inside one <graph>, keys before it"
NODE = "name, label, latent, outcome, exposure, adjusted, selected, noise, x, y"
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
            ["2:14: 'latnt' is no data of a node; did you mean 'latent'?"],
            id="typo",
        ),
        pytest.param(
            '<node id="a"><data key="k3">red</data></node>',
            [f"2:14: 'colour' is no data of a node; known are: {NODE}"],
            id="unknown-data",
        ),
        pytest.param(
            '<node id="a"><data key="k0">si</data></node>',
            ["2:14: latent is 'si', which is neither true nor false; write true or false"],
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
                f"2:29: <oops> inside <graph> is not read; {INSIDE}",
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


def test_deep_xml_ends_with_few_complaints():
    found = read_graph("<a>" * 200_000, "graphml", file="g")
    assert [complaint.headline() for complaint in found.complaints] == [
        f"g:1:1: <a> at the top is not read; {INSIDE}",
        "g:1:600001: this is not XML: no element found; write one <graphml> element, every tag closed",
    ]

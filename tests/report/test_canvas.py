"""The PNG: the same picture as the SVG, the same bytes every time, and the colours where they belong."""

from __future__ import annotations

import io
import struct
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.image import imread

from crda_spec.records import DrawnGraph, FeatureVerdict, Stated
from crda_spec.report.canvas import LONGEST_SIDE, SCALE, graph_png
from crda_spec.report.graph_draw import graph_svg
from crda_spec.report.graph_scene import RING, scene
from crda_spec.report.svg import LIGHT


def pixels(data):
    return np.rint(imread(io.BytesIO(data))[:, :, :3] * 255).astype(int)


def colour(name):
    return tuple(int(LIGHT[name][start : start + 2], 16) for start in (1, 3, 5))


def amount(image, name):
    return int(np.all(image == colour(name), axis=2).sum())


def chunks(data):
    """The names of a PNG's parts."""
    found, at = [], 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        found.append(data[at + 4 : at + 8].decode())
        at += size + 12
    return found


def test_it_is_a_png_twice_the_size_of_the_svg_and_nothing_else_is_in_it(build):
    certificate = build("accepted").certificate
    data = graph_png(certificate.graph, certificate.features)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    root = ET.fromstring(graph_svg(certificate.graph, certificate.features))  # noqa: S314 - our own output
    width, height = struct.unpack(">II", data[16:24])
    assert width == pytest.approx(SCALE * float(root.get("width")), abs=2)
    assert height == pytest.approx(SCALE * float(root.get("height")), abs=2)
    assert set(chunks(data)) == {"IHDR", "pHYs", "IDAT", "IEND"}  # no text: neither a date nor a version


def test_equal_graphs_give_equal_bytes(build):
    first, second = (build("propagated").certificate for _ in range(2))
    assert graph_png(first.graph, first.features) == graph_png(second.graph, second.features)


def test_each_box_has_the_colour_of_its_verdict(build):
    certificate = build("accepted").certificate
    image = pixels(graph_png(certificate.graph, certificate.features))
    tints = {"dose": "orange", "ward": "green", "smoker": "sky", "age": "green", "recovery": "gold", "Z": "purple"}
    boxes = {box.name: box for box in scene(certificate.graph, certificate.features).boxes}
    for name, tint in tints.items():
        box = boxes[name]
        x, y = round(SCALE * (box.right - 4)), round(SCALE * box.y)
        assert tuple(image[y, x]) == colour(f"{tint}-tint"), name
    assert tuple(image[2, 2]) == colour("ground")


def test_the_witness_path_is_orange_and_without_it_less_is(build):
    certificate = build("accepted").certificate
    bare = [replace(verdict, witness=()) for verdict in certificate.features]
    thick = pixels(graph_png(certificate.graph, certificate.features))
    plain = pixels(graph_png(certificate.graph, bare))
    assert amount(thick, "orange") > 2 * amount(plain, "orange")
    assert amount(thick, "purple") < amount(plain, "purple")


@pytest.mark.parametrize("mark", ["irrelevant", "cause", "blocked"])
def test_each_verdict_has_a_sign_of_its_own_in_ink(mark):
    graph = DrawnGraph(nodes=(("x", "feature"), ("y", "target")), edges=(("x", "y", "->"),))
    verdict = FeatureVerdict(name="x", status=mark, reason=Stated(code="undrawn"))
    box = next(box for box in scene(graph, [verdict]).boxes if box.name == "x")
    image = pixels(graph_png(graph, [verdict]))
    left, top = round(SCALE * (box.left + 8)), round(SCALE * (box.y - 8))
    sign = image[top : top + 32, left : left + 32]
    ink = {"irrelevant": "sky", "cause": "green", "blocked": "orange"}[mark]
    assert amount(sign, ink) > 10


def test_a_circle_is_a_ring_of_the_lines_colour_with_the_ground_inside():
    graph = DrawnGraph(nodes=(("x", "feature"), ("y", "target")), edges=(("x", "y", "o->"),))
    (line,) = scene(graph, ()).lines
    ((x, y),) = line.route.rings
    image = pixels(graph_png(graph, ()))
    assert tuple(image[round(SCALE * y), round(SCALE * x)]) == colour("ground")
    assert tuple(image[round(SCALE * (y - RING)), round(SCALE * x)]) == colour("line")


def test_a_dollar_is_a_dollar_and_an_unknown_letter_a_square():
    def drawn(name):
        graph = DrawnGraph(nodes=((name, "target"), ("Z", "noise")), edges=(("Z", name, "->"),))
        return graph_png(graph, ())

    # As mathematics, $x^2$ would lose its dollars and raise the 2, and $\frac$ would be an error.
    assert drawn("$x^2$") != drawn("x^2")
    drawn("$\\frac$")
    assert drawn("\u6570") == drawn("\u91cf")


def test_a_very_wide_graph_is_drawn_smaller():
    names = [f"{'数' * 22}{index:02d}" for index in range(58)]
    nodes = (*((name, "feature") for name in names), ("y", "target"), ("Z", "noise"))
    chain = tuple((a, b, "->") for a, b in zip(names, [*names[1:], "y"], strict=True))
    graph = DrawnGraph(nodes=nodes, edges=(*chain, ("Z", "y", "->")))
    assert SCALE * scene(graph, ()).width > LONGEST_SIDE
    width, height = struct.unpack(">II", graph_png(graph, ())[16:24])
    assert LONGEST_SIDE - 2 <= width <= LONGEST_SIDE
    assert height > 0


names = st.text(max_size=12)


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(names, min_size=1, max_size=4, unique=True), st.data())
def test_any_names_can_be_drawn(chosen, data):
    roles = st.sampled_from(["feature", "target", "latent", "noise", "unused"])
    end = st.sampled_from(chosen)
    edges = data.draw(
        st.lists(st.tuples(end, end, st.sampled_from(["->", "<->", "--", "o->", "o-o", "o--"])), max_size=5)
    )
    graph = DrawnGraph(nodes=tuple((name, data.draw(roles)) for name in chosen), edges=tuple(edges))
    assert graph_png(graph, ()).startswith(b"\x89PNG")

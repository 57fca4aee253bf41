"""Suites in which something else stands than should: refused with a message, never a traceback."""

import json

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crda_spec.bench.cells import in_order
from crda_spec.bench.suite import read_suites
from crda_spec.errors import CrdaError

SUITE = yaml.safe_load("""
version: 1
name: a
tables:
  - crop_yield
  - name: own
    dataset: {source: {kind: synthetic, world: paper_synthetic, rows: 80}, target: y}
    causal: {graph: {kind: edges, edges: [x1 -> y]}}
sizes: [60, 0.5]
seeds: 2
regressors: [linear, {name: s, kind: ridge, alpha: 2.0}]
augmenters:
  - none
  - {name: p, recipe: paper, counterfactual: {factor: 2.0}, graphs: [right]}
  - {name: m, augmenter: {kind: mixup}}
graphs: [right, none]
knobs: {counterfactual.factor: [0.5, 1.0]}
protocols: [matched]
spec: {gate: {enabled: true, folds: 6}}
paper: table12
quick: {seeds: 1}
budget: 3m
""")
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.text(max_size=12),
    st.sampled_from(
        ["nine", "none", "tune", "${NOPE}", "..", "/", "a -> b", "\x1b[2J", "x" * 300, [], {}, [[]], [None]]
    ),
    st.dictionaries(st.sampled_from(["kind", "name", "", "graphs", "recipe"]), st.text(max_size=5), max_size=2),
)


def nodes_of(value, path=()):
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from nodes_of(inner, (*path, key))


@st.composite
def mutated(draw):
    suite = json.loads(json.dumps(SUITE))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in nodes_of(suite) if path]))
        holder = suite
        for part in path[:-1]:
            holder = holder[part]
        deed = draw(st.sampled_from(["replace", "replace", "delete", "rename"]))
        kept = holder[path[-1]]
        if deed == "replace":
            holder[path[-1]] = draw(STRANGE)
            continue
        holder.pop(path[-1])
        if deed == "rename" and isinstance(holder, dict):
            holder[draw(st.text(max_size=8))] = kept
    return yaml.safe_dump(suite, allow_unicode=draw(st.booleans()), sort_keys=False)


def check_message(error):
    shown = error.render()
    shown.encode()
    assert error.exit_code == 2
    assert [one for one in shown if not one.isprintable() and one != "\n"] == []


@given(text=mutated(), quick=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_suite_of_anything_is_a_suite_or_a_message(text, quick, tmp_path):
    file = tmp_path / "suite.yaml"
    file.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    try:
        count, cells = in_order(read_suites(file, quick=quick, environ={}))
        assert len([cell.label for cell in cells]) <= count
    except CrdaError as error:
        check_message(error)

"""One seed, many independent streams, each known by its name."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crda_spec
from crda_spec.seeds import STREAMS, integer_seed, stream

settings.register_profile("house", deadline=None)  # a busy machine is no failure
settings.load_profile("house")

seeds = st.integers(0, 2**32 - 1)
names = st.text(min_size=1, max_size=12)
indices = st.lists(st.integers(0, 1000), max_size=3).map(tuple)


@given(seed=seeds, name=names, index=indices)
def test_the_same_name_is_the_same_stream(seed, name, index):
    assert stream(seed, name, *index).bytes(32) == stream(seed, name, *index).bytes(32)
    assert integer_seed(seed, name, *index) == integer_seed(seed, name, *index)


@given(seed=seeds, one=names, two=names, index=indices)
def test_another_name_is_another_stream(seed, one, two, index):
    assert (stream(seed, one, *index).bytes(32) == stream(seed, two, *index).bytes(32)) == (one == two)


@given(seed=seeds, name=names, one=indices, two=indices)
def test_another_index_is_another_stream(seed, name, one, two):
    assert (stream(seed, name, *one).bytes(32) == stream(seed, name, *two).bytes(32)) == (one == two)


@given(one=seeds, two=seeds, name=names)
def test_another_seed_is_another_stream(one, two, name):
    assert (stream(one, name).bytes(32) == stream(two, name).bytes(32)) == (one == two)


@given(seed=seeds, name=names, index=indices)
def test_an_integer_seed_fits_every_library(seed, name, index):
    assert 0 <= integer_seed(seed, name, *index) < 2**31


def test_integer_seeds_spread_over_their_whole_range():
    found = np.array([integer_seed(0, "student", fold) for fold in range(2000)])
    assert len(np.unique(found)) == 2000
    assert found.mean() / 2**31 == pytest.approx(0.5, abs=0.03)


def test_streams_are_not_correlated():
    draws = np.array([stream(7, "act:dose", fold).standard_normal(5000) for fold in range(8)])
    off_diagonal = np.corrcoef(draws)[~np.eye(8, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.06


def test_the_streams_of_this_version_are_those_of_the_last():
    """A change here changes every number of every run: it needs a new record version."""
    assert stream(0, "split").integers(0, 1000, 5).tolist() == [267, 353, 923, 282, 213]
    assert integer_seed(11, "student", 0) == 319682851


def test_no_global_state_is_touched():
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002 - the state that nobody here may touch
    stream(1, "anything").normal(size=10)
    integer_seed(1, "anything")
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def used_streams():
    """The names that the package's own calls give their streams: `<>` stands for what varies in one."""
    for file in Path(crda_spec.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("stream", "integer_seed"):
                name = node.args[1]
                if isinstance(name, ast.Constant):
                    yield name.value
                elif isinstance(name, ast.JoinedStr):
                    yield "".join(part.value if isinstance(part, ast.Constant) else "<>" for part in name.values)


def test_every_stream_is_declared_for_the_record():
    """A new stream needs a line in `seeds.STREAMS`, which a run's record lists."""
    declared = {re.sub(r"<\w+>", "<>", name) for name in STREAMS}
    found = set(used_streams())
    assert len(found) > 30
    assert found - declared == set(), "say in crda_spec/seeds.py, STREAMS, what these draw"

"""One byte form for one value."""

import json
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.audit.canonical import canonical_json, plain, sha256_of
from crda_spec.records import FoldResult

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@dataclass
class Pair:
    left: object
    right: object


@given(value=values)
def test_what_json_can_hold_comes_back_the_same(value):
    assert json.loads(canonical_json(value)) == value


@given(value=st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value):
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


def test_the_bytes():
    value = {"b": (1, np.float64(0.1)), "a": Pair(np.array([[1, 2]]), np.True_), "ü": None, 3: np.int64(4)}
    assert canonical_json(value) == (
        '{\n  "3": 4,\n  "a": {\n    "left": [\n      [\n        1,\n        2\n      ]\n    ],\n'
        '    "right": true\n  },\n'
        '  "b": [\n    1,\n    0.1\n  ],\n  "ü": null\n}\n'
    )


def test_numbers_that_json_cannot_hold_become_text():
    found = plain({"a": float("nan"), "b": [np.inf, -np.inf], "c": np.array([np.nan, 1.0])})
    assert found == {"a": "nan", "b": ["inf", "-inf"], "c": ["nan", 1.0]}


def test_a_dataclass_is_its_fields_but_a_class_is_no_value():
    fold = FoldResult(
        fold=1, train_rows=2, held_out_rows=3, plain=1.5, augmented=0.5, perturbed=("a",), synthetic_rows=4
    )
    assert plain(fold) == {
        "fold": 1,
        "train_rows": 2,
        "held_out_rows": 3,
        "plain": 1.5,
        "augmented": 0.5,
        "perturbed": ["a"],
        "synthetic_rows": 4,
    }
    with pytest.raises(TypeError, match="not JSON serializable"):
        canonical_json({"a": FoldResult})


def test_hashes():
    assert sha256_of("ü") == sha256_of("ü".encode()) == sha256("ü".encode()).hexdigest()

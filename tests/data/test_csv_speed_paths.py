"""Large files take short cuts. Each says the same as the long way."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from crda_spec.data.cells import all_numbers, read_cells
from crda_spec.data.sources import Csv
from crda_spec.errors import DataError

NUMBERS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=12).map(str),
)
ODD = st.sampled_from(
    ["", " ", "NA", "nan", "NaN", "nan(ab)", " 1", "2 ", "+3", "1_000", "٣", "inf", "-Infinity", "1e400"]
)
TEXT = st.one_of(NUMBERS, ODD, st.text(max_size=4))


def by_python(texts):
    try:
        values = [float(text) for text in texts]
    except ValueError:
        return None
    return None if any(np.isnan(values)) or any("_" in text for text in texts) else np.array(values)


@given(st.lists(NUMBERS, min_size=1, max_size=30))
@example(["0.1", "1e23", "9007199254740993", "2.2250738585072011e-308", "5e-324", "-0"])
def test_numbers_are_those_that_python_reads_to_the_last_bit(texts):
    assert all_numbers(texts).tobytes() == by_python(texts).tobytes()


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_text_that_is_no_number_is_found(texts):
    expected, found = by_python(texts), all_numbers(texts)
    assert (expected is None) == (found is None)
    if expected is not None:
        assert found.tobytes() == expected.tobytes()


@given(st.lists(st.lists(TEXT, min_size=2, max_size=2), min_size=1, max_size=8))
@example([["0.0", "0\x1f"]])  # space to a regular expression, not to float()
@example([["1", "\u30002"]])
def test_columns_mean_the_same_whether_their_numbers_were_kept_or_not(rows):
    clean = [
        [cell.replace('"', "").replace("\r", "").replace("\n", "").replace("\0", "") for cell in row] for row in rows
    ]
    text = "a,b\n" + "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in clean)
    try:
        raw = Csv(path="rows.csv").table(text.encode("utf-8", "surrogatepass"))
    except DataError:
        return  # not UTF-8
    for name in ("a", "b"):
        kept, asked = read_cells(raw.frame[name], raw.numbers.get(name)), read_cells(raw.frame[name])
        assert (kept.kind, kept.shown.tolist()) == (asked.kind, asked.shown.tolist())
        assert kept.numbers.tobytes() == asked.numbers.tobytes()
        assert kept.present.tobytes() == asked.present.tobytes()

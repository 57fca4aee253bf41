"""The YAML reader: which values it sees, where, and what it refuses."""

import math

import pytest

from crda_spec.spec import yaml_tree
from crda_spec.spec.yaml_tree import read_tree, resolve_scalar


def tree_of(text, **environ):
    return read_tree(text, "spec.yaml", environ)


def value_of(text, **environ):
    tree = tree_of(text, **environ)
    assert tree.complaints == []
    return tree.value


def message(text, **environ):
    return "\n".join(complaint.render() for complaint in tree_of(text, **environ).complaints)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("12", 12),
        ("+12", 12),
        ("-3", -3),
        ("012", 12),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1.5", 1.5),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("+.Inf", math.inf),
        ("2024-02-29", "2024-02-29"),
        ("12:30:45", "12:30:45"),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
        ("9" * 500, "9" * 500),
    ],
)
def test_plain_scalars_follow_yaml_1_2(text, value):
    found = resolve_scalar(text)
    assert found == value
    assert type(found) is type(value)


def test_nan_is_read():
    assert math.isnan(resolve_scalar(".NAN"))


@pytest.mark.parametrize("text", ["'12'", '"12"', "!!str 12", "|-\n  12", ">-\n  12"])
def test_quoted_and_block_scalars_stay_text(text):
    assert value_of(f"a: {text}") == {"a": "12"}


def test_keys_are_always_text():
    assert value_of("1: a\ntrue: b\n2024-01-01: c\n~: d\n") == {"1": "a", "true": "b", "2024-01-01": "c", "~": "d"}


def test_a_repeated_key_is_refused_where_it_is_repeated():
    assert message("a: 1\nb: {c: 1, c: 2}\na: 3\n") == (
        "spec.yaml:2:11: b.c: the key 'c' is written twice; the first is on line 2; keep one\n"
        "    2 | b: {c: 1, c: 2}\n"
        "      |           ^\n"
        "spec.yaml:3:1: a: the key 'a' is written twice; the first is on line 1; keep one\n"
        "    3 | a: 3\n"
        "      | ^"
    )


def test_an_alias_has_the_place_of_its_anchor_and_a_section_that_of_its_key():
    tree = tree_of("base: &base\n  kind: ridge\n  alpha: 2\nregressor: *base\n")
    assert tree.value == {"base": {"kind": "ridge", "alpha": 2}, "regressor": {"kind": "ridge", "alpha": 2}}
    assert str(tree.place(("regressor", "alpha"))) == "spec.yaml:3:10"
    assert str(tree.place(("regressor",))) == "spec.yaml:4:1"


@pytest.mark.parametrize("own_first", [True, False])
def test_a_merge_key_fills_what_the_mapping_does_not_write(own_first):
    own, merge = "  alpha: 3\n", "  <<: *base\n"
    text = "base: &base {kind: ridge, alpha: 2}\nregressor:\n" + (own + merge if own_first else merge + own)
    tree = tree_of(text)
    assert tree.complaints == []
    assert tree.value["regressor"] == {"kind": "ridge", "alpha": 3}
    assert str(tree.place(("regressor", "alpha"))) == f"spec.yaml:{3 if own_first else 4}:10"
    assert str(tree.place(("regressor", "kind"))) == "spec.yaml:1:20"


def test_of_several_merged_mappings_the_first_wins():
    text = "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n"
    assert value_of(text)["c"] == {"x": 1, "y": 2}


def test_a_quoted_merge_key_is_an_ordinary_key():
    assert value_of("a: {'<<': 1}") == {"a": {"<<": 1}}


def test_a_merge_of_something_else_is_refused():
    assert message("a: {<<: 3, b: 1}") == (
        "spec.yaml:1:9: a: << needs a mapping; point it at an anchor of key: value lines\n"
        "    1 | a: {<<: 3, b: 1}\n"
        "      |         ^"
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param("a: &a [1, *a]", "a.1", id="list"),
        pytest.param("a: &a {b: *a}", "a.b", id="mapping"),
        pytest.param("a: &a {<<: *a}", "a", id="merge"),
    ],
)
def test_an_alias_that_contains_itself_is_refused(text, where):
    assert message(text) == (
        f"spec.yaml:1:4: {where}: an alias that contains itself; write the value out\n    1 | {text}\n      |    ^"
    )


@pytest.mark.parametrize(
    "level", ["[*{0}, *{0}, *{0}, *{0}, *{0}, *{0}, *{0}, *{0}]", "{{<<: [*{0}, *{0}, *{0}, *{0}]}}"]
)
def test_aliases_expand_only_so_far(level):
    lines = ["v0: &v0 {x: 1}"] + [f"v{n + 1}: &v{n + 1} " + level.format(f"v{n}") for n in range(30)]
    complaints = tree_of("\n".join(lines)).complaints
    assert [complaint.code for complaint in complaints] == ["too-large"]
    assert complaints[0].what == f"more than {yaml_tree.MAX_NODES} values after aliases"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("!!python/object/apply:os.system [ls]", "!!python/object/apply:os.system"),
        ("!!python/name:os.system", "!!python/name:os.system"),
        ("!!binary aGk=", "!!binary"),
        ("!!set {a, b}", "!!set"),
        ("!env HOME", "!env"),
    ],
)
def test_tags_never_construct_anything(text, tag):
    assert message(f"a: {text}") == (
        f"spec.yaml:1:4: a: the tag '{tag}' is not allowed; write plain text, numbers, lists and key: value lines; "
        f"a spec never constructs objects\n    1 | a: {text}\n      |    ^"
    )


def test_nesting_is_measured_before_anything_recurses():
    deep = "[" * 100_000 + "]" * 100_000
    (complaint,) = tree_of(deep).complaints
    assert complaint.headline() == ("spec.yaml:1:41: nested more than 40 levels deep; a spec needs about 5 levels")


def test_forty_levels_are_read():
    value = value_of("[" * 40 + "]" * 40)
    for _ in range(39):
        (value,) = value
    assert value == []


def test_a_list_cannot_be_a_key():
    assert message("? [a, b]\n: 1\n") == (
        "spec.yaml:1:3: a key must be plain text; quote it\n    1 | ? [a, b]\n      |   ^"
    )


def test_a_control_character_is_shown_in_its_line():
    assert message("a: 1\nb: x\x00y\n") == (
        "spec.yaml:2:5: a control character that YAML does not allow; remove it\n    2 | b: x\\x00y\n      |     ^"
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${WHERE}/a.csv", "/data/a.csv"),
        ("${WHERE:-/srv}/a.csv", "/data/a.csv"),
        ("${NOWHERE:-/srv}/a.csv", "/srv/a.csv"),
        ("${EMPTY:-/srv}/a.csv", "/srv/a.csv"),
        ("${NOWHERE:-}", ""),
        ("$$5", "$5"),
        ("$${WHERE}", "${WHERE}"),
        ("$$$${WHERE}", "$${WHERE}"),
        ("$$${WHERE}", "$/data"),
        ("$WHERE", "$WHERE"),
        ("cost: 5$", "cost: 5$"),
    ],
)
def test_variables_are_filled_in(written, value):
    assert value_of(f"a: '{written}'", WHERE="/data", EMPTY="") == {"a": value}


def test_a_plain_variable_becomes_the_number_it_holds_and_a_quoted_one_stays_text():
    assert value_of("a: ${N}\nb: '${N}'\n", N="12") == {"a": 12, "b": "12"}


def test_a_variable_cannot_smuggle_in_structure():
    assert value_of("a: ${N}", N="[1, 2]\nb: 3") == {"a": "[1, 2]\nb: 3"}


def test_only_what_was_filled_in_counts_as_environment():
    tree = tree_of("a: ${N}\nb: $$5\nc: $x\n", N="1")
    assert tree.environment == {("a",): "${N}"}


@pytest.mark.parametrize("written", [".nan", "-.inf", "1e999"])
def test_only_finite_numbers_stand_in_a_spec(written):
    assert message(f"a: [{written}]") == (
        f"spec.yaml:1:5: a.0: {written} is not a finite number; write a finite number, or quote it if it is text\n"
        f"    1 | a: [{written}]\n"
        "      |     ^"
    )


def test_half_a_character_is_refused_in_values_keys_and_variables():
    tree = tree_of('a: "\\ud800"\n"\\udfff": 1\nc: ${BROKEN}\n', BROKEN="\udc80")
    assert [complaint.headline() for complaint in tree.complaints] == [
        r"spec.yaml:1:4: a: '\ud800' contains half of a character (a lone surrogate); write the character itself",
        r"spec.yaml:2:1: '\udfff' contains half of a character (a lone surrogate); write the character itself",
        r"spec.yaml:3:4: c: '\udc80' contains half of a character (a lone surrogate); write the character itself",
    ]

"""From text to a spec: overrides, recipes, origins, and all complaints at once."""

import pytest

from crda_spec.spec.load import leaves
from crda_spec.spec.recipes import preset_of, whole_preset_of
from crda_spec.spec.yaml_tree import dotted

KINDS = (
    "xgboost, mlp, linear, ridge, kernel_ridge, gaussian_process, random_forest, hist_gradient_boosting, svr, knn, "
    "catboost, sklearn, object, plugin"
)
NO_TAGS = "write plain text, numbers, lists and key: value lines; a spec never constructs objects"


def test_an_override_wins_over_the_file_and_is_recorded(load):
    spec, draft = load("seed: 3\n", "seed=5", "gate.folds=12", "dataset.source.rows=90")
    assert (spec.seed, spec.gate.folds, spec.dataset.source.rows) == (5, 12, 90)
    written = ("seed", "gate.folds", "dataset.source.rows", "dataset.target")
    assert {name: draft.origins[name] for name in written} == {
        "seed": "--set",
        "gate.folds": "--set",
        "dataset.source.rows": "--set",
        "dataset.target": "user",
    }


@pytest.mark.parametrize(
    ("override", "section", "kind"),
    [
        ("gate.folds=12", "gate", "wilcoxon"),
        ("regressor.max_depth=3", "regressor", "xgboost"),
        ("counterfactual.teacher.folds=4", "counterfactual.teacher", "committee"),
        ("perturbation.default.reach=0.2", "perturbation.default", "interpolate"),
        ("partition.screen.alpha=0.2", "partition.screen", "pearson"),
        ("dataset.split.test=0.3", "dataset.split", "fraction"),
        ("causal.discovery.alpha=0.2", "causal.discovery", "pc"),
    ],
)
def test_an_override_may_reach_into_a_section_that_the_file_leaves_out(load, override, section, kind):
    spec, draft = load("recipe: distilled\n", override)
    found = spec
    for part in section.split("."):
        found = getattr(found, part)
    key, _, value = override.removeprefix(f"{section}.").partition("=")
    assert found.kind == kind
    assert getattr(found, key) == float(value)
    assert draft.origins.get(f"{section}.kind") in (None, "recipe")


def test_the_file_still_has_to_write_the_kind_of_what_it_writes(complaint):
    said = complaint("regressor: {alpha: 0.1}\n", "regressor.gamma=12")
    assert said.startswith("spec.yaml:6:12: regressor: the key 'kind' is missing; choose one of ")


def test_the_recipe_says_which_gate_when_the_file_does_not(load):
    spec, draft = load("gate: {alpha: 0.1}\n", "gate.folds=12")
    assert (spec.gate.kind, spec.gate.alpha, spec.gate.folds) == ("wilcoxon", 0.1, 12)
    assert draft.origins["gate.kind"] == "recipe"


def test_overrides_take_lists_mappings_and_items(load):
    spec, _ = load(
        "partition: {keep: [rooms, age]}\n",
        "partition.keep.1=area",
        "dataset.features=[area, rooms, age]",
        "regressor={kind: ridge, alpha: 2}",
        "dataset.columns.area.unit=m2",
        "meta.owner.name=Ada",
    )
    assert spec.partition.keep == ("rooms", "area")
    assert spec.dataset.features == ("area", "rooms", "age")
    assert (spec.regressor.kind, spec.regressor.alpha) == ("ridge", 2)
    assert spec.dataset.columns["area"].unit == "m2"
    assert spec.meta == {"owner": {"name": "Ada"}}


def test_the_later_override_wins_and_the_earlier_leaves_no_trace(load):
    spec, draft = load("", "meta.a.b=1", "meta.a={c: 2}")
    assert spec.meta == {"a": {"c": 2}}
    assert [name for name in draft.origins if name.startswith("meta")] == ["meta.a.c"]


def test_a_value_with_an_equals_sign_is_taken_whole(load):
    assert load("", "description=a=b")[0].description == "a=b"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("gate.folds", "--set gate.folds: expected key=value; e.g. --set gate.folds=12"),
        ("=3", "--set =3: expected key=value; e.g. --set gate.folds=12"),
        ("gate..folds=3", "--set gate..folds=3: expected key=value; e.g. --set gate.folds=12"),
        (
            "name.first=a",
            "--set name.first=a: name is 'houses', with no key 'first' inside; set name as a whole",
        ),
        (
            "partition.keep.2=age",
            "--set partition.keep.2=age: partition.keep has no item 2: it has 1, from 0; set partition.keep as a whole",
        ),
        (
            "partition.keep.first=age",
            (
                "--set partition.keep.first=age: partition.keep is ['rooms'], with no key 'first' inside; "
                "set partition.keep as a whole"
            ),
        ),
        (
            "gate.fold=12",
            "--set gate.fold=12: gate.fold: unknown key 'fold'; did you mean 'folds'?",
        ),
        (
            "regressor.kind=xgbost",
            "--set regressor.kind=xgbost: regressor.kind: unknown kind 'xgbost'; did you mean 'xgboost'?",
        ),
        (
            "partition.keep=[roms]",
            "--set partition.keep=[roms]: partition.keep.0: there is no feature 'roms'; did you mean 'rooms'?",
        ),
        (
            "meta.a=!!python/name:os.system",
            f"--set meta.a=!!python/name:os.system: the tag '!!python/name:os.system' is not allowed; {NO_TAGS}",
        ),
        (
            "meta.a=a: b: c",
            "--set meta.a=a: b: c: not valid YAML: mapping values are not allowed here; quote text that contains ': '",
        ),
    ],
)
def test_a_bad_override_says_where_it_stands(complaint, override, message):
    assert complaint("partition: {keep: [rooms]}\n", override) == message


@pytest.mark.parametrize("recipe", ["paper", "distilled"])
@pytest.mark.parametrize("regressor", ["xgboost", "mlp"])
def test_a_recipe_fills_what_is_left_out(load, recipe, regressor):
    spec, draft = load(f"recipe: {recipe}\nregressor: {{kind: {regressor}}}\n")
    preset = preset_of(recipe, regressor)
    filled = {dotted(path): value for path, value in leaves(preset)}
    dumped = {dotted(path): value for path, value in leaves(spec.model_dump(mode="json"))}
    assert {name: dumped[name] for name in filled} == filled
    assert {name for name, origin in draft.origins.items() if origin == "recipe"} == set(filled)


def test_the_paper_recipe_is_algorithm_1_whatever_the_regressor(load):
    spec, _ = load("recipe: paper\nregressor: {kind: mlp}\n")
    made, moved = spec.counterfactual, spec.perturbation
    assert (made.teacher.kind, made.residuals, made.retention, made.factor) == ("single", "in_sample", 1.0, 1.25)
    assert (made.weight, made.watch, spec.partition.max_features) == (1.0, "real", 2)
    assert (moved.default.kind, moved.default.reach, moved.default.share) == ("scale", 0.7, "row")


@pytest.mark.parametrize(
    ("regressor", "policy", "per_row", "factor", "weight"),
    [
        ("xgboost", "interpolate", "all", 10.0, 0.5),
        ("random_forest", "interpolate", "all", 10.0, 0.5),
        ("mlp", "resample", 1, 15.0, 1.0),
        ("ridge", "resample", 1, 10.0, 1.0),
    ],
)
def test_the_distilled_recipe_suits_the_regressor(load, regressor, policy, per_row, factor, weight):
    spec, _ = load(f"recipe: distilled\nregressor: {{kind: {regressor}}}\n")
    made, moved = spec.counterfactual, spec.perturbation
    assert (made.teacher.kind, made.teacher.folds, made.retention) == ("committee", "blocks", 0.0)
    assert (moved.default.kind, moved.features_per_row, made.factor, made.weight) == (policy, per_row, factor, weight)


def test_the_regressor_of_an_override_decides_what_the_recipe_fills_in(load):
    spec, _ = load("recipe: distilled\nregressor: {kind: xgboost}\n", "regressor={kind: mlp}")
    assert spec.perturbation.default.kind == "resample"


def test_without_a_regressor_the_recipe_suits_the_usual_one(load):
    assert load("recipe: distilled\n")[0] == load("recipe: distilled\nregressor: {kind: xgboost}\n")[0]


def test_a_whole_preset_leaves_nothing_of_another_recipe():
    keys = [{dotted(path) for path, _ in leaves(whole_preset_of(one, "mlp"))} for one in ("paper", "distilled")]
    # another kind replaces the whole choice
    chosen = ("counterfactual.teacher.", "perturbation.default.", "perturbation.support.")
    assert {name for name in keys[0] ^ keys[1] if not name.startswith(chosen)} == set()


GRAPH = "causal: {graph: {kind: edges, edges: [area -> price]}}\n"


@pytest.mark.parametrize(
    ("more", "recipe"),
    [
        ("", "distilled"),
        ("causal: {discovery: {kind: pc}}\n", "distilled"),
        (GRAPH, "certified"),
    ],
)
def test_the_recipe_that_is_left_out_depends_on_the_graph(load, more, recipe):
    assert load(more)[0].recipe == recipe
    assert load(more)[0] == load(f"{more}recipe: {recipe}\n")[0]


def test_what_the_user_writes_wins_over_the_recipe(load):
    spec, draft = load("recipe: distilled\ncounterfactual: {retention: 0.5, teacher: {kind: crossfit, folds: 3}}\n")
    assert (spec.counterfactual.retention, spec.counterfactual.factor) == (0.5, 10.0)
    assert spec.counterfactual.teacher.folds == 3
    assert draft.origins["counterfactual.retention"] == "user"
    assert draft.origins["counterfactual.factor"] == "recipe"


def test_another_kind_replaces_the_recipes_whole_choice(load):
    spec, draft = load("perturbation: {default: {kind: jitter}}\n")
    assert spec.perturbation.default.model_dump() == {"kind": "jitter", "sd": 0.3}
    assert [name for name in draft.origins if name.startswith("perturbation")] == ["perturbation.default.kind"]


def test_the_origin_of_a_filled_in_value_is_the_environment(load):
    _, draft = load("description: ${WHO}\n", environ={"WHO": "Ada"})
    assert draft.origins["description"] == "environment"


def test_an_override_of_an_environment_value_forgets_the_environment(load):
    spec, draft = load("description: ${WHO}\n", "description=Bob", environ={"WHO": "Ada"})
    assert spec.description == "Bob"
    assert draft.origins["description"] == "--set"
    assert draft.tree.environment == {}


def test_all_complaints_come_at_once_in_the_order_of_their_places(complaint):
    text = (
        "seeed: 3\n"
        "gate: {kind: wilcoxon, folds: 5, alternative: two-sided}\n"
        "regressor:\n"
        "  kind: mlp\n"
        "  alpha: -1\n"
        "partition: {perturb: [aera, price]}\n"
    )
    assert complaint(text, "execution.jobs=0") == (
        "--set execution.jobs=0: execution.jobs: must be at least 1, got 0; or write auto\n"
        "spec.yaml:6:1: seeed: unknown key 'seeed'; did you mean 'seed'?\n"
        "    6 | seeed: 3\n"
        "      | ^\n"
        "spec.yaml:7:31: gate.folds: this gate can never accept: with 5 folds the smallest two-sided p-value is "
        "2/2^5 = 0.0625, which is not below alpha = 0.05; use at least 6 folds or alternative: less\n"
        "    7 | gate: {kind: wilcoxon, folds: 5, alternative: two-sided}\n"
        "      |                               ^\n"
        "spec.yaml:10:10: regressor.alpha: must be at least 0, got -1\n"
        "    10 |   alpha: -1\n"
        "       |          ^\n"
        "spec.yaml:11:23: partition.perturb.0: there is no feature 'aera'; did you mean 'area'?\n"
        "    11 | partition: {perturb: [aera, price]}\n"
        "       |                       ^\n"
        "spec.yaml:11:29: partition.perturb.1: there is no feature 'price'; features: neighbourhood, area, rooms, age, "
        "garage, station_distance\n"
        "    11 | partition: {perturb: [aera, price]}\n"
        "       |                             ^\n"
        "6 problems"
    )


@pytest.mark.parametrize("before", [0, 60, 400])
def test_the_caret_stands_under_the_value_also_in_a_long_line(complaint, before):
    text = "meta: {note: '" + "x" * before + "', seed: 1}\n"
    shown = complaint(f"gate: {{kind: wilcoxon, {' ' * before}folds: many}}\n{text}").splitlines()
    column = shown[2].index("^")
    assert shown[1][column:].startswith("many")
    assert len(shown[1]) <= 110


def test_a_bad_value_under_a_dotted_column_name_has_its_own_place(complaint):
    columns = "  columns:\n    area: {unit: m2}\n    a.b: {min: 3, max: 1}\n"
    head = "version: 1\nname: h\ndataset:\n  source: {kind: synthetic, world: bidding_war}\n  target: price\n"
    assert complaint(head=head + columns) == (
        "spec.yaml:8:5: dataset.columns.a.b: the data have no column 'a.b'; columns: neighbourhood, area, rooms, age, "
        "garage, station_distance, price\n"
        "    8 |     a.b: {min: 3, max: 1}\n"
        "      |     ^\n"
        "spec.yaml:8:16: dataset.columns.a.b.min: `min <= max` must hold, but got (min=3, max=1); swap them\n"
        "    8 |     a.b: {min: 3, max: 1}\n"
        "      |                ^\n"
        "2 problems"
    )


def test_a_value_that_came_through_an_alias_is_shown_where_it_is_written(complaint):
    text = "meta:\n  base: &base {kind: ridge, alpha: 0}\nregressor: *base\n"
    assert complaint(text) == (
        "spec.yaml:7:36: regressor.alpha: must be greater than 0, got 0\n"
        "    7 |   base: &base {kind: ridge, alpha: 0}\n"
        "      |                                    ^"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "regressor: {kind: mlp, hidden_layer_sizes: [64, 0]}",
            "regressor.hidden_layer_sizes.1: must be at least 1, got 0",
        ),
        ("regressor: {kind: mlp, hidden_layer_sizes: []}", "regressor.hidden_layer_sizes: must not be empty"),
        (
            "regressor: {alpha: 1}",
            f"regressor: the key 'kind' is missing; choose one of {KINDS}",
        ),
        (
            "regressor: ridge",
            "regressor: expected a mapping (key: value lines), got 'ridge' (text); write {kind: ridge}",
        ),
        (
            "regressor: {kind: 3}",
            f"regressor.kind: unknown kind '3'; kinds: {KINDS.removesuffix(', object, plugin')} and 2 more",
        ),
        ("seed: 1.5", "seed: expected a whole number, got 1.5 (a number)"),
        ("seed: true", "seed: expected a whole number, got True (true or false)"),
        ("seed: 99999999999", "seed: must be at most 4294967295, got 99999999999"),
        ("description: 3", "description: expected text, got 3 (a whole number); quote it: '3'"),
        ("description: [a]", "description: expected text, got ['a'] (a list); write one of them, without brackets"),
        ("execution: {jobs: many}", "execution.jobs: expected a whole number or 'auto', got 'many' (text)"),
        (
            "gate: {kind: wilcoxon, alpha: .nan}",
            "gate.alpha: .nan is not a finite number; write a finite number, or quote it if it is text",
        ),
        ("output: {dir: ''}", "output.dir: must not be empty"),
        ("output: {model: 1}", "output.model: expected true or false, got 1 (a whole number)"),
    ],
)
def test_a_wrong_value_is_explained_in_our_words(complaint, text, message):
    first, *_ = complaint(text + "\n").splitlines()
    assert first.split(": ", 1)[1] == message


def test_a_teacher_that_nothing_hedges_leaves_irrelevant_features_like_any_other(load):
    spec, _ = load(GRAPH)
    assert (spec.recipe, spec.counterfactual.invariance) == ("certified", "trusted")
    spec, _ = load(GRAPH + "counterfactual: {teacher: {kind: crossfit}}\n")
    assert (spec.recipe, spec.counterfactual.invariance) == ("certified", "off")

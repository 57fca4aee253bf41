"""`retention: tune`: one word for a search, which the rest of the house never sees."""

import pytest

from crda_spec.errors import SpecError
from crda_spec.spec.check import load_spec

SPEC = """\
version: 1
name: short
recipe: distilled
dataset: {source: {kind: synthetic, world: bidding_war, rows: 80}, target: price}
causal: {graph: {kind: edges, edges: ["{area rooms} -> price"]}}
regressor: {kind: ridge}
counterfactual: {retention: tune}
"""


def loaded(folder, text=SPEC, *overrides):
    (folder / "spec.yaml").write_text(text)
    return load_spec(folder / "spec.yaml", overrides=overrides)


def test_the_word_stands_for_a_search_that_starts_at_the_recipes_value(tmp_path):
    spec, draft = loaded(tmp_path)
    assert spec.counterfactual.retention == 0.0
    assert draft.origins["counterfactual.retention"] == "recipe"
    assert (spec.tune.kind, spec.tune.augmentation.kind) == ("none", "tpe")
    assert spec.tune.augmentation.knobs.retention == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert spec.tune.augmentation.knobs.factor is None


def test_it_joins_a_search_that_is_there(tmp_path):
    more = "tune: {kind: none, augmentation: {kind: tpe, trials: 7, knobs: {weight: [0.5, 1.0]}}}\n"
    spec, _ = loaded(tmp_path, SPEC + more)
    assert spec.tune.augmentation.trials == 7
    assert spec.tune.augmentation.knobs.weight == (0.5, 1.0)
    assert spec.tune.augmentation.knobs.retention == (0.0, 0.25, 0.5, 0.75, 1.0)
    own = SPEC + "tune: {kind: none, augmentation: {kind: tpe, knobs: {retention: [0.0, 0.1]}}}\n"
    assert loaded(tmp_path, own)[0].tune.augmentation.knobs.retention == (0.0, 0.1)
    usual = SPEC + "tune: {kind: none, augmentation: {kind: tpe}}\n"
    assert loaded(tmp_path, usual)[0].tune.augmentation.knobs is None  # the usual ones, retention among them


def test_on_the_command_line_too(tmp_path):
    spec, _ = loaded(tmp_path, SPEC.replace("retention: tune", "factor: 2.0"), "counterfactual.retention=tune")
    assert spec.tune.augmentation.knobs.retention == (0.0, 0.25, 0.5, 0.75, 1.0)


def test_a_complaint_about_the_search_points_to_the_word(tmp_path):
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, SPEC.replace("distilled", "paper"))
    (complaint,) = caught.value.complaints
    assert (complaint.code, complaint.place.line, complaint.place.col) == ("pinned-knob", 7, 29)
    assert "recipe paper pins retention" in complaint.what


@pytest.mark.parametrize("broken", ["tune: 3\n", "tune: {kind: none, augmentation: [tpe]}\n"])
def test_a_broken_tune_section_is_left_to_the_models(tmp_path, broken):
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, SPEC + broken)
    assert all(complaint.path.startswith("tune") for complaint in caught.value.complaints)


def test_any_other_word_is_no_number(tmp_path):
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, SPEC.replace("tune}", "some}"))
    assert [complaint.path for complaint in caught.value.complaints] == ["counterfactual.retention"]

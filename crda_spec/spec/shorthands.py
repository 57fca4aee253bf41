"""Words that stand for several values: `counterfactual: {retention: tune}`.

They are written out in the tree before anything is checked, so that the models, the checks and `crda-spec render` know
the long form only. A complaint about the long form points to the word.
"""

from __future__ import annotations

from typing import Any

from crda_spec.spec.yaml_tree import SpecPath, Tree

TUNE = "tune"
_RETENTIONS = [0.0, 0.25, 0.5, 0.75, 1.0]
_SEARCH = {"kind": "tpe", "trials": 10}  # of five values, a few are drawn twice, which costs nothing


def expand_shorthands(tree: Tree) -> None:
    """Replaces each such word by what it stands for."""
    value = tree.value
    section = value.get("counterfactual") if isinstance(value, dict) else None
    if not isinstance(section, dict) or section.get("retention") != TUNE:
        return
    del section["retention"]  # what the recipe declares is where the search starts
    word = tree.value_places.pop(("counterfactual", "retention"), None)
    path: SpecPath = ("tune", "augmentation", "knobs", "retention")
    tune = value.setdefault("tune", {"kind": "none"})
    search = _inside(tune, "augmentation", {**_SEARCH, "knobs": {}})
    knobs = search.get("knobs") if isinstance(search, dict) else None
    if isinstance(knobs, dict):  # the usual knobs have it among them already
        knobs.setdefault("retention", list(_RETENTIONS))
        if word is not None:
            for length in range(1, len(path) + 1):
                tree.value_places.setdefault(path[:length], word)


def _inside(section: Any, key: str, default: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever was written there
    """What stands at the key, or the default, which then stands there; a section that is none stays for the models."""
    if not isinstance(section, dict):
        return None
    if section.get(key) is None:
        section[key] = default
    return section[key]

"""`crda-spec plan`: what a run would do and cost, before anything is fitted."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from crda_spec.cli.options import AsJson, Overrides, SpecFile
from crda_spec.errors import CrdaError

if TYPE_CHECKING:
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec


def plan(spec: SpecFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Show the certificate, the tests, the rows and the number of fits, before anything is fitted.

    Reads and checks the data. The count of fits is an upper bound: a fold in which nothing may move fits one less.
    """
    from crda_spec.check import load_spec

    found, draft = load_spec(spec, overrides=overrides or ())
    try:
        content = _content(found, draft)
    except CrdaError as error:
        raise type(error)(draft.placed(complaint) for complaint in error.complaints) from error
    if as_json:
        sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    else:
        _print(content)


def _content(spec: RunSpec, draft: Draft) -> dict[str, Any]:
    from crda_spec.build import build_plan
    from crda_spec.pipeline import foresee

    outlook, choice = foresee(build_plan(spec, draft)), spec.partition
    return {
        "name": spec.name,
        "rows": {"train": outlook.train_rows, "test": outlook.test_rows, "synthetic": outlook.synthetic_rows},
        "features": [
            {
                "name": one.name,
                "may_move": one.perturbable,
                "held_by_spec": one.name in choice.keep or one.name not in (choice.perturb or (one.name,)),
                "status": one.status,
                "reason": one.reason,
            }
            for one in outlook.features
        ],
        "decided_by": "the declared graph" if outlook.features else "PC and the screen, from residuals",
        "max_features": choice.max_features,
        "screen": choice.screen.model_dump(mode="json"),
        "gate": spec.gate.model_dump(mode="json"),
        "fits": {"per_fold": outlook.fits_per_set, "at_most": outlook.fits_at_most},
    }


def _print(content: dict[str, Any]) -> None:
    rows, fits, gate, screen = content["rows"], content["fits"], content["gate"], content["screen"]
    lines = [
        f"Plan of {content['name']}",
        f"  rows: {rows['train']} to train, {rows['test']} to test, {rows['synthetic']} to make",
        f"  what may move: decided by {content['decided_by']}",
        *(f"    {_word(one)}  {one['name']}: {one['reason']}" for one in content["features"]),
    ]
    if content["max_features"] is not None:
        lines.append(f"    at most {content['max_features']} of them move: those most tied to the target")
    test = f"{gate['folds']} folds, alpha {gate['alpha']:g}, {gate['alternative']}, {gate['metric']}"
    lines += [
        f"  screen: {screen['kind']}, threshold {screen['threshold']:g}, alpha {screen['alpha']:g}",
        f"  gate: {gate['kind']}, {test}",
        f"  fits: at most {fits['at_most']} ({fits['per_fold']} in each of {gate['folds']} folds and on all rows)",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _word(feature: dict[str, Any]) -> str:
    if not feature["may_move"]:
        return "fixed"
    return "kept " if feature["held_by_spec"] else "moves"

"""What `crda-spec plan` says of the gate: its settings, and how many models it will fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def gate_line(gate: Mapping[str, Any]) -> str:
    """The gate's settings but for those that ask for nothing."""
    if not gate["enabled"]:
        return "UNGATED: switched off, nobody will test whether augmentation helps"
    idle = {"enabled": True, "min_effect": 0.0, "stop": "never", "repeats": 1, "starts": 1}
    names = list(gate["candidates"])
    told = {key: value for key, value in gate.items() if not key.startswith("candidate") and idle.get(key, "") != value}
    among = f", chosen among declared, {', '.join(names)} on {gate['candidate_folds']} inner folds" if names else ""
    return settings_line(told) + among


def settings_line(chosen: Mapping[str, Any]) -> str:
    """A member of a family and its settings: `wilcoxon, folds 10, alpha 0.05`."""
    settings = (
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in chosen.items()
        if key not in ("kind", "knowledge", "methods") and value is not None
    )
    return ", ".join((str(chosen["kind"]), *settings)).replace("_", " ")


def fits_line(fits: Mapping[str, int], folds: int) -> str:
    """How many models are fitted, and where: `67 instead of 122, because ...`."""
    if fits["at_most"] < fits["unshared"]:
        return f"{fits['at_most']} instead of {fits['unshared']}, because teacher and gate share fold models"
    on_all = "" if fits["on_all"] == fits["per_fold"] else f"{fits['on_all']} "
    first = f"{fits['to_tune']} to tune, " if fits["to_tune"] else ""
    where = f"{first}{fits['per_fold']} in each of {folds} folds and {on_all}on all rows"
    more = f", {fits['ensemble']} for the ensemble" if fits["ensemble"] else ""
    return f"{fits['at_most']} ({where}{more})"

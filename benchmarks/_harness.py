"""What every benchmark shares: where results are kept, and the last line that machines read."""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crda_spec.audit.record import versions

RESULTS = Path(__file__).parent / "results"


def arguments(description: str) -> argparse.Namespace:
    """`--quick` ends within a minute and exercises the same code; its figures are not kept."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    return parser.parse_args()


def say(text: str) -> None:
    """Progress, at once."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def wilson(hits: int, runs: int) -> list[float]:
    """The 95 % interval of a share."""
    z, part = 1.96, hits / runs
    middle = (part + z**2 / (2 * runs)) / (1 + z**2 / runs)
    half = z * math.sqrt(part * (1 - part) / runs + z**2 / (4 * runs**2)) / (1 + z**2 / runs)
    return [max(0.0, round(middle - half, 4)), min(1.0, round(middle + half, 4))]


def share(key: str, answers: Iterable[bool | None]) -> dict[str, Any]:
    """How often the answer was yes, its interval and how many were asked; nothing when nobody was."""
    asked = [answer for answer in answers if answer is not None]
    if not asked:
        return {}
    hits = sum(asked)
    return {
        key: round(hits / len(asked), 4),
        f"{key}_interval": wilson(hits, len(asked)),
        f"{key}_runs": len(asked),
    }


def publish(name: str, figures: Mapping[str, Any], *, quick: bool) -> None:
    """Keeps a full run's figures with versions and date; the last line printed is the JSON."""
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        kept = {
            "benchmark": name,
            "date": datetime.now(tz=UTC).date().isoformat(),
            "machine": f"{platform.system()} {platform.machine()}",
            "versions": versions(),
            "figures": dict(figures),
        }
        (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(dict(figures)) + "\n")

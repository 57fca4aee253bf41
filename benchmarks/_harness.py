"""What every benchmark shares: where results are kept, and the last line that machines read."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Mapping
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

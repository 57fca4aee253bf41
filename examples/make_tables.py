"""Draws the invented tables of the gallery: houses, fields, rides and pupils. Their equations are known.

python examples/make_tables.py        writes each table beside its spec; the same bytes every time
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pandas as pd

from crda_spec.data.worlds import WORLDS, World, declare

HERE = Path(__file__).resolve().parent
FIRST_DAY = date(2023, 3, 1)

# A bicycle-hire firm. On days with an event in town more people ride, and the firm, which sees them coming, puts more
# bicycles on the street. Nobody kept a list of the events.
RIDES = declare(
    name="rides",
    target="rides",
    hidden=["event"],
    equations={
        "day": "uniform(0, 1)",
        "season": "sin(6.2832 * day)",
        "temperature": "13 + 9 * season + normal(0, 3)",
        "rain": "exponential(2.5 - 1.2 * season)",
        "holiday": "uniform(0, 1) < 0.3",
        "discount": "choice('none', 'none', 'student', 'everybody')",
        "event": "uniform(0, 1) < 0.12",
        "bicycles": "round(420 + 60 * season + 90 * event + normal(0, 25))",
        "rides": (
            "round(350 + 28 * temperature - 0.45 * (temperature - 15) ** 2 - 55 * log(1 + rain) - 120 * holiday"
            " + 90 * (discount == 'student') + 190 * (discount == 'everybody') + 0.5 * bicycles + 260 * event"
            " + normal(0, 45))"
        ),
    },
)

# Pupils of 30 schools. A school is known by its number alone; what makes one better than another is in no column.
PUPILS = declare(
    name="pupils",
    target="score",
    equations={
        "hours_of_study": "clip(normal(6, 2.5), 0, 16)",
        "hours_of_sleep": "clip(normal(7.8, 0.9), 4, 11)",
        "absences": "poisson(4)",
        "books_at_home": "poisson(exp(3 + normal(0, 0.6)))",
        "tutoring": "uniform(0, 1) < 0.1 + 0.3 * (books_at_home > 30)",
        "shoe_size": "round(normal(38, 2))",
        "score": (
            "46 + 14 * (1 - exp(-hours_of_study / 5)) + 5 * tanh((hours_of_sleep - 6.5) / 1.2) - 0.9 * absences"
            " + 3.2 * log(1 + books_at_home) + 4 * tutoring + normal(0, 3)"
        ),
    },
)


def drawn(world: World, rows: int, *, seed: int) -> pd.DataFrame:
    """Rows of a world, numbers with a few digits."""
    frame = pd.DataFrame(world.draw_columns(rows, seed=seed))
    return frame.round(dict.fromkeys(frame.select_dtypes("float").columns, 2))


def rides() -> pd.DataFrame:
    """400 days in their order, from the first of March: the seasons come and go, and the firm grows."""
    frame = drawn(RIDES, 400, seed=5).drop(columns=["season"])
    frame = frame.sort_values("day", kind="stable").reset_index(drop=True)
    frame.insert(0, "date", [(FIRST_DAY + timedelta(days=at)).isoformat() for at in range(len(frame))])
    return frame.drop(columns=["day"])


def pupils() -> pd.DataFrame:
    """300 pupils, ten of each school; the school shifts the scores of its pupils."""
    frame = drawn(PUPILS, 300, seed=9)
    shift = declare(name="shift", target="by", equations={"one": "normal(0, 1)", "by": "2.5 * one"}).draw(30, seed=9).y
    frame.insert(0, "school", [f"school {1 + at // 10:02d}" for at in range(len(frame))])
    frame["score"] = (frame["score"] + shift[[at // 10 for at in range(len(frame))]]).round(1)
    return frame


TABLES = {
    "houses/houses.csv": lambda: drawn(WORLDS["house_listing"], 300, seed=2),
    "fields/fields.csv": lambda: drawn(WORLDS["crop_yield"], 240, seed=7),
    "rides/days.csv": rides,
    "pupils/pupils.csv": pupils,
}

if __name__ == "__main__":
    for name, table in TABLES.items():
        table().to_csv(HERE / name, index=False)
        print(HERE / name)

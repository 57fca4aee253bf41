"""docs/design/house.md: its picture is drawn from the code as it is."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_shows_the_rooms_and_a_run_as_they_are():
    command = [sys.executable, "docs/draw_house.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("docs/design/house.svg is as the code is\n", 0), done.stderr

"""Draws docs/pictures/report_top.png: the first screen of the quickstart's report, as a browser shows it.

python docs/draw_report.py [RUN]    RUN: the folder of a finished run of specs/quickstart.yaml; else it is run
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "report"))

from chromium import Chromium

import crda_spec

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "report_top.png"
WIDTH, HEIGHT = 900, 1112  # in the page's own pixels
SHARP = 1.25
# The page says where it lies; in the picture that is where a run of yours would lie.
ELSEWHERE = """document.querySelectorAll("code").forEach(function (part) {
  part.textContent = part.textContent.replace(/verify .*/, "verify runs/quickstart/RUN");
})"""


def main() -> None:
    """Runs, unless a run is named, and takes the picture."""
    with tempfile.TemporaryDirectory() as home:
        if len(sys.argv) > 1:
            folder = Path(sys.argv[1])
        else:
            folder = Path(home) / "quickstart"
            crda_spec.run(str(ROOT / "specs" / "quickstart.yaml")).save(folder)
        with Chromium() as browser:
            browser.open(folder / "report.html", width=WIDTH, height=HEIGHT)
            browser.ask(ELSEWHERE)
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": SHARP}
            shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    PICTURE.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()

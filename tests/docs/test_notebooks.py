"""examples/notebooks: each runs from top to bottom, and shows what it printed when it was written.

CRDA_UPDATE_GOLDEN=1 writes the outputs anew.
"""

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
UPDATE = bool(os.environ.get("CRDA_UPDATE_GOLDEN"))
LARGEST = 60_000  # bytes of a notebook, its outputs included


def words(notebook):
    """What each code cell prints, as text; a busy machine may send one print in two pieces."""

    def piece(output):
        return output.get("text") or output.get("data", {}).get("text/plain", "")

    return ["".join(piece(output) for output in cell.get("outputs", ())) for cell in notebook.cells]


def test_there_are_four_and_they_are_small():
    assert [file.stem for file in NOTEBOOKS] == ["experts_graph", "five_minutes", "scikit_learn", "what_if"]
    assert max(file.stat().st_size for file in NOTEBOOKS) <= LARGEST


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own affairs; the kernel is a process of its own
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_shows_what_it_says(file, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONWARNINGS", "default")
    written = nbformat.read(file, as_version=4)
    shown = words(written)
    run = nbformat.from_dict(written)
    NotebookClient(run, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}).execute()
    if UPDATE:
        for cell in run.cells:
            cell.metadata.pop("execution", None)  # moments
        nbformat.write(run, file)
    else:
        assert words(run) == shown

import os
from pathlib import Path

import pytest

from crda_spec.data.sources.benchmark import BENCHMARKS


@pytest.fixture
def benchmark_data() -> Path:
    """The folder of the paper's tables; without it, the tests that read them are skipped."""
    folder = os.environ.get("CRDA_DATA_DIR", "")
    if not folder:
        pytest.skip("CRDA_DATA_DIR is not set: the paper's tables are not here")
    absent = [table.file for table in BENCHMARKS.values() if not (Path(folder) / table.file).is_file()]
    if absent:
        pytest.skip(f"CRDA_DATA_DIR lacks {absent[0]}")
    return Path(folder)

"""A run's folder appears whole or not at all."""

import os
from collections.abc import Mapping
from hashlib import sha256

import pytest

from crda_spec.audit.runfolder import check_destination, file_hashes, write_run
from crda_spec.errors import OutputError


class Interrupted(Mapping):
    """Files of which the second one never comes: Ctrl-C while the first has been written."""

    def __getitem__(self, name):
        if name == "second":
            raise KeyboardInterrupt
        return b"1"

    def __iter__(self):
        return iter(["first", "second"])

    def __len__(self):
        return 2


def message(call, *arguments):
    with pytest.raises(OutputError) as caught:
        call(*arguments)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_all_files_arrive_and_nothing_else(tmp_path):
    folder = tmp_path / "runs" / "name" / "id"
    check_destination(folder)
    write_run(folder, {"record.json": b"{}", "model/model.json": b"[]"})
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"runs/name/id/record.json", "runs/name/id/model/model.json"}
    assert [path.name for path in folder.parent.iterdir()] == ["id"]


def test_an_empty_folder_is_taken(tmp_path):
    check_destination(tmp_path)
    write_run(tmp_path / "empty", {"a": b"1"})
    (tmp_path / "other").mkdir()
    write_run(tmp_path / "other", {"a": b"1"})
    assert (tmp_path / "other" / "a").read_bytes() == b"1"


def test_an_interruption_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_run(tmp_path / "run", Interrupted())
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_nothing_and_says_why(tmp_path):
    folder = tmp_path / "run"
    assert message(write_run, folder, {"first": b"1", "n" * 300: b"2"}) == (
        f"output.dir: cannot write the run to '{folder}': file name too long; choose another folder with --out"
    )
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_behind_does_not_get_into_the_next(tmp_path):
    """In a container every run may have the same process number."""
    leftover = tmp_path / f".partial-run-{os.getpid()}-0a1b2c"
    leftover.mkdir()
    (leftover / ".crda-partial").touch()
    (leftover / "stale").write_bytes(b"old")
    write_run(tmp_path / "run", {"fresh": b"new"})
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["fresh"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_folder_with_something_in_it_is_refused_before_any_work(tmp_path):
    (tmp_path / "note").write_text("mine")
    expected = (
        f"output.dir: cannot write the run to '{tmp_path}': it already exists and is not empty; "
        "choose another folder with --out"
    )
    assert message(check_destination, tmp_path) == expected
    file = tmp_path / "note"
    assert message(check_destination, file) == (
        f"output.dir: cannot write the run to '{file}': it is a file; choose another folder with --out"
    )
    assert message(check_destination, file / "below") == (
        f"output.dir: cannot write the run to '{file / 'below'}': '{file}' is not a folder one may write to; "
        "choose another with --out"
    )
    assert file.read_text() == "mine"


def test_a_folder_that_filled_up_in_the_meantime_is_left_alone(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "note").write_text("mine")
    assert message(write_run, folder, {"a": b"1"}) == (
        f"output.dir: cannot write the run to '{folder}': directory not empty; choose another folder with --out"
    )
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "note"]


def test_hashes_by_name():
    assert list(file_hashes({"b": b"1", "a": b"2"}).items()) == [
        ("a", sha256(b"2").hexdigest()),
        ("b", sha256(b"1").hexdigest()),
    ]

"""Spec files as they come: encodings, sizes, absences."""

from crda_spec.spec.load import read_draft
from crda_spec.spec.yaml_tree import MAX_BYTES

SPEC = "version: 1\nname: houses\ndataset:\n  source: {kind: synthetic, world: bidding_war}\n  target: price\n"


def complaints_of(draft):
    return [complaint.render() for complaint in draft.complaints]


def test_a_byte_order_mark_is_no_part_of_the_spec(load):
    spec, draft = load(head="\ufeff" + SPEC)
    assert spec.name == "houses"
    assert str(draft.tree.place(("name",))) == "spec.yaml:2:7"


def test_windows_line_ends_are_read(load):
    spec, draft = load(head=SPEC.replace("\n", "\r\n"))
    assert spec.dataset.target == "price"
    assert draft.tree.place(("dataset", "target")).text == "  target: price"


def test_a_file_over_the_limit_is_not_read(draft):
    head = SPEC + "description: '" + "x" * MAX_BYTES + "'\n"
    assert complaints_of(draft(head=head)) == [
        f"spec.yaml: the file has {len(head)} bytes, a spec may have {MAX_BYTES}; put data into a data file"
    ]


def test_a_file_at_the_limit_is_read(load):
    room = MAX_BYTES - len(SPEC) - len("description: ''\n")
    spec, _ = load(f"description: '{'x' * room}'\n", head=SPEC)
    assert len(spec.description) == room


def test_a_folder_is_no_spec(tmp_path):
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "one.yaml").touch()
    (folder / "two.yml").touch()
    assert complaints_of(read_draft(folder, environ={})) == [
        f"specs: '{folder}' is a folder; specs in it: one.yaml, two.yml"
    ]


def test_a_missing_spec_in_a_missing_folder_has_no_neighbours_to_offer(tmp_path):
    file = tmp_path / "nowhere" / "spec.yaml"
    assert complaints_of(read_draft(file, environ={})) == [f"spec.yaml: there is no such file: '{file}'"]

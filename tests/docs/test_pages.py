"""Every page: what is generated is fresh, what is shown is real, links lead somewhere, and the prose is short."""

import json
import re
from functools import cache

import pytest
import typer
import yaml
from docs_builder import AGAIN, DOCS, PAGES, ROOT, USER_PAGES, WITHOUT_DATA, builder, page_id, tables

from crda_spec.bench.suite import Collection, Suite
from crda_spec.cli.app import app, run_app
from crda_spec.spec.run import RunSpec

LIMIT = 15_000  # words of all user pages together, outputs and code included
WIDTH = 120
LINKED = [*PAGES, *builder.reference(), ROOT / "CONTRIBUTING.md"]
# Words of the workshop, and words that no reader of this field uses so.
BANNED = (
    "teacher's word",
    "foretell",
    "hang together",
    "all the same",
    "stands on",
    "came out as",
    "handed over",
    "scratch script",
)


def blocks(*, runs):
    for page in PAGES:
        for block in builder.blocks(page.read_text(encoding="utf-8")):
            if block.is_run == runs:
                marks = [pytest.mark.skipif(not block.can_be_made, reason=WITHOUT_DATA)]
                yield pytest.param(block, id=f"{page.stem}: {block.command}", marks=marks)


@pytest.mark.parametrize("block", list(blocks(runs=False)))
def test_a_block_is_what_makes_it(block):
    if block.needs_example_data:
        builder.get_example_data()
    assert block.body == block.fresh(), AGAIN


@pytest.mark.slow
@pytest.mark.parametrize("block", list(blocks(runs=True)))
def test_a_run_ends_as_the_page_tells(block):
    if block.needs_example_data:
        builder.get_example_data()
    assert builder.alike(block.body, block.fresh()), f"{AGAIN} --runs"


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in USER_PAGES if builder.is_played(page.read_text(encoding="utf-8"))], ids=page_id
)
def test_commands_and_code_print_what_the_page_shows(page):
    shown = page.read_text(encoding="utf-8")
    assert builder.alike(shown, builder.replayed(shown)), f"{AGAIN} --runs"


@pytest.mark.parametrize("page", list(builder.reference()), ids=page_id)
def test_the_reference_is_what_the_program_says(page):
    assert page.read_text(encoding="utf-8") == builder.reference()[page], AGAIN


def test_a_stale_block_is_noticed_and_mended():
    command = "the graph of docs/traps/collider.yaml"
    page = f"before\n<!-- made by: {command} -->\nold\n<!-- end -->\nafter\n"
    assert builder.stale(page) == [command]
    mended = builder.rebuilt(page)
    assert builder.stale(mended) == []
    assert mended.startswith(f"before\n<!-- made by: {command} -->\n```yaml\ncausal:\n  graph:\n")
    assert mended.endswith("latent: [severity]\n```\n<!-- end -->\nafter\n")


def test_another_figure_is_noticed(monkeypatch):
    (page,) = (page for page in PAGES if page_id(page) == "docs/evidence/recipes.md")
    (block,) = (one for one in builder.blocks(page.read_text()) if one.command == "the table recipes_mlp")
    figures = dict(tables.read("recipes"))
    figures["mlp_distilled_gated"] -= 0.1
    monkeypatch.setattr(tables, "read", lambda _: figures)
    assert block.is_stale()


def test_another_output_is_noticed():
    assert builder.alike("gained 3.10 % in 5.2 s\n", "gained 3.11 % in 9 s\n")
    assert not builder.alike("gained 3.1 %\n", "gained 3.9 %\n")
    assert not builder.alike("gained 3.1 %\n", "lost 3.1 %\n")


def test_every_table_is_shown_and_every_result_is_in_one():
    wanted = {block.command for page in PAGES for block in builder.blocks(page.read_text(encoding="utf-8"))}
    assert {one.removeprefix("the table ") for one in wanted if one.startswith("the table ")} == set(tables.TABLES)
    read = {name for table in tables.TABLES.values() for name in re.findall(r"benchmarks/(\w+)\.py", table())}
    assert {file.stem for file in tables.RESULTS.glob("*.json")} - read <= {"mlp_speed"}  # a speed of our own code only


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_picture_is_what_the_command_draws(page):
    builder.get_example_data()
    for file, spec in builder.drawable(page.read_text(encoding="utf-8")).items():
        assert file.read_text() == builder.drawing(spec), AGAIN


def test_nothing_lies_about_unused():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = set(re.findall(r"pictures/([\w.]+)\)", text))
    assert shown == {file.name for file in (DOCS / "pictures").iterdir()}
    tested = (ROOT / "tests" / "docs" / "test_traps.py").read_text()
    assert all(f'"{file.stem}"' in tested for file in (DOCS / "traps").iterdir())


# The prose.


def test_user_pages_are_short():
    words = {page_id(page): len(re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8"))) for page in USER_PAGES}
    assert sum(words.values()) <= LIMIT, words


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_lines_are_wrapped(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    long = [line for line in prose.splitlines() if len(line) > WIDTH and not line.startswith(("|", "<!--", "!["))]
    assert long == [] or page.name == "house.md"  # whose lines are as long as those of a table


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_words_of_the_workshop_stay_out(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = " ".join(prose.split()).lower()
    assert [word for word in BANNED if word in text] == [] or page.name == "house.md"
    assert re.findall(r"\bsplits? \d|\bstretch(?:es)? \d", text) == [] or page.parent.name == "evidence"


# Links.


@cache
def anchors(page):
    """What GitHub makes of the titles of a page; a `#` inside a block of code is no title."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LINKED, ids=page_id)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("https://"):
            file, _, anchor = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_the_first_page_of_a_part_lists_its_pages():
    for part in ("how-to", "explanation", "evidence", "reference"):
        index = (DOCS / part / "index.md").read_text(encoding="utf-8")
        for page in (DOCS / part).glob("*.md"):
            assert page.name == "index.md" or f"]({page.name})" in index, page


def test_pages_that_the_code_names_are_there():
    named = set()
    for folder in ("crda_spec", "examples", "specs", "schemas", "benchmarks"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".py", ".yaml", ".json", ".toml"):
                named |= set(re.findall(r"docs/[\w/-]+\.(?:md|svg)", file.read_text(encoding="utf-8")))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


# What is promised exists.

SCHEMA = RunSpec.model_json_schema()
SPEC = {"version": 1, "name": "page", "dataset": {"source": {"kind": "csv", "path": "t.csv"}, "target": "y"}}


def snippets():
    for page in PAGES:
        for number, text in enumerate(re.findall(r"^```yaml\n(.+?)^```", page.read_text(), re.DOTALL | re.MULTILINE)):
            yield pytest.param(text, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("text", list(snippets()))
def test_every_snippet_is_understood(text):
    found = yaml.safe_load(text)
    if "regressor" in found and found["regressor"].get("class", "").startswith("lightgbm"):
        pytest.importorskip("lightgbm")
    if "tables" in found:  # a benchmark suite
        assert list(Suite.model_validate_json(json.dumps(found)).complaints()) == []
        return
    RunSpec.model_validate_json(json.dumps({**SPEC, **found}))


def contexts(key, value):
    """Where a key that stands alone in a sentence may belong."""
    if key == "gate" and isinstance(value, dict):
        value = {"kind": "wilcoxon", **value}  # which the recipe fills in
    said = {key: value}
    dataset = SPEC["dataset"]
    yield said
    yield {"dataset": {**dataset, **said}}
    yield {"dataset": {**dataset, "missing": {"kind": "impute", **said}}}
    yield {"causal": {"graph": {"kind": "edges", "edges": ["a -> y", "blood_level -> y"], **said}}}
    yield {"gate": {"kind": "wilcoxon", **said}}
    yield {"gate": said}
    yield {"tune": {"kind": "randomized", **said}}
    yield {"tune": {"kind": "none", "augmentation": said}}
    yield {"regressor": {"kind": "xgboost", **said}}
    yield {"output": {"intervals": said}}
    for section in ("output", "perturbation", "partition", "counterfactual", "falsify"):
        yield {section: said}


ELSEWHERE = {"reproducible", *Collection.model_fields}  # keys of a record, and of a collection of suites


@pytest.mark.parametrize("page", USER_PAGES, ids=page_id)
def test_every_setting_in_a_sentence_exists(page):
    """`gate: {kind: corrected_t}` and `split: {kind: none}`: with this key and this value there is a spec."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for text in re.findall(r"`([a-z_]+: [^`]+)`", " ".join(prose.split())):
        key = text.partition(":")[0]  # `on` is true to YAML
        (value,) = yaml.safe_load(text).values()
        if key not in ELSEWHERE:
            assert any(accepted({**SPEC, **spec}) for spec in contexts(key, value)), text


def accepted(spec):
    """Whether a spec with these values is one."""
    try:
        RunSpec.model_validate_json(json.dumps(spec))
    except ValueError:
        return False
    return True


def inside(nodes, key):
    """What may stand below a key of any of these parts of the schema."""
    for node in nodes:
        if "$ref" in node:
            yield from inside([SCHEMA["$defs"][node["$ref"].rpartition("/")[2]]], key)
        for word in ("anyOf", "oneOf", "allOf"):
            yield from inside(node.get(word, ()), key)
        if key in node.get("properties", {}):
            yield node["properties"][key]
        elif isinstance(node.get("additionalProperties"), dict):
            yield node["additionalProperties"]


SECTIONS = "|".join(SCHEMA["properties"])


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_key_that_is_named_exists(page):
    """`partition.max_features`, `gate.kind: wilcoxon`: a section, and keys below it."""
    for path, value in re.findall(rf"`((?:{SECTIONS})(?:\.\w+)+)(?:: (\w+))?`", page.read_text(encoding="utf-8")):
        nodes = [SCHEMA]
        if path.endswith(".py"):
            continue
        for key in path.split("."):
            nodes = list(inside(nodes, key))
            assert nodes, f"{page_id(page)}: {path}"
        if value and not value.isdigit():
            keys = path.split(".")
            assert any(value in json.dumps(one) for one in opened(nodes)), f"{page_id(page)}: {'.'.join(keys)}: {value}"


def opened(nodes):
    """The same parts with what they refer to, once."""
    for node in nodes:
        yield node
        for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(node)):
            yield SCHEMA["$defs"][name]


COMMANDS = {
    **typer.main.get_command(app).commands,
    "crda-run": typer.main.get_command(run_app),
}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_command_and_option_exists(page):
    text = page.read_text(encoding="utf-8")
    written = re.findall(r"(?:^\$ |^|`|&& )(crda-(?:run|spec [a-z]+)\b(?!:)[^\n`&]*)", text, re.MULTILINE)
    for line in written:
        name = "crda-run" if line.startswith("crda-run") else line.split()[1]
        assert name in COMMANDS, line
        options = {option for one in COMMANDS[name].params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
        asked = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", line.partition("  #")[0]))
        assert asked <= options, f"{page_id(page)}: {line}"

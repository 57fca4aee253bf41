"""Spec -> YAML -> the same spec, without a secret on the way."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crda_spec.counterfactual.partition import Partition
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.policies import Jitter, Resample, Scale
from crda_spec.data.contract import ColumnContract
from crda_spec.data.dataset import Dataset, Missing
from crda_spec.data.sources import Csv
from crda_spec.data.split import ColumnSplit, FractionSplit
from crda_spec.discovery import Pc
from crda_spec.gate.tests import Wilcoxon
from crda_spec.regressors import EarlyStopping, Linear, Mlp, Ridge, Xgboost
from crda_spec.regressors.teachers import BaggedTeacher, CommitteeTeacher, CrossfitTeacher, SingleTeacher, Student
from crda_spec.spec.load import read_draft
from crda_spec.spec.render import redact_url, render, resolved
from crda_spec.spec.run import Causal, Counterfactual, EdgesGraph, RunSpec
from crda_spec.spec.tune import NoTuning, RandomizedTuning

# All that a YAML file can hold: no lone surrogates and no control characters but tab and line ends.
CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t", exclude_characters="\ufeff")
TEXT = st.text(CHARACTERS, max_size=12) | st.sampled_from(
    [
        "no",
        "1e3",
        "09",
        "0x1F",
        "~",
        "null",
        ".INF",
        "2024-01-01",
        "12:30",
        "${HOME}",
        "$$",
        "$${",
        "a: b",
        "# no",
        "'",
        "- a",
        "=",
        "<<",
    ]
)
NAMES = TEXT.filter(bool)
POSITIVE = st.floats(min_value=1e-6, max_value=9)
FRACTION = st.floats(min_value=0.001, max_value=0.999)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
META = st.dictionaries(TEXT, st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=5), max_size=3)

CONTRACTS = st.builds(
    ColumnContract,
    type=st.sampled_from([None, "continuous", "integer"]),
    unit=st.none() | TEXT,
    min=st.none() | st.floats(-9, 0),
    max=st.none() | st.floats(0, 9),
)
POLICIES = st.one_of(
    st.builds(Scale, reach=POSITIVE, share=st.sampled_from(["row", "cell"])),
    st.builds(Jitter, sd=POSITIVE),
    st.builds(Resample, weights=st.sampled_from(["empirical", "uniform"])),
)
STOPPING = st.none() | st.builds(EarlyStopping, rounds=st.integers(1, 50), validation=st.floats(0.001, 0.5))
REGRESSORS = st.one_of(
    st.just(Linear()),
    st.builds(Ridge, alpha=POSITIVE),
    st.builds(Xgboost, max_depth=st.integers(1, 9), early_stopping=STOPPING),
    st.builds(
        Mlp,
        hidden_layer_sizes=st.lists(st.integers(1, 99), min_size=1, max_size=3).map(tuple),
        early_stopping=STOPPING,
    ),
)
CAUSAL = st.one_of(
    st.builds(Causal, discovery=st.builds(Pc, kind=st.just("pc"), alpha=FRACTION)),
    st.builds(
        Causal,
        graph=st.builds(
            EdgesGraph,
            kind=st.just("edges"),
            edges=st.lists(NAMES, min_size=1, max_size=3).map(tuple),
            latent=st.lists(NAMES, max_size=2).map(tuple),
        ),
    ),
)
MARKS = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT


@st.composite
def specs(draw: st.DrawFn) -> RunSpec:
    """Specs that no check of their parts complains about; the columns they name need not exist."""
    target, first, second, mark = draw(st.lists(NAMES, min_size=4, max_size=4, unique=True))
    split = FractionSplit(kind="fraction", test=draw(FRACTION))
    by_column = ColumnSplit(kind="column", column=mark, test=tuple(draw(st.lists(MARKS, min_size=1, max_size=3))))
    dataset = Dataset(
        source=Csv(path=draw(NAMES), delimiter=draw(st.sampled_from([",", ";", "\t"]))),
        target=target,
        features=draw(st.sampled_from([None, (first,), (first, second)])),
        columns={first: draw(CONTRACTS)},
        missing=Missing(kind="drop"),
        split=draw(st.sampled_from([split, by_column])),
    )
    members = (Student(), Ridge(alpha=draw(FRACTION)))
    teacher = draw(
        st.sampled_from(
            [
                SingleTeacher(),
                CrossfitTeacher(folds=4),
                CrossfitTeacher(repeats=2),
                BaggedTeacher(members=3),
                CommitteeTeacher(members=members),
            ]
        )
    )
    return RunSpec(
        version=1,
        name=draw(st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,9}\Z")),
        description=draw(TEXT),
        meta=draw(META),
        recipe=draw(st.sampled_from(["paper", "distilled"])),
        seed=draw(st.integers(0, 2**32 - 1)),
        dataset=dataset,
        causal=draw(CAUSAL),
        partition=Partition(perturb=draw(st.sampled_from([None, (first,)])), keep=(second,)),
        regressor=draw(REGRESSORS),
        counterfactual=Counterfactual(teacher=teacher, retention=draw(FRACTION)),
        perturbation=Perturbation(default=draw(POLICIES), features=draw(st.dictionaries(NAMES, POLICIES, max_size=2))),
        gate=Wilcoxon(folds=draw(st.integers(12, 30)), alpha=draw(FRACTION)),
        tune=draw(st.sampled_from([NoTuning(kind="none"), RandomizedTuning(trials=3)])),
    )


@given(spec=specs())
@example(
    spec=RunSpec(
        version=1,
        name="1e3",
        description="$${a} ${b} $",
        dataset=Dataset(source=Csv(path="09"), target="1.0"),
    )
)
def test_what_is_rendered_loads_to_the_same_spec(tmp_path_factory: pytest.TempPathFactory, spec: RunSpec) -> None:
    file = tmp_path_factory.mktemp("render") / "spec.yaml"
    file.write_bytes(render(spec).encode())
    draft = read_draft(file, environ={"HOME": "/root", "b": "filled in"})
    assert draft.complaints == []
    assert draft.spec == spec


@given(spec=specs())
def test_the_resolved_spec_is_plain_json(spec: RunSpec) -> None:
    assert RunSpec.model_validate_json(json.dumps(resolved(spec))) == spec


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[2] / "specs").glob("*.yaml")), ids=lambda file: file.stem
)
def test_rendering_a_rendered_spec_changes_nothing(file: Path, tmp_path: Path) -> None:
    draft = read_draft(file, environ={})
    assert draft.spec is not None
    again = tmp_path / "spec.yaml"
    again.write_text(render(draft.spec, draft), encoding="utf-8")
    second = read_draft(again, environ={})
    assert second.spec == draft.spec
    assert render(second.spec, second) == again.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:secret@db/houses", "postgresql://ada:***@db/houses"),
        ("postgresql+psycopg://ada:se:cr/et@db/houses", "postgresql+psycopg://ada:***@db/houses"),
        ("postgresql://ada:se@cret@db/houses", "postgresql://ada:***@db/houses"),
        ("postgresql://ada:se?cr&et@x/y@db/houses", "postgresql://ada:***@db/houses"),
        ("postgresql://ada:${PASSWORD}@et@db/houses", "postgresql://ada:***@db/houses"),
        ("postgresql://:secret@db/houses", "postgresql://:***@db/houses"),
        ("postgresql://ada@db:5432/houses", "postgresql://ada@db:5432/houses"),
        ("postgresql://db/houses?user=ada&password=secret&ssl=1", "postgresql://db/houses?user=ada&password=***&ssl=1"),
        ("postgresql://db/h?sslkey=secret&sslmode=require", "postgresql://db/h?sslkey=***&sslmode=require"),
        ("snowflake://db/h?private_key_passphrase=a%20b", "snowflake://db/h?private_key_passphrase=***"),
        ("bigquery://p/d?credentials_path=/home/ada/k.json", "bigquery://p/d?credentials_path=***"),
        ("bigquery://p/d?Credentials_Base64=c2Vj&location=EU", "bigquery://p/d?Credentials_Base64=***&location=EU"),
        ("mysql://db/h?ssl_key=k&passwd=a=b&charset=utf8", "mysql://db/h?ssl_key=***&passwd=***&charset=utf8"),
        ("postgresql://ada:secret@db/h?token=${TOKEN}", "postgresql://ada:***@db/h?token=${TOKEN}"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dsecret", "mssql+pyodbc:///?odbc_connect=***"),
        ("sqlite:///houses.db", "sqlite:///houses.db"),
        ("postgresql://ada:${PASSWORD}@db/houses", "postgresql://ada:${PASSWORD}@db/houses"),
        ("postgresql://ada:${PASSWORD:-secret}@db/houses", "postgresql://ada:***@db/houses"),
        ("postgresql://ada:x${PASSWORD}@db/houses", "postgresql://ada:***@db/houses"),
        ("${URL:-postgresql://ada:secret@db/houses}", "${URL:-postgresql://ada:***@db/houses}"),
        ("${URL}", "${URL}"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert redact_url(url) == shown


SQL = """version: 1
name: houses
dataset:
  source:
    kind: sql
    url: {url}
    query: SELECT * FROM houses
  target: price
"""


@pytest.mark.parametrize(
    ("url", "rendered"),
    [
        pytest.param("postgresql://ada:secret@db/h", "postgresql://ada:***@db/h", id="literal"),
        pytest.param("${DB}", "${DB}", id="whole-url-from-the-environment"),
        pytest.param("postgresql://ada:${PW}@${HOST:-db}/h", "postgresql://ada:${PW}@${HOST:-db}/h", id="parts"),
        pytest.param(
            "postgresql://ada:secret@${HOST:-db}/h", "postgresql://ada:***@${HOST:-db}/h", id="literal-and-env"
        ),
        pytest.param("postgresql://ada:pa$$ss@db/h", "postgresql://ada:***@db/h", id="escaped-dollar"),
    ],
)
def test_no_secret_reaches_the_rendered_spec(tmp_path: Path, url: str, rendered: str) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(SQL.format(url=url), encoding="utf-8")
    draft = read_draft(file, environ={"DB": "postgresql://ada:secret@db/h", "PW": "secret"})
    assert draft.spec is not None
    assert resolved(draft.spec, draft)["dataset"]["source"]["url"] == rendered
    assert f"url: {rendered}\n" in render(draft.spec, draft)
    assert "secret" not in render(draft.spec, draft)


ENVIRONMENT = """version: 1
name: houses
description: "for ${OWNER}, $${OWNER} and $5"
meta:
  owner: "${OWNER}"
  floor: ${FLOOR}
  teams: [ada, {lead: "${OWNER:-nobody}"}]
dataset:
  source:
    kind: sql
    url: postgresql://ada:${PW}@db/h
    query: SELECT * FROM houses WHERE owner = '${OWNER}'
  target: price
regressor:
  kind: ${KIND}
  alpha: ${ALPHA:-0.5}
execution:
  jobs: ${JOBS:-2}
"""


def test_text_from_the_environment_is_rendered_as_written_and_loads_to_the_same_spec(tmp_path: Path) -> None:
    file, environ = tmp_path / "spec.yaml", {"OWNER": "Grace: ${x} 'H'", "PW": "pw", "FLOOR": "3", "KIND": "ridge"}
    file.write_text(ENVIRONMENT, encoding="utf-8")
    draft = read_draft(file, environ=environ)
    assert draft.spec is not None
    plain = resolved(draft.spec, draft)
    assert plain["description"] == "for ${OWNER}, $${OWNER} and $5"
    assert plain["meta"] == {"owner": "${OWNER}", "floor": 3, "teams": ["ada", {"lead": "${OWNER:-nobody}"}]}
    assert plain["dataset"]["source"]["url"] == "postgresql://ada:${PW}@db/h"
    assert plain["dataset"]["source"]["query"] == "SELECT * FROM houses WHERE owner = '${OWNER}'"
    assert plain["regressor"] == {"kind": "${KIND}", "alpha": 0.5}
    assert plain["execution"]["jobs"] == 2
    again = tmp_path / "again.yaml"
    again.write_text(render(draft.spec, draft), encoding="utf-8")
    assert "Grace" not in again.read_text(encoding="utf-8")
    second = read_draft(again, environ=environ)
    assert second.complaints == []
    assert second.spec == draft.spec
    assert render(second.spec, second) == again.read_text(encoding="utf-8")


@pytest.mark.parametrize("order", [("own", "merge"), ("merge", "own")], ids="-then-".join)
def test_a_value_that_is_written_beside_a_merge_is_not_taken_for_the_merged_variable(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    lines = {"own": "    unit: literal\n", "merge": "    <<: *base\n"}
    text = "version: 1\nname: houses\nmeta:\n  base: &base {unit: '${UNIT}', also: '${UNIT}'}\n  price:\n"
    file = tmp_path / "spec.yaml"
    source = "dataset: {source: {kind: csv, path: houses.csv}, target: price}\n"
    file.write_text(text + "".join(lines[one] for one in order) + source, encoding="utf-8")
    draft = read_draft(file, environ={"UNIT": "m2"})
    assert draft.spec is not None
    assert draft.spec.meta["price"] == {"unit": "literal", "also": "m2"}
    assert resolved(draft.spec, draft)["meta"]["price"] == {"unit": "literal", "also": "${UNIT}"}


def test_an_overridden_url_is_masked_although_the_file_names_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(SQL.format(url="${DB}"), encoding="utf-8")
    override = "dataset.source.url=postgresql://ada:secret@db/h"
    draft = read_draft(file, overrides=[override], environ={"DB": "sqlite:///h.db"})
    assert draft.spec is not None
    assert resolved(draft.spec, draft)["dataset"]["source"]["url"] == "postgresql://ada:***@db/h"

"""A table read column by column trains the model that the same table in memory does."""

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from askless.app.documents.files import model_text
from askless.app.documents.spec.spec import read_spec
from askless.core.codes import binned_table
from askless.core.codes.binning import encode_rows
from askless.core.errors import RefusedError
from askless.core.pipeline import check, preparing
from askless.core.pipeline.check import check_training
from askless.core.pipeline.preparing import prepare_columns
from askless.core.pipeline.train import train
from askless.core.table.columns import read_feature
from askless.core.work import run_to_end

pytestmark = pytest.mark.usefixtures("short_pruning", "short_calibrations")

N_ROWS = 120
CODED = {
    "features": {"params": {"rounds": 12}},
    "greedy": {"algorithm": "adaboost_bt_greedy", "params": {"rounds": 12}},
    "trees": {"params": {"rounds": 5, "learner": "tree", "leaves": 3}},
    "weights": {"weight": "w", "params": {"rounds": 8}},
    "row groups": {"group_by": "who", "params": {"rounds": 8}},
    "classes": {"target": "three", "params": {"rounds": 8}},
    "dropped": {"target": "gaps", "missing_target": "drop", "weight": "w"},
    "aside": {"certificate": {"share": 0.3, "budgets": [5]}, "target": "gaps"},
    "hashed": {"validation": {"folds": 3, "deal": "hashed"}, "params": {"rounds": 8}},
    "no folds": {"validation": None, "params": {"rounds": 8}},
    "tuned": {"algorithm": "hybrid", "params": {"switch": "auto", "rounds": 5}},
    "selected": {"selection": {"method": "sfs", "learner": "stump", "rounds": 2}},
    "nothing selected": {
        "selection": {"method": "fs2boost", "significance": 1e-6},
        "target": "noise",
    },
    "values": {"algorithm": "decision_tree"},
    "cascade": {"algorithm": "cascade", "params": {"rounds": 15, "detection": 0.6}},
}


# What a sample may differ in: who is left out or held out, what is chosen on it. Two
# reach all of core that reads one: uncompiled, the others add nothing.
SAMPLED = [
    *("aside", "dropped"),
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("row groups", "hashed", "no folds", "tuned", "selected", "values")
    ),
]


class Once(Mapping):
    """Columns that are read one after the other, each of them once but the target."""

    def __init__(self, columns):
        self.columns = columns
        self.asked = []

    def __getitem__(self, name):
        self.asked.append(name)
        return self.columns[name].copy()

    def __contains__(self, name):
        return name in self.columns

    def __iter__(self):
        return iter(self.columns)

    def __len__(self):
        return len(self.columns)


def columns_of(n_rows=N_ROWS):
    random = np.random.default_rng(3)
    signal = random.normal(size=n_rows)
    noise = random.normal(size=(3, n_rows))
    gaps = random.random(n_rows) < 0.2
    words = np.array(["a", " b", "c", None], object)[random.integers(0, 4, n_rows)]
    yes = np.where(signal + noise[0] > 0, "yes", "no").astype(object)
    three = np.digitize(signal + noise[0] / 2, [-0.5, 0.5]).astype(np.float64)
    return {
        "y": yes,
        "three": three,
        "gaps": np.where((random.random(n_rows) < 0.1), None, yes),
        "noise": random.integers(0, 2, n_rows).astype(np.float64),
        "w": np.where(random.random(n_rows) < 0.1, 0.0, random.random(n_rows)),
        "who": np.array([f"p{row // 2}" for row in range(n_rows)], object),
        "many": np.where(gaps, np.nan, signal + noise[1]),
        "few": np.round(signal * 2 + noise[2]),
        "words": words,
        "flag": np.where(noise[0] > 0.3, "true", "false").astype(object),
        "empty": np.full(n_rows, np.nan),
        "constant": np.full(n_rows, 7.0),
    }


def spec_of(wanted):
    features = ["many", "few", "words", "flag", "empty", "constant"]
    plain = {
        "target": "y",
        "algorithm": "adaboost_bt_smoothed",
        "validation": {"folds": 2},
        "params": {"rounds": 5},
        "features": [
            {"name": name, "cost": 1 + at} for at, name in enumerate(features)
        ],
    }
    return read_spec(plain | wanted)


def text_of(work):
    return model_text(run_to_end(work))


@pytest.mark.parametrize("most", [100_000, 70])
@pytest.mark.parametrize(
    "wanted", [{}, {"certificate": {"share": 0.4}}, {"effort": "fast", "weight": "w"}]
)
def test_column_by_column_the_same_is_said_of_missing_values(wanted, most, monkeypatch):
    for module in (binned_table, check, preparing):
        monkeypatch.setattr(module, "SAMPLE_ROWS", most)
    spec, columns = spec_of({"algorithm": "panels"} | wanted), columns_of()

    checked = check_training(columns, spec)
    prepared = prepare_columns(Once(columns), N_ROWS, spec)

    assert "Missing values" in prepared.warnings[-1]
    assert prepared.warnings == checked.warnings


def test_weights_and_groups_of_rows_are_read_once():
    lazy = Once(columns_of())

    prepared = prepare_columns(
        lazy, N_ROWS, spec_of({"weight": "w", "group_by": "who"})
    )

    assert [lazy.asked.count(name) for name in ("w", "who")] == [1, 1]
    # Rows of weight 0 are left out.
    weights = columns_of()["w"]
    mean = weights[weights > 0].mean()
    assert prepared.table.dataset.mean_weight == pytest.approx(mean)


@cache
def text_of_checked(name):
    """Return the document of the model that a table in memory makes."""
    spec = spec_of({"missing_target": "drop"} | CODED[name])
    return text_of(train(check_training(columns_of(), spec), spec))


@pytest.mark.slow
@pytest.mark.parametrize("name", CODED)
def test_column_by_column_makes_the_same_model(name):
    wanted = {"missing_target": "drop"} | CODED[name]
    spec, columns = spec_of(wanted), columns_of()
    lazy = Once(columns)

    checked = check_training(columns, spec)
    prepared = prepare_columns(lazy, N_ROWS, spec)

    assert text_of(train(prepared, spec)) == text_of_checked(name)
    assert (prepared.warnings, prepared.ignored) == (checked.warnings, checked.ignored)
    assert prepared.error_costs == checked.error_costs
    assert prepared.table.dataset.targets.dtype == np.int64
    features = [name for name in lazy.asked if name not in spec.table.roles.values()]
    assert features == ["many", "few", "words", "flag", "empty", "constant"]


@pytest.mark.parametrize("name", SAMPLED)
def test_so_it_does_where_a_sample_is_kept(name, monkeypatch):
    for module in (binned_table, check, preparing):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 70)
    wanted = {"missing_target": "drop"} | CODED[name]
    spec, columns = spec_of(wanted), columns_of()

    models = [
        run_to_end(train(prepared, spec))
        for prepared in (
            check_training(columns, spec),
            prepare_columns(Once(columns), N_ROWS, spec),
        )
    ]

    assert model_text(models[0]) == model_text(models[1])
    is_sampled = wanted.get("algorithm") not in ("cascade", "decision_tree")
    assert models[0].card.get("rows_sampled") == (70 if is_sampled else None)
    if is_sampled and spec.folds:
        assert models[0].curve.n_samples == 70


def lay_rows_elsewhere(prepared, columns):
    """Let two shards code their rows themselves, by the cuts that were found."""
    table = prepared.table
    rows = slice(None) if prepared.row_idxs is None else prepared.row_idxs
    features = table.catalogue.features
    cells = [
        read_feature(feature, columns[feature.name])[0][rows] for feature in features
    ]
    values = np.column_stack(cells)
    codes = encode_rows(values, table.binned.cuts)

    @contextmanager
    def lay_out(heads, signed):
        yield [
            (heads.with_codes(codes[:, part]), signed[part])
            for part in (slice(0, 50), slice(50, None))
        ]

    return replace(prepared, table=replace(table, lay_out=lay_out))


# Rules, and what selection says, are of the whole table.
@pytest.mark.parametrize(
    "name",
    sorted(
        set(CODED) - {"values", "cascade", "greedy", "no folds", "nothing selected"}
    ),
)
def test_shards_that_code_their_own_rows_make_the_same_model(name):
    wanted = {"missing_target": "drop"} | CODED[name]
    spec, columns = spec_of(wanted), columns_of()

    prepared = prepare_columns(Once(columns), N_ROWS, spec, keeps_codes=False)

    assert prepared.table.binned.n_samples == 0
    apart = lay_rows_elsewhere(prepared, columns)
    assert text_of(train(apart, spec)) == text_of_checked(name)


def test_what_is_wrong_is_refused_as_of_the_table_in_memory():
    columns = columns_of()
    columns["many"][[2, 5]] = np.inf
    columns["w"][7] = -1.0
    columns["y"][0] = None
    spec = spec_of({"weight": "w", "group_by": "nobody"})

    told = []
    for read in (
        lambda: check_training(columns, spec),
        lambda: prepare_columns(Once(columns), N_ROWS, spec),
    ):
        with pytest.raises(RefusedError) as caught:
            read()
        told.append([str(refusal) for refusal in caught.value.refusals])

    assert told[0] == told[1]
    fields = [one.split(":")[0] for one in told[0]]
    assert fields == ["group_by", "column y", "column w", "column many"]


def test_a_refusal_found_late_keeps_the_table_from_training():
    columns = columns_of()
    columns["few"][3] = -np.inf

    with pytest.raises(RefusedError, match="column few: must be finite"):
        prepare_columns(Once(columns), N_ROWS, spec_of({}))


def test_rows_of_one_class_are_refused():
    columns = columns_of()
    columns["w"] = np.where(columns["noise"] > 0, columns["w"], 0.0)

    with pytest.raises(RefusedError, match="two classes among the rows of positive"):
        prepare_columns(
            Once(columns), N_ROWS, spec_of({"target": "noise", "weight": "w"})
        )


def test_table_that_no_memory_holds_is_refused_before_its_features_are_read():
    lazy = Once(columns_of())

    with pytest.raises(RefusedError, match="training must fit the memory"):
        prepare_columns(lazy, N_ROWS, spec_of({}), memory=1000)


def test_a_table_as_codes_needs_less_memory_than_one_of_values(monkeypatch):
    monkeypatch.setattr(check, "SAMPLE_ROWS", 10)
    columns, spec = columns_of(), spec_of({})
    memory = 16_500

    with pytest.raises(RefusedError, match="training must fit the memory"):
        check_training(columns, spec, memory)
    assert prepare_columns(columns, N_ROWS, spec, memory).table.n_samples == N_ROWS


def test_cuts_without_codes_need_less_memory_than_codes(monkeypatch):
    monkeypatch.setattr(check, "SAMPLE_ROWS", 10)
    columns, spec = columns_of(), spec_of({})
    memory = 11_250

    with pytest.raises(RefusedError, match="training must fit the memory"):
        prepare_columns(columns, N_ROWS, spec, memory)
    prepared = prepare_columns(columns, N_ROWS, spec, memory, keeps_codes=False)
    assert prepared.table.n_samples == N_ROWS

"""What people read for categories: which labels are kept, refused, and understood."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import OTHER, UNSEEN, Feature
from askless.core.errors import AnswerError
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.table.answer_values import check_answer, parse_answer
from askless.core.table.check import finish_table, gather_table
from askless.core.table.spec import TableSpec, check_features
from askless.core.table.texts.categories import label_of, name_category
from askless.core.training.params import BoostParams
from tests.small import finish

PAIN = Feature("pain", "category")
CELLS = ["asympt", "atyp", "typ", "typ"]
LABELS = {"atyp": "Atypical angina", "typ": "Typical angina"}


def spec_of(labels, feature=PAIN, **more):
    named = {feature.name: labels}
    return TableSpec("y", features=(feature,), category_labels=named, **more)


def gather(labels, cells=CELLS, **more):
    targets = ["0", "1"] * (len(cells) // 2)
    columns = {"pain": cells, "y": targets}
    columns = {name: np.array(cells, np.object_) for name, cells in columns.items()}
    spec = spec_of(labels, **more)
    return gather_table(columns, spec), columns, spec


def learn(labels, **more):
    gathered, columns, spec = gather(labels, **more)
    assert gathered.refusals == ()
    checked = finish_table(gathered, columns, spec)
    return checked.dataset.catalogue.features[0], checked.warnings


def test_each_category_is_read_by_its_label_or_else_its_name():
    feature, warnings = learn(LABELS)

    assert feature.categories == ("asympt", "atyp", "typ")
    assert feature.shown_categories == ("asympt", "Atypical angina", "Typical angina")
    assert label_of(feature, "typ") == "Typical angina"
    assert label_of(feature, "unheard of") == "unheard of"
    assert warnings == ()


def test_a_feature_without_labels_keeps_none():
    feature, _ = learn({})

    assert feature.category_labels == ()
    assert feature.shown_categories == feature.categories


@pytest.mark.parametrize("rare", [0, 2])
def test_a_label_of_no_category_is_left_out_with_a_note(rare):
    named = {"typ": "Typical angina", "atip": "Atypical angina"}
    feature, warnings = learn(named, rare=rare)

    assert "Atypical angina" not in feature.shown_categories
    assert "pain: no row has the category 'atip'" in warnings[0]
    assert ("the nearest is 'atyp'" in warnings[0]) == (rare == 0)


def test_joined_categories_may_have_a_label():
    feature, _ = learn({OTHER: "Another kind"}, rare=2)

    assert feature.shown_categories == ("Another kind", "typ")


@pytest.mark.parametrize(
    "labels",
    [
        {"atyp": "Angina", "typ": "angina "},
        {"atyp": "typ"},
        {"atyp": "typ", "typ": "atyp"},
    ],
)
def test_a_label_that_could_mean_two_categories_is_refused(labels):
    gathered, _, _ = gather(labels)

    assert {refusal.field for refusal in gathered.refusals} == {"column pain"}
    assert "must not be the name or the label of" in gathered.refusals[0].rule


@pytest.mark.parametrize(
    ("labels", "kind", "rule"),
    [
        ({"1": "Yes", "2": "yes"}, "category", "must not be the name or the label"),
        ({"1": "Yes"}, "number", "only a category has labels"),
        ({"1": "Yes"}, "boolean", "only a category has labels"),
    ],
)
def test_a_spec_refuses_labels_before_there_is_a_table(labels, kind, rule):
    feature = replace(PAIN, type=kind)
    refusals = [*check_features(spec_of(labels, feature))]

    assert {refusal.field for refusal in refusals} == {"features[0].category_labels"}
    assert rule in refusals[0].rule


def test_a_spec_takes_labels_that_are_names_or_apart():
    labels = {"yes": "yes", "no": "No", "maybe": "Perhaps"}
    assert [*check_features(spec_of(labels))] == []


@pytest.mark.parametrize("typed", ["typ", "Typical angina", " typical  ANGINA"])
def test_an_answer_may_be_the_name_or_the_label(typed):
    feature, _ = learn(LABELS)

    assert parse_answer(feature, typed) == check_answer(feature, typed) == 2.0
    assert name_category(feature, typed.strip()) == "typ"


def test_a_label_that_reads_as_missing_is_a_value_where_a_name_is_not():
    feature, _ = learn({"typ": "NA"})

    assert check_answer(feature, "NA") == 2.0
    with pytest.raises(AnswerError, match="stands for a missing one"):
        check_answer(learn({})[0], "NA")


@pytest.mark.parametrize("typed", ["TYP", "angina", "Typical"])
def test_what_is_neither_a_name_nor_a_label_is_unseen(typed):
    feature, _ = learn(LABELS)

    assert check_answer(feature, typed) == UNSEEN


def test_a_label_that_is_another_category_of_the_table_is_refused():
    gathered, _, _ = gather(LABELS, cells=[*CELLS, "Typical angina", "typ"])

    assert [refusal.found for refusal in gathered.refusals] == ["'Typical angina'"]


@pytest.mark.parametrize(("label", "title"), [(None, "y"), ("Angina", "Angina")])
def test_what_is_predicted_is_called_by_its_label_or_its_column(label, title):
    rows = [*CELLS, *CELLS]
    gathered, columns, spec = gather(LABELS, rows, target_label=label)
    training = TrainingSpec(spec, boost=BoostParams(rounds=2), folds=0)

    model = finish(train(finish_table(gathered, columns, spec), training))

    assert model.target_title == title
    assert model.ensemble.catalogue.features[0].category_labels[1:] == (
        "Atypical angina",
        "Typical angina",
    )

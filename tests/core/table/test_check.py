import math

import numpy as np
import pytest

from askless.app.documents.spec.spec import read_spec
from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.errors import AnswerError, RefusedError
from askless.core.model.hypotheses import Stump
from askless.core.model.rows import check_rows, check_targets
from askless.core.pipeline.check import check_training
from askless.core.table.answer_values import check_answer, parse_answer
from askless.core.table.check import list_unused_columns
from askless.core.table.columns import count_texts, infer_type
from askless.core.table.dataset import ClassLabel
from askless.core.table.spec import TableSpec
from tests.sessions import CLASSES
from tests.small import ensemble_of


def text(*cells):
    column = np.empty(len(cells), dtype=np.object_)
    column[:] = cells
    return column


def number(*cells):
    return np.array([math.nan if c is None else c for c in cells], dtype=np.float64)


def table(**columns):
    return {"y": text("no", "yes", "no", "yes"), "a": number(1, 2, 3, 4), **columns}


def check(columns, **spec):
    return check_training(columns, read_spec({"target": "y", **spec}))


def refusals(columns, **spec):
    with pytest.raises(RefusedError) as caught:
        check(columns, **spec)
    return caught.value.refusals


def typed(name, kind, **given):
    return {"name": name, "type": kind, **given}


def test_table_becomes_a_dataset():
    dataset = check(table(), cost_unit="EUR").dataset

    assert [feature.name for feature in dataset.catalogue.features] == ["a"]
    assert dataset.targets.tolist() == [0, 1, 0, 1]
    assert dataset.weights.sum() == pytest.approx(1)


def test_positive_class_comes_second():
    dataset = check(table(), positive="no", classes={"no": "fine"}).dataset

    assert dataset.classes[1] == ClassLabel("no", "fine")
    assert dataset.targets.tolist() == [1, 0, 1, 0]


def test_several_classes_stand_in_the_order_of_their_labels():
    dataset = check(table(y=text("c", "a", "b", "c")), classes={"b": "bad"}).dataset

    assert [label.label for label in dataset.classes] == ["a", "b", "c"]
    assert [label.display for label in dataset.classes] == ["a", "bad", "c"]
    assert dataset.targets.tolist() == [2, 0, 1, 2]


def test_numeric_target_matches_labels_without_decimals():
    dataset = check(table(y=number(0, 1, 1, 0)), positive="1").dataset

    assert [label.label for label in dataset.classes] == ["0", "1"]


def test_short_form_prices_named_columns():
    dataset = check(table(b=number(0, 1, 0, 1)), costs={"b": 7.27}).dataset

    assert dataset.catalogue.costs.tolist() == [1_000_000, 7_270_000]


def test_groups_may_name_columns_without_a_feature_list():
    groups = [{"name": "g", "price": 3, "members": ["a", "b"]}]

    dataset = check(table(b=number(0, 1, 0, 1)), groups=groups).dataset

    assert dataset.catalogue.costs.tolist() == [0, 0]
    assert dataset.catalogue.group_idxs.tolist() == [0, 0]


def test_ignored_columns_are_listed():
    checked = check(table(b=number(0, 1, 0, 1)), features=[{"name": "a"}])

    assert any("ignored columns: b" in warning for warning in checked.warnings)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ignore": ("tmp_*",)}, {"tmp_a", "Unnamed: 0"}),
        ({"weight": "tmp_a", "ignore": ("b",)}, {"b", "Unnamed: 0"}),
        ({"features": (Feature("b"),)}, {"tmp_a", "Unnamed: 0"}),
        ({"features": (Feature("tmp_a"),), "group_by": "b"}, {"Unnamed: 0"}),
    ],
)
def test_unused_columns_have_no_part(spec, expected):
    names = ["Unnamed: 0", "tmp_a", "b", "y"]

    assert list_unused_columns(names, TableSpec("y", **spec)) == expected


def test_identifiers_constants_and_empty_columns_are_warned_about():
    n = 24
    columns = {
        "y": text(*["no", "yes"] * (n // 2)),
        "id": number(*range(n)),
        "same": number(*[5] * n),
        "empty": number(*[None] * n),
        "measured": number(*[k + 0.5 for k in range(n)]),
    }

    warnings = " ".join(check(columns).warnings)

    assert "id: looks like an identifier" in warnings
    assert "same: constant" in warnings
    assert "empty: every value is missing" in warnings
    assert "measured" not in warnings


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (number(0, 1, None, 1), "number"),
        (text("0", "1"), "number"),
        (text("1", "yes"), "category"),
        (number(0, 1, 2, 1), "number"),
        (number(None, None), "number"),
        (text("yes", "no", None), "boolean"),
        (text("1.5", "2"), "number"),
        (text("1_000", "2"), "category"),
        (text("red", "2"), "category"),
    ],
)
def test_type_is_guessed_from_the_cells(column, kind):
    assert infer_type(Feature("x"), column, count_texts(column)) == kind


def test_boolean_words_are_read():
    features = [typed("b", "boolean")]

    dataset = check(table(b=text("Yes", "f", None, "0")), features=features).dataset

    assert np.array_equal(dataset.values[:, 0], [1, 0, math.nan, 0], equal_nan=True)


def test_categories_are_learnt_sorted():
    features = [typed("c", "category")]

    dataset = check(table(c=text("b", None, "a", "b")), features=features).dataset

    assert dataset.catalogue.features[0].categories == ("a", "b")
    assert np.array_equal(dataset.values[:, 0], [1, math.nan, 0, 1], equal_nan=True)


def test_numbers_as_categories_lose_no_text():
    features = [typed("c", "category")]

    dataset = check(table(c=number(10, 2, 2.5, None)), features=features).dataset

    assert dataset.catalogue.features[0].categories == ("10", "2", "2.5")


def test_rows_of_weight_zero_are_left_out():
    checked = check(table(w=number(1, 2, 0, 1)), weight="w")

    assert checked.dataset.n_samples == 3
    assert checked.dataset.weights.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize("largest", [1e308, 5e-324])
def test_weights_whose_sum_no_double_holds_are_scaled(largest):
    dataset = check(table(w=number(*[largest] * 4)), weight="w").dataset

    assert dataset.weights.tolist() == [0.25] * 4


def test_weight_too_small_beside_the_largest_counts_as_zero():
    checked = check(table(w=number(1e308, 1e-308, 1e308, 1e308)), weight="w")

    assert "left out 1 rows of weight 0" in checked.warnings
    assert checked.dataset.n_samples == 3


def test_rows_of_one_unit_share_a_number():
    dataset = check(table(who=text("p", "q", "p", "q")), group_by="who").dataset

    assert dataset.row_groups.tolist() == [0, 1, 0, 1]


def test_error_costs_follow_the_class_positions():
    checked = check(table(), error_costs={"yes": {"no": 5}, "no": {"yes": 1}})

    assert checked.error_costs == ((0.0, 1.0), (5.0, 0.0))


MANY_CLASSES = {"y": number(*range(1001)), "a": number(*range(1001))}


@pytest.mark.parametrize(
    ("columns", "spec", "field", "words"),
    [
        ({"a": number(1)}, {}, "target", "must be a column"),
        ({}, {}, "table", "at least one row"),
        ({"y": text(), "a": number()}, {}, "table", "at least one row"),
        (table(y=text("no", "no", "no", "no")), {}, "target y", "2 to 1000 classes"),
        (MANY_CLASSES, {}, "target y", "1001 (0, 1, 10, 100, 1000, ..."),
        (
            table(y=text("a", "b", "c", "a")),
            {"positive": "b"},
            "positive",
            "more than two classes",
        ),
        (table(y=text("no", None, "yes", "no")), {}, "column y", "not be empty"),
        (table(), {"positive": "maybe"}, "positive", "one of the classes"),
        (table(), {"classes": {"maybe": "x"}}, "classes", "one of the classes"),
        (table(), {"features": [{"name": "aa"}]}, "features", "nearest is 'a'"),
        (table(), {"costs": {"zz": 1}}, "costs", "must be a column"),
        (
            table(),
            {"groups": [{"name": "g", "fee": 1, "members": ["zz"]}]},
            "groups",
            "must be a column",
        ),
        (
            table(),
            {"groups": [{"name": "g", "fee": 1}]},
            "groups",
            "must have a member",
        ),
        (
            table(),
            {
                "groups": [{"name": "g", "price": 1, "members": ["a"]}],
                "costs": {"a": 1},
            },
            "costs.a",
            "no cost of its own",
        ),
        (
            table(),
            {
                "groups": [{"name": "g", "price": 1}],
                "features": [{"name": "a", "group": "g", "billing": "per_call"}],
            },
            "features[0].billing",
            "the billing of the bundle",
        ),
        (
            table(b=text("1", "x", "2", "3")),
            {"features": [typed("b", "number")]},
            "column b",
            "'x' in row 2",
        ),
        (
            table(b=number(0, 1, 2, 1)),
            {"features": [typed("b", "boolean")]},
            "column b",
            "'2' in row 3",
        ),
        (
            table(b=text("1", "maybe", "0", "1")),
            {"features": [typed("b", "boolean")]},
            "column b",
            "true or false",
        ),
        (table(b=number(1, math.inf, 2, 3)), {}, "column b", "must be finite"),
        (table(), {"weight": "w"}, "weight", "must be a column"),
        (table(w=number(1, -1, 1, 1)), {"weight": "w"}, "column w", "at least 0"),
        (table(w=number(1, None, 1, 1)), {"weight": "w"}, "column w", "at least 0"),
        (table(w=number(0, 0, 0, 0)), {"weight": "w"}, "column w", "not be 0"),
        (table(w=number(1, 0, 1, 0)), {"weight": "w"}, "y", "positive weight"),
        (
            table(g=text("p", None, "p", "q")),
            {"group_by": "g"},
            "column g",
            "not be empty",
        ),
        (table(), {"error_costs": {"maybe": {}}}, "error_costs", "name the classes"),
        ({"y": text("no", "yes")}, {}, "features", "at least one"),
    ],
)
def test_broken_rule_names_its_place(columns, spec, field, words):
    found = refusals(columns, **spec)

    assert any(problem.field == field and words in str(problem) for problem in found), (
        found
    )


def test_more_than_254_categories_are_refused():
    n = 256
    columns = {
        "y": text(*["no", "yes"] * (n // 2)),
        "c": text(*[f"v{k}" for k in range(n)]),
    }

    assert "at most 254" in str(refusals(columns)[0])


def test_all_refusals_of_a_table_come_at_once():
    columns = table(b=number(1, math.inf, 2, 3), c=text("1", "x", "2", "x"))
    features = [typed("b", "number"), typed("c", "number"), {"name": "zz"}]

    found = {refusal.field for refusal in refusals(columns, features=features)}

    assert found == {"column b", "column c", "features"}


def test_many_wrong_cells_are_counted():
    features = [typed("c", "number")]

    found = refusals(table(c=text(*"wxyz")), features=features)

    assert "and 1 more" in str(found[0])


@pytest.fixture
def ensemble():
    kind = Feature("c", "category", categories=("p", "q"))
    stumps = [Stump(0, 0.5, (1,)), Stump(1, 0.0, (1,), is_category=True)]
    catalogue = Catalogue((Feature("a"), kind, Feature("idle")))
    return ensemble_of(stumps, catalogue, classes=CLASSES)


def test_rows_for_a_model_may_lack_what_it_does_not_read(ensemble):
    values, warnings = check_rows({"a": number(1), "c": text("new")}, ensemble)

    assert values[0, 0] == 1
    assert values[0, 1] == UNSEEN
    assert math.isnan(values[0, 2])
    assert "did not see" in warnings[0]


@pytest.mark.parametrize(
    ("columns", "refusal"),
    [({"c": text("p")}, "must be a column"), ({}, "at least one row")],
)
def test_rows_for_a_model_must_have_what_it_reads(ensemble, columns, refusal):
    with pytest.raises(RefusedError, match=refusal):
        check_rows(columns, ensemble)


def test_rows_for_a_model_may_lack_what_is_too_dear(ensemble):
    cost = ensemble.catalogue.features[0].cost

    values, _ = check_rows({"c": text("p")}, ensemble, most=cost - 1)

    assert math.isnan(values[0, 0])
    with pytest.raises(RefusedError, match="must be a column"):
        check_rows({"c": text("p")}, ensemble, most=cost)


@pytest.mark.parametrize(
    ("columns", "refusal"),
    [
        ({"y": text("0", "2", None)}, "one of the classes 0, 1"),
        ({}, "must be a column"),
    ],
)
def test_targets_must_be_known_classes(ensemble, columns, refusal):
    with pytest.raises(RefusedError, match=refusal):
        check_targets(columns, ensemble, "y")


def test_targets_become_positions(ensemble):
    assert check_targets({"y": number(1, 0)}, ensemble, "y").tolist() == [1, 0]


def test_model_made_before_names_were_tidied_reads_tidied_tables():
    kind = Feature(" c", "category", categories=(" p", " q"))
    stump = Stump(0, 0.0, (1,), is_category=True)
    classes = (ClassLabel(" no", "no"), ClassLabel(" yes", "yes"))
    older = ensemble_of([stump], Catalogue((kind,)), classes=classes)
    columns = {"c": text(" q", "p"), "y": text("yes", " no")}

    values, warnings = check_rows(columns, older)

    assert values[:, 0].tolist() == [1, 0]
    assert warnings == []
    assert check_targets(columns, older, " y").tolist() == [1, 0]


NUMBER, BOOLEAN = Feature("n"), Feature("b", "boolean")
CATEGORY = Feature("c", "category", categories=("p", "q"))


@pytest.mark.parametrize(
    ("feature", "given", "value"),
    [
        (NUMBER, 3, 3.0),
        (NUMBER, 2.5, 2.5),
        (BOOLEAN, True, 1.0),
        (BOOLEAN, 0, 0.0),
        (BOOLEAN, "yes", 1.0),
        (NUMBER, "3", 3.0),
        (CATEGORY, 1, UNSEEN),
        (CATEGORY, "q", 1.0),
        (CATEGORY, "never seen", UNSEEN),
    ],
)
def test_answer_becomes_a_value(feature, given, value):
    assert check_answer(feature, given) == value


@pytest.mark.parametrize(
    ("feature", "given"),
    [
        (NUMBER, True),
        (NUMBER, [3]),
        (NUMBER, math.nan),
        (NUMBER, math.inf),
        (NUMBER, 10**400),
        (NUMBER, None),
        (BOOLEAN, "maybe"),
        (BOOLEAN, 2),
        (CATEGORY, ["p"]),
        (CATEGORY, ""),
    ],
)
def test_answer_of_the_wrong_type_is_refused(feature, given):
    with pytest.raises(AnswerError, match=feature.name):
        check_answer(feature, given)


@pytest.mark.parametrize(
    ("feature", "given", "value"),
    [(NUMBER, "2.5", 2.5), (BOOLEAN, "Yes", 1.0), (CATEGORY, "p", 0.0)],
)
def test_written_answer_becomes_a_value(feature, given, value):
    assert parse_answer(feature, given) == value


@pytest.mark.parametrize(
    ("feature", "given"), [(NUMBER, "two"), (NUMBER, "inf"), (BOOLEAN, "maybe")]
)
def test_written_answer_of_the_wrong_type_is_refused(feature, given):
    with pytest.raises(AnswerError):
        parse_answer(feature, given)


def test_title_is_the_label_or_else_the_name():
    assert [Feature("a").title, Feature("a", label="Age").title] == ["a", "Age"]

"""What a spec says of messy tables: missing, rare, ignore, patterns, stray words."""

import numpy as np
import pytest

from tests.core.table.test_check import check, number, refusals, table, text, typed


def of(feature_idx, dataset):
    return dataset.values[:, feature_idx].tolist()


def test_stray_word_among_numbers_is_refused_with_its_row_and_the_remedy():
    (found,) = refusals(table(b=text("1", "$5", "2", "3")))

    assert str(found) == (
        "column b: must be a number, or empty; put what stands for a missing value in "
        "the feature's `missing`, or say type category; found '$5' in row 2"
    )


@pytest.mark.parametrize(
    ("cells", "rows"),
    [
        (["1", "$5", "2"] + ["3"] * 4, "row 2"),
        (["$1"] * 4 + ["3"] * 10, "rows 1, 2, 3 and 1 more"),
    ],
)
def test_rows_are_told_without_what_they_hold(cells, rows):
    columns = {"y": text(*(["no", "yes"] * 7)[: len(cells)]), "b": text(*cells)}

    (found,) = refusals(columns)

    assert found.told == f"{found.rule}; not so in {rows}"
    assert "$" not in found.told


@pytest.mark.parametrize(
    "spec",
    [
        {"missing": ["$5", -9]},
        {"features": [{"name": "b", "missing": ["$5", "-9"]}]},
        {"features": [typed("b", "number", missing=["$5"])], "missing": [-9.0]},
    ],
)
def test_words_and_codes_for_missing_are_missing(spec):
    dataset = check(table(b=text("1", "$5", "-9.0", " 3")), **spec).dataset

    column = of(dataset.catalogue.feature_idxs["b"], dataset)
    assert np.array_equal(column, [1, np.nan, np.nan, 3], equal_nan=True)


def test_codes_for_missing_are_missing_in_columns_of_numbers_and_of_categories():
    columns = table(b=number(1, -9, 2, -9), c=text("p", "-9", "p", "q"))

    dataset = check(columns, missing=[-9]).dataset

    assert dataset.catalogue.features[2].categories == ("p", "q")
    assert np.isnan(dataset.values[:, 1:]).sum() == 3


def test_codes_stay_with_the_features_of_the_model():
    features = [typed("b", "number", missing=["n.d."])]

    catalogue = check(
        table(b=number(1, 2, 3, 4)), features=features, missing=[-9, "n.d."]
    ).dataset.catalogue

    assert catalogue.features[0].missing == ("-9", "n.d.")


CITIES = text(*["A"] * 5, *["B"] * 4, "C", "D", None, "D")


def cities(**spec):
    n_rows = CITIES.size
    columns = {"y": text(*(["no", "yes"] * n_rows)[:n_rows]), "c": CITIES}
    return check(columns, **spec).dataset


@pytest.mark.parametrize(
    ("spec", "categories", "has_other"),
    [
        ({"rare": 3}, ("A", "B", "other"), True),
        ({"rare": 2}, ("A", "B", "D", "other"), True),
        ({"rare": 1}, ("A", "B", "C", "D"), False),
        (
            {"rare": 5, "features": [{"name": "c", "rare": 0}]},
            ("A", "B", "C", "D"),
            False,
        ),
        ({"features": [{"name": "c", "rare": 5}]}, ("A", "other"), True),
    ],
)
def test_rare_categories_become_other(spec, categories, has_other):
    feature = cities(**spec).catalogue.features[0]

    assert feature.categories == categories
    assert feature.has_other is has_other


def test_rows_of_rare_categories_are_others():
    assert of(0, cities(rare=3))[9:11] == [2, 2]


@pytest.mark.parametrize("wanted", ["id", "i*"])
def test_columns_to_ignore_are_no_features_and_not_warned_of(wanted):
    checked = check(table(id=number(1, 2, 3, 4)), ignore=[wanted])

    assert [feature.name for feature in checked.dataset.catalogue.features] == ["a"]
    assert checked.warnings == ()


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__"])
def test_columns_without_a_name_are_ignored_with_a_word(name):
    checked = check(table(**{name: number(1, 2, 3, 4)}))

    assert [feature.name for feature in checked.dataset.catalogue.features] == ["a"]
    assert checked.warnings == (f"ignored columns: {name} (has no name)",)


def test_column_without_a_name_may_be_listed():
    dataset = check(
        table(**{"Unnamed: 0": number(1, 2, 3, 4)}), features=[{"name": "Unnamed: 0"}]
    ).dataset

    assert dataset.catalogue.features[0].name == "Unnamed: 0"


LABS = {name: number(1, 2, 3, 4) for name in ("lab_1", "lab_2")}


def test_patterns_price_columns_and_fill_groups():
    groups = [{"name": "draw", "fee": 2, "members": ["lab_*"]}]

    catalogue = check(
        table(**LABS), costs={"*": 5, "lab_*": 3, "lab_2": 4}, groups=groups
    ).dataset.catalogue

    assert catalogue.costs.tolist() == [5_000_000, 3_000_000, 4_000_000]
    assert catalogue.group_idxs.tolist() == [-1, 0, 0]


def test_pattern_prices_no_member_of_a_bundle():
    groups = [{"name": "scan", "price": 2, "members": ["lab_*"]}]

    catalogue = check(table(**LABS), costs={"*": 5}, groups=groups).dataset.catalogue

    assert catalogue.costs.tolist() == [5_000_000, 0, 0]


def test_patterns_fill_groups_of_listed_features():
    groups = [{"name": "scan", "price": 2, "members": ["lab_*"]}]
    features = [{"name": name} for name in ("a", *LABS)]

    catalogue = check(table(**LABS), features=features, groups=groups).dataset.catalogue

    assert catalogue.costs.tolist() == [1_000_000, 0, 0]
    assert catalogue.group_idxs.tolist() == [-1, 0, 0]


@pytest.mark.parametrize(
    ("columns", "spec", "field", "words"),
    [
        (table(), {"ignore": ["aa"]}, "ignore", "nearest is 'a'"),
        (table(), {"ignore": ["z*"]}, "ignore", "must be a column"),
        (table(), {"ignore": ["y"]}, "ignore", "column that is the target"),
        (
            table(),
            {"ignore": ["a*"], "features": [{"name": "a"}]},
            "features[0].name",
            "not be one to ignore",
        ),
        (table(), {"costs": {"z*": 1}}, "costs", "must be a column"),
        (table(), {"missing": [True]}, "missing[0]", "a word or a number"),
        (table(), {"missing": [" "]}, "missing[0]", "1 to 200 characters"),
        (table(), {"missing": "NA"}, "missing", "must be a list"),
        (table(), {"rare": -1}, "rare", "an integer from 0"),
        (
            table(),
            {"features": [{"name": "a", "rare": 1.5, "missing": [None]}]},
            "features[0].missing[0]",
            "a word or a number",
        ),
        (
            table(),
            {
                "features": [{"name": "a"}],
                "groups": [{"name": "g", "fee": 1, "members": ["a", "z*"]}],
            },
            "groups",
            "must be a feature",
        ),
    ],
)
def test_broken_rule_of_a_new_field_names_its_place(columns, spec, field, words):
    found = refusals(columns, **spec)

    assert any(problem.field == field and words in str(problem) for problem in found), (
        found
    )


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"2024-01-{day:02}" for day in range(1, 25)], "these are dates"),
        ([f"${dollars}" for dollars in range(24)], "numbers with signs or units"),
    ],
)
def test_text_that_is_better_as_numbers_is_warned_of(cells, words):
    columns = {"y": text(*["no", "yes"] * 24), "c": text(*cells, *cells)}

    (warning,) = check(columns).warnings

    assert words in warning


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"{1900 + k}-01-01" for k in range(300)], "these are dates: write numbers"),
        ([f"v{k}" for k in range(300)], "join rare ones by `rare`, say"),
    ],
)
def test_too_many_categories_are_refused_with_a_remedy(cells, words):
    columns = {"y": text(*["no", "yes"] * 150), "c": text(*cells)}

    (found,) = refusals(columns)

    assert words in found.rule

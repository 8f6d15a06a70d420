"""`askless show`: purchases, what they are worth, and what each answer does."""

import json
from dataclasses import replace

import numpy as np
import pytest

from askless.app.documents import files
from askless.app.pages.models.report import render_report
from askless.app.terminal.explained import error_at_spend, list_limits, list_purchases
from askless.app.terminal.show import build_curve_table
from askless.app.words.charts.model_charts import show_curves
from askless.app.words.facts import describe_commonest
from askless.app.words.figures import (
    VOTE_ERROR,
    VOTE_NOTE,
    build_curve_cells,
    describe_betters,
)
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import Knee
from askless.core.model.hypotheses import Stump
from askless.core.model.model import Curve, Model
from tests.panels import make_ladder
from tests.small import ensemble_of

UNIT = 1_000_000
FEATURES = (
    Feature("age", label="Age", unit="years", value_range=(20.0, 90.0)),
    Feature("kind", "category", cost=2 * UNIT, categories=("p", "q", "r")),
    Feature("ill", "boolean", cost=3 * UNIT),
)
STUMPS = [
    Stump(0, 40.0, (1,)),
    Stump(0, 60.0, (-1,)),
    Stump(1, 1.0, (1,), is_category=True),
    Stump(2, 0.5, (1,)),
]
CURVE = Curve(
    budgets=(0, UNIT, 3 * UNIT, None),
    errors=(0.4, 0.3, 0.2, 0.1),
    errors_calibrated=(0.4, 0.3, 0.2, 0.1),
    mean_spends=(0.0, 1e6, 3e6, 6e6),
    max_spends=(0, UNIT, 3 * UNIT, 6 * UNIT),
    n_samples=100,
)


def scored(**fields):
    ensemble = ensemble_of(STUMPS, Catalogue(FEATURES, cost_unit="EUR"), **fields)
    return Model("scores", ensemble, "y", curve=CURVE)


@pytest.fixture
def shown(run, tmp_path):
    """Show a model by some options."""

    def show(model, *options):
        path = tmp_path / "model.json"
        path.write_text(files.model_text(model))
        return run("show", path, *options)

    return show


def cells_of(text):
    """The cells of each line of the tables."""
    lines = (line for line in text.splitlines() if line.startswith("│"))
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_purchases_have_the_error_before_and_after():
    purchases = list_purchases(scored(), 3 * UNIT)

    told = [(it.question.price, it.spent, it.error_before) for it in purchases]
    assert told == [(UNIT, UNIT, 0.4), (2 * UNIT, 3 * UNIT, 0.3)]
    assert [purchase.error_after for purchase in purchases] == [0.3, 0.2]


def test_last_purchase_has_the_error_of_all_that_may_be_spent():
    purchases = list_purchases(scored(), 4 * UNIT)
    unlimited = list_purchases(scored(), None)
    nothing = list_purchases(scored(), 0)

    curve = replace(CURVE, budgets=(0, UNIT, 4 * UNIT, None))
    more = list_purchases(replace(scored(), curve=curve), 4 * UNIT)
    assert [purchase.error_after for purchase in purchases] == [0.3, 0.2]
    assert [purchase.error_after for purchase in more] == [0.3, 0.2]
    assert [purchase.spent for purchase in more] == [UNIT, 3 * UNIT]
    assert [purchase.error_after for purchase in unlimited] == [0.3, 0.2, 0.1]
    assert nothing == []


def test_last_purchase_has_the_error_of_what_is_worth_spending():
    knees = Knee(0, 0), Knee(4 * UNIT, 3 * UNIT)
    ensemble = replace(scored().ensemble, knees=knees, policy="panels")
    ladder = make_ladder(ensemble, [(0, 1, 2)])
    curve = replace(CURVE, budgets=(0, 3 * UNIT, 4 * UNIT, None))
    model = Model("m", replace(ensemble, panels=ladder), "y", curve=curve)

    purchases = list_purchases(model, 5 * UNIT)

    assert [purchase.spent for purchase in purchases] == [UNIT, 3 * UNIT]
    assert [purchase.error_after for purchase in purchases] == [0.4, 0.3]


def test_budgets_without_a_curve_are_those_that_buy_more():
    model = replace(scored(), curve=None)
    ladder = make_ladder(model.ensemble, [(1, 0, 2), (2, 0)])
    panels = replace(model.ensemble, panels=ladder, policy="panels")

    assert list_limits(model) == [0, UNIT, 3 * UNIT, 6 * UNIT]
    amounts = [0, 2, 3, 4, 6]
    assert list_limits(replace(model, ensemble=panels)) == [UNIT * n for n in amounts]


def test_error_is_that_of_the_largest_budget_that_is_spent():
    assert error_at_spend(CURVE, 2 * UNIT) == 0.3
    assert error_at_spend(None, 2 * UNIT) is None


def test_show_tells_from_which_budget_what_is_bought(shown):
    finished = shown(scored())

    rows = cells_of(finished.out)
    assert finished.code == 0
    assert rows[:3] == [
        ["0.00", "nothing", "40.0 %"],
        ["1.00", "Age", "30.0 %"],
        ["3.00", "Age, kind", "20.0 %"],
    ]


def test_show_tells_what_a_budget_buys_in_order(shown):
    rows = cells_of(shown(scored(), "--budget", 3).out)

    assert rows[:2] == [
        ["1. Age", "1.00", "1.00", "40.0 %", "30.0 %"],
        ["2. kind", "2.00", "3.00", "30.0 %", "20.0 %"],
    ]


def test_stumps_are_shown_as_a_scorecard(shown):
    finished = shown(scored(), "--budget", 3)

    rows = cells_of(finished.out)
    assert "An additive scorecard" in finished.out
    assert [row[::2] for row in rows[2:6]] == [
        ["up to 40", "+0.00"],
        ["above 40 to 60", "+4.00"],
        ["above 60", "+0.00"],
        ["not available", ""],
    ]


def test_neighbours_that_do_the_same_are_one_row(shown):
    # The budget pays no kind, so that the cut at 60 after it does not vote.
    hypotheses = (STUMPS[0], STUMPS[2], STUMPS[1])
    ensemble = replace(scored().ensemble, hypotheses=hypotheses, alphas=(1.0,) * 3)

    rows = cells_of(shown(Model("m", ensemble), "--budget", 1, "--feature", "age").out)

    assert [row[0] for row in rows] == ["up to 40", "above 40", "not available"]


def test_model_without_a_curve_has_no_errors(shown):
    finished = shown(replace(scored(), curve=None))

    assert ["0.75", "nothing"] not in cells_of(finished.out)
    assert ["0.00", "nothing"] in cells_of(finished.out)


def test_panels_have_chances_of_a_typical_case(shown):
    ensemble = scored().ensemble
    ladder = make_ladder(ensemble, [(0, 2)])
    ensemble = replace(ensemble, panels=ladder, policy="panels")

    finished = shown(Model("m", ensemble), "--feature", "age")

    rows = cells_of(finished.out)
    assert "Chances are those of a typical case" in finished.out
    assert "scorecard" not in finished.out
    assert [row[0] for row in rows[:2]] == ["20 years", "28.75 years"]


def test_many_values_are_thinned_unless_the_feature_is_named(shown):
    stumps = [Stump(0, float(cut), (1,)) for cut in range(20, 60, 2)]
    model = Model("m", ensemble_of(stumps, Catalogue(FEATURES)))

    few = shown(model).out
    whole = shown(model, "--feature", "age").out

    assert "10 of 22; all: --feature age" in few
    assert len(cells_of(whole)) == 22


def test_json_has_points_and_chances_for_programs(shown):
    told = json.loads(shown(scored(), "--budget", 3, "--json").out)

    first = told["effects"][0]
    assert [purchase["features"] for purchase in told["purchases"]] == [
        ["age"],
        ["kind"],
    ]
    assert first["values"] == [20.0, 50.0, 90.0, None]
    assert np.ravel(first["points"]).tolist() == [0.0, 4.0, 0.0]
    assert told["effects"][1]["values"] == ["p", "q", "r", None]


def test_several_classes_are_told_by_the_most_probable_one(shown):
    stumps = [Stump(0, 40.0, (1, -1, -1)), Stump(2, 0.5, (-1, 1, -1))]
    ensemble = ensemble_of(stumps, Catalogue(FEATURES), n_classes=3)

    finished = shown(Model("m", ensemble))

    assert finished.code == 0
    assert "Those of all classes together make the chances" in finished.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--feature", "zz"), "--feature: must be a feature of the model"),
        (("--feature", "ill", "--budget", 1), "--feature: is not bought"),
        (("--budget", "much"), "--budget: must be an amount such as"),
        (("--policy", "magic"), "--policy: must be one of"),
    ],
)
def test_wrong_option_of_show_is_refused(shown, options, words):
    finished = shown(scored(), *options)

    assert finished.code == 2
    assert words in finished.err


WORSE = replace(CURVE, errors_calibrated=(0.4, 0.1, 0.3, 0.1), n_samples=1000)
SENTENCE = (
    "3.00 EUR errs more (30.0 %) than 1.00 EUR (10.0 %): a smaller budget does as well."
)


def test_budget_that_errs_more_than_a_smaller_one_is_told(shown):
    model = replace(scored(), curve=WORSE)

    assert SENTENCE in " ".join(shown(model).out.split())
    assert "does as well" not in shown(scored()).out


def test_tables_and_pages_tell_it_too():
    model = replace(scored(), curve=WORSE)

    assert SENTENCE in build_curve_table(WORSE, "EUR").caption
    assert SENTENCE in render_report(model)
    assert SENTENCE in show_curves(model).notes
    assert SENTENCE not in build_curve_table(WORSE, "EUR", ["a"] * 4).caption
    assert "does as well" not in render_report(scored())


def test_no_limit_that_errs_more_is_told():
    curve = replace(CURVE, errors_calibrated=(0.4, 0.1, 0.1, 0.3), n_samples=1000)

    assert describe_betters(curve, "") == [
        "No limit errs more (30.0 %) than 1.00 (10.0 %): a smaller budget does as well."
    ]


def test_how_cases_go_is_shown_where_the_card_tells(shown):
    sessions = {
        "rows": 9,
        "budgets": [0.0, None],
        "lists": [1, 1],
        "commonest": [1.0, 1.0],
        "ended_after": [[1.0], [0.0, 0.0, 1.0]],
        "saved": [None, None],
    }
    model = replace(scored(), card={"sessions": sessions})

    assert "All cases are asked the same 2 questions." in shown(model).out
    assert "All cases are asked the same 2 questions." in render_report(model)
    assert "How cases go" not in shown(model, "--budget", "1").out
    assert "How cases go" not in shown(scored()).out
    # The section is there, with how often features are asked.
    assert "How cases go under each budget" not in render_report(scored())


def test_votes_have_a_column_only_where_they_err_otherwise():
    same = replace(WORSE, errors=WORSE.errors_calibrated)
    other = replace(WORSE, errors=tuple(error / 2 for error in WORSE.errors_calibrated))

    assert VOTE_ERROR not in build_curve_cells(same, "EUR")[0]
    assert VOTE_ERROR in build_curve_cells(other, "EUR")[0]
    assert VOTE_NOTE in str(build_curve_table(other, "EUR").caption)
    assert VOTE_NOTE not in str(build_curve_table(same, "EUR").caption)


@pytest.mark.parametrize(("rows", "is_told"), [([99, 1], True), ([50, 50], False)])
def test_curve_that_never_beats_the_commonest_class_says_so(rows, is_told):
    by_class = dict(zip("01", rows, strict=True))
    model = replace(scored(), curve=WORSE, card={"rows_by_class": by_class})

    assert bool(describe_commonest(model)) == is_told

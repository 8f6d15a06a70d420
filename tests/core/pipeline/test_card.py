"""What the card tells of sessions, and of policies that were compared."""

import math

import pytest

from askless.core.model.ensemble import BudgetRange
from askless.core.pipeline import comparison, own_questions
from askless.core.pipeline.card import report_validation
from askless.core.pipeline.comparison import Comparison
from askless.core.pipeline.playing import add_model_spends
from askless.core.pipeline.validation import Validation
from askless.core.training.params import BoostParams
from tests.curves import curve_of
from tests.panels import shorten
from tests.sessions import small_ensemble
from tests.small import MICROS, finish, table_of, train

ROWS = [[0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]]


def found(**more):
    """A validation of two features of 1 unit, played on four rows."""
    ensemble = small_ensemble((MICROS, MICROS))
    rows = table_of(ROWS, [0, 1, 0, 1], ensemble.catalogue)
    plain = Validation(curve_of((0.4, 0.3, 0.2, 0.1)), (), None, **more)
    return add_model_spends(ensemble, rows, plain, 0)


def test_sessions_are_told_for_each_budget_of_the_curve():
    told = report_validation(found())

    assert told == {
        "sessions": {
            "rows": 4,
            "budgets": [0.0, 1.0, 2.0, None],
            "lists": [1, 1, 1, 1],
            "commonest": [1.0, 1.0, 1.0, 1.0],
            "ended_after": [[1.0], [0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]],
            "saved": [None, None, None, None],
        }
    }


def test_what_is_saved_is_told_where_held_out_rows_spend_otherwise():
    fixed = curve_of((0.4, 0.3, 0.2, 0.05))
    cheaper = found(fixed=fixed)._replace(spends=(0.0, 1e6, 1.5e6, 3e6))

    saved = report_validation(cheaper)["sessions"]["saved"]

    assert saved == [
        None,
        None,
        {"spend": 1.5, "error": 0.2, "fixed_spend": 2.0, "fixed_error": 0.2},
        None,
    ]


def test_comparison_is_told_in_units():
    two = ("panels", (0.1, 0.2)), ("adaptive", (0.1, 0.3))
    spends = ("panels", (0.0, 2e6)), ("adaptive", (0.0, 1e6))
    ranges = BudgetRange(MICROS, "panels"), BudgetRange(None, "adaptive")
    compared = Comparison((MICROS, None), two, two, spends, ranges)

    told = report_validation(found()._replace(comparison=compared))["comparison"]

    assert told == {
        "budgets": [1.0, None],
        "losses": {"panels": [0.1, 0.2], "adaptive": [0.1, 0.3]},
        "log_losses": {"panels": [0.1, 0.2], "adaptive": [0.1, 0.3]},
        "mean_spends": {"panels": [0.0, 2.0], "adaptive": [0.0, 1.0]},
        "kept": [
            {"up_to": 1.0, "policy": "panels"},
            {"up_to": None, "policy": "adaptive"},
        ],
    }


@pytest.mark.parametrize(("saving", "policy"), [(1.0, "adaptive"), (0.0, "panels")])
def test_fixed_list_is_told_beside_who_ends_early(saving, policy, monkeypatch):
    shorten(monkeypatch, rounds=1)
    monkeypatch.setattr(comparison, "compute_mean_saving", lambda *_: saving)
    monkeypatch.setattr(own_questions, "BEST_LEAD", math.inf)
    columns = [[0, 0, 1, 1] * 10, [0, 1, 1, 0] * 10]
    dataset = table_of(columns, [0, 0, 1, 1] * 10)

    model = finish(train(dataset, BoostParams("auto", rounds=2), folds=2))

    assert model.ensemble.ranges == (BudgetRange(None, policy),)
    for one in model.card["sessions"]["saved"]:
        assert one is None or (
            policy == "adaptive" and one["spend"] != one["fixed_spend"]
        )

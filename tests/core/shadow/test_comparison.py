"""The whole comparison: the policy that is compared, and figures block by block."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.model.model import Model
from askless.core.session.state import Aim
from askless.core.shadow.comparison import (
    SLACK,
    ChosenAim,
    ReplayStep,
    ShadowTerms,
    choose_aim,
    compare_log,
    has_outcomes,
    look_ahead,
)
from askless.core.shadow.logs import gather_donors
from askless.core.shadow.replay import charge_logged, replay_cases
from askless.core.shadow.results import ShadowResult
from askless.core.work import run_to_end
from tests.sessions import small_ensemble
from tests.shadow import ASKS, UNIT, draw_cases, forget, make_doubtful

COSTS = 1.0 - np.eye(2)
OLDER = draw_cases(200, 7)


def terms_of(ensemble, aim=None, **fields):
    aim = aim or Aim(mean_budget=ASKS)
    known = {"is_agreement": False, "seed": 0, "stride": 1}
    donors = gather_donors(ensemble, OLDER)
    return ShadowTerms(ensemble, aim, COSTS, donors, **(known | fields))


def split(cases, *ends):
    pairs = zip((0, *ends), (*ends, None), strict=True)
    return [cases.take(slice(*pair)) for pair in pairs]


def test_the_aim_is_the_error_of_the_waterfall_on_older_cases():
    ensemble = make_doubtful()
    chosen = choose_aim(ensemble, OLDER, COSTS, None, is_agreement=False)

    error = float((OLDER.decisions != OLDER.outcomes).mean())
    assert look_ahead(ensemble).error < error
    assert chosen == (Aim(wanted_error=error), "error")


def test_where_it_errs_less_than_the_model_can_the_spend_is_that_of_the_waterfall():
    right = type(OLDER)(**(vars(OLDER) | {"decisions": OLDER.outcomes}))
    ensemble = make_doubtful()

    chosen = choose_aim(ensemble, right, COSTS, None, is_agreement=False)

    spends = charge_logged(ensemble.catalogue, right).sum(axis=1)
    assert chosen == (Aim(mean_budget=round(spends.mean())), "spend")


def test_older_cases_of_which_none_is_judged_leave_the_spend():
    older = forget(OLDER, "decisions")

    chosen = choose_aim(make_doubtful(), older, COSTS, None, is_agreement=False)

    assert chosen.reason == "spend"


def test_a_price_of_an_error_is_taken_as_it_is():
    chosen = choose_aim(make_doubtful(), OLDER, COSTS, 3 * UNIT, is_agreement=False)

    assert chosen == (Aim(error_price=3 * UNIT), "error_price")


def test_decisions_are_to_be_met_about_as_often_as_the_model_can():
    ensemble = make_doubtful()

    chosen = choose_aim(ensemble, OLDER, COSTS, None, is_agreement=True)

    wanted = look_ahead(ensemble).error + SLACK
    assert chosen == (Aim(wanted_error=wanted), "agreement")


def test_a_model_that_takes_no_aims_is_compared_as_it_is():
    ensemble = small_ensemble([2 * UNIT, 3 * UNIT])

    chosen = choose_aim(ensemble, OLDER, COSTS, None, is_agreement=False)
    terms = terms_of(ensemble)

    assert chosen == (None, "none")
    assert terms.frontier == []


def test_figures_are_those_of_the_cases():
    ensemble, cases = make_doubtful(), draw_cases(300)

    figures = run_to_end(compare_log(terms_of(ensemble), [cases]))

    replayed = replay_cases(ensemble, Aim(mean_budget=ASKS), cases, cases.values)
    assert figures.n_cases == 300
    assert figures.n_judged == 300
    assert figures.n_days == 30
    assert figures.supported.value == 1.0
    assert figures.spend_logged.value == 5 * UNIT
    assert figures.spend.estimate.value == replayed.spent.mean()
    assert figures.spend.least == figures.spend.most == replayed.spent.mean()
    wrong = (replayed.labels != cases.outcomes).mean()
    assert figures.loss.estimate.value == pytest.approx(wrong)
    logged = (cases.decisions != cases.outcomes).mean()
    assert figures.loss_logged.value == pytest.approx(logged)
    assert figures.loss_gap.value == pytest.approx(wrong - logged)
    saved = figures.saved_order.value + figures.saved_early.value
    assert saved == pytest.approx(5 * UNIT - replayed.spent.mean())


def test_blocks_change_nothing_where_nothing_is_drawn():
    ensemble, cases = make_doubtful(), draw_cases(90)
    terms = terms_of(ensemble, Aim(mean_budget=2 * UNIT), stride=3)

    whole = run_to_end(compare_log(terms, [cases]))
    parts = run_to_end(compare_log(terms, split(cases, 1, 40, 41)))

    assert parts == whole


def test_it_says_how_far_it_has_come():
    steps = list(compare_log(terms_of(make_doubtful()), split(draw_cases(30), 10)))

    assert steps == [ReplayStep(10), ReplayStep(30)]


def test_asking_twice_is_a_part_of_the_logs_spend():
    cases = draw_cases(50)
    repeats = np.full(50, UNIT)
    cases = type(cases)(**(vars(cases) | {"repeats": repeats}))

    figures = run_to_end(compare_log(terms_of(make_doubtful()), [cases]))

    assert figures.spend_logged.value == 6 * UNIT
    assert figures.saved_repeats.value == UNIT
    assert figures.spend_logged_supported.value == 5 * UNIT


def test_without_outcomes_an_error_is_a_decision_that_differs():
    cases = forget(draw_cases(200), "outcomes")
    terms = terms_of(make_doubtful(), is_agreement=True)

    figures = run_to_end(compare_log(terms, [cases]))

    assert not has_outcomes(cases)
    assert figures.loss_logged.value == 0.0
    assert figures.loss.estimate.value == figures.differs.estimate.value > 0


def test_each_vendor_has_its_use_and_what_dropping_it_does():
    ensemble, cases = make_doubtful(), draw_cases(300)

    figures = run_to_end(compare_log(terms_of(ensemble), [cases]))

    first, second = figures.vendors
    aim = Aim(mean_budget=ASKS)
    base = replay_cases(ensemble, aim, cases, cases.values)
    without = replay_cases(ensemble, aim, cases, cases.values, dropped=1)
    assert (first.asked_logged, first.asked, first.spend) == (1.0, 1.0, 2 * UNIT)
    assert second.asked == pytest.approx(base.is_asked[:, 1].mean())
    assert second.empty == pytest.approx(np.isnan(cases.values[:, 1]).mean())
    changed = (base.labels != without.labels).mean()
    assert second.changed == pytest.approx(changed)
    assert changed > 0
    gap = (without.spent - base.spent).mean()
    assert second.dropped_spend.value == pytest.approx(gap)
    assert gap < 0


def test_the_frontier_goes_from_little_to_all_and_the_waterfall_too():
    figures = run_to_end(compare_log(terms_of(make_doubtful()), [draw_cases(300)]))

    ours = [point.spend.estimate.value for point in figures.frontier]
    theirs = [point.spend.estimate.value for point in figures.cuts]
    assert ours == sorted(ours)
    assert len(set(ours)) > 3
    assert theirs == [0.0, 2 * UNIT, 5 * UNIT]


def test_a_log_that_was_cut_has_bounds_that_hold_the_truth():
    ensemble, full = make_doubtful(billing="per_answer"), draw_cases(400, 3)
    orders = full.orders.copy()
    orders[full.values[:, 0] > 0, 1] = 0
    values = np.where(orders > 0, full.values, np.nan)
    cut = type(full)(**(vars(full) | {"orders": orders, "values": values}))

    truth = run_to_end(compare_log(terms_of(ensemble), [full]))
    figures = run_to_end(compare_log(terms_of(ensemble), [cut]))

    assert figures.supported.value < 1
    for name in ("spend", "loss", "differs", "worse"):
        bounded, true = getattr(figures, name), getattr(truth, name).estimate.value
        assert bounded.least < bounded.most
        assert bounded.least <= true <= bounded.most
        assert bounded.least <= bounded.estimate.value <= bounded.most


def test_a_result_says_whether_anything_is_estimated_or_wrong():
    ensemble = make_doubtful()
    cases = draw_cases(60), draw_cases(60, asks=0.5)
    whole, cut = (run_to_end(compare_log(terms_of(ensemble), [c])) for c in cases)
    rest = ChosenAim(None, "none"), False, (), (), 9, 9, 60, (0.0, 1.0)

    results = [ShadowResult(Model("m", ensemble, "t"), f, *rest) for f in (whole, cut)]

    assert [result.is_measured for result in results] == [True, False]
    assert results[0].has_errors
    assert not replace(results[0], is_agreement=True).has_errors

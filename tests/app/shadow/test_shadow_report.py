"""The report of a shadow: sentences for a buyer, and figures as JSON."""

import json
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest

from askless.app.pages.models.shadow import render_shadow
from askless.app.words.shadow.shadow_view import build_shadow_view, shadow_json
from askless.app.words.shadow.shadow_words import AIMS, list_short_lines, write_money
from askless.core.model.model import Model
from askless.core.session.state import Aim
from askless.core.shadow.comparison import ChosenAim, ShadowTerms, compare_log
from askless.core.shadow.logs import LoggedCases, gather_donors
from askless.core.shadow.results import LatencyLine, LogProblem, ShadowResult
from askless.core.work import run_to_end
from tests.shadow import ASKS, draw_cases, forget, make_doubtful

OLDER = draw_cases(100, 7)


def compare(
    cases: LoggedCases, older: LoggedCases = OLDER, **fields: Any
) -> ShadowResult:
    """Return the result of a log of these newer cases."""
    ensemble = make_doubtful(billing="per_answer")
    ensemble = replace(ensemble, catalogue=replace(ensemble.catalogue, cost_unit="USD"))
    aim = Aim(mean_budget=ASKS)
    is_agreement = fields.get("is_agreement", False)
    donors = gather_donors(ensemble, older)
    terms = ShadowTerms(ensemble, aim, 1.0 - np.eye(2), donors, is_agreement, 0, 1)
    known = {
        "model": Model("leads", ensemble, "outcome"),
        "figures": run_to_end(compare_log(terms, [cases])),
        "chosen": ChosenAim(aim, "spend"),
        "is_agreement": False,
        "problems": (),
        "latencies": (),
        "n_older": 100,
        "n_trained": 100,
        "n_others": cases.n_cases,
        "span": (0.0, 86_400.0 * 30),
    }
    return ShadowResult(**(known | fields))


def text_of(result: ShadowResult) -> str:
    return unescape(render_shadow(result))


def test_the_first_sentences_are_what_a_buyer_asks() -> None:
    result = compare(draw_cases(300))

    first, errors, second, third = list_short_lines(result)

    figures = result.figures
    spend = write_money(figures.spend.estimate.value, "USD")
    logged = write_money(figures.spend_logged.value, "USD")
    assert first.startswith(f"Your waterfall costs {logged} a case, Askless {spend}: ")
    assert first.endswith(" % less.")
    ours, theirs = figures.loss.estimate.value, figures.loss_logged.value
    assert errors == (
        f"Yours is wrong in {100 * theirs:.1f} % of the cases, "
        f"Askless in {100 * ours:.1f} %."
    )
    differs = 100 * figures.differs.estimate.value
    worse = 100 * figures.worse.estimate.value
    assert second.startswith(
        f"{differs:.1f} % of decisions differ, {worse:.1f} % of all"
    )
    assert "nothing here is guessed" in third


def test_what_a_cut_log_leaves_open_is_said_with_bounds() -> None:
    result = compare(draw_cases(300, asks=0.5))

    text = " ".join(list_short_lines(result))

    figures = result.figures
    assert "by estimate" in text
    assert f"in {100 * figures.supported.value:.1f} % of the cases" in text
    assert "missing by design" in text
    least, most = figures.spend.least, figures.spend.most
    assert f"{write_money(least, 'USD')} to {write_money(most, 'USD')} a case" in text
    assert "a model's estimate" in text
    assert "Rubin" in text_of(result)


def test_nothing_is_called_an_estimate_where_all_was_measured() -> None:
    text = text_of(compare(draw_cases(100)))

    assert "estimate" not in text
    assert "Rubin" not in text


def test_a_vendor_that_was_never_asked_is_named() -> None:
    older, cases = draw_cases(100, 7, asks=0.0), draw_cases(100, asks=0.0)

    text = " ".join(list_short_lines(compare(cases, older)))

    assert "too few answers of f1" in text
    assert "too few answers of f0" not in text


def test_without_outcomes_it_measures_agreement_and_says_so() -> None:
    cases = forget(draw_cases(200), "outcomes")
    result = compare(cases, is_agreement=True, chosen=ChosenAim(None, "agreement"))

    text = text_of(result)

    assert "The log has no outcomes." in text
    assert "for the worse" not in text
    assert "decisions that differ" in text
    assert "wrong decisions" not in text


def test_few_days_have_no_interval_and_that_is_said() -> None:
    text = text_of(compare(draw_cases(30)))

    assert "are of 3 days: too few for intervals" in text


def test_outcomes_of_some_cases_are_counted() -> None:
    cases = draw_cases(100)
    cases.outcomes[:40] = -1

    assert "60 of the newer cases have both an outcome" in text_of(compare(cases))


def test_odd_rows_and_latencies_stand_in_the_report() -> None:
    problem = LogProblem("late_answers", 1234, "answers came later than the decision")
    result = compare(
        draw_cases(100),
        problems=(problem,),
        latencies=(LatencyLine("f0", 100, 0.25, 1.5),),
        n_older=5000,
        n_others=50,
    )

    text = text_of(result)

    assert "1,234 answers came later than the decision." in text
    assert "0.25 s" in text
    assert "(100 of them, evenly spaced)" in text
    assert "are measured on 50 of the newer cases" in text
    assert "Nothing: every row was used." not in text
    assert "Nothing: every row was used." in text_of(compare(draw_cases(100)))


@pytest.mark.parametrize("reason", sorted(AIMS))
def test_it_says_why_this_policy_is_compared(reason: Any) -> None:
    result = compare(draw_cases(60), chosen=ChosenAim(None, reason))

    assert AIMS[reason] in text_of(result)


def test_costs_of_errors_are_money() -> None:
    result = compare(draw_cases(100))
    ensemble = replace(result.model.ensemble, error_costs=((0.0, 1.0), (1.0, 0.0)))
    result = replace(result, model=replace(result.model, ensemble=ensemble))

    rows = build_shadow_view(result).figures[1]

    assert rows[1][0] == "cost of errors"
    assert "USD" in rows[1][1]
    assert list_short_lines(result)[1].startswith("Errors cost you ")


def test_names_of_vendors_are_no_markup() -> None:
    result = compare(draw_cases(60))
    ensemble = result.model.ensemble
    first, *others = ensemble.catalogue.features
    features = (replace(first, name="<b>f0</b>"), *others)
    catalogue = replace(ensemble.catalogue, features=features)
    ensemble = replace(ensemble, catalogue=catalogue)
    result = replace(result, model=replace(result.model, ensemble=ensemble))

    page = render_shadow(result)

    assert "<b>f0" not in page
    assert "&lt;b&gt;f0" in page


def test_the_page_loads_nothing_and_has_one_chart() -> None:
    page = render_shadow(compare(draw_cases(100, asks=0.5)))

    assert page.count("<svg") == 1
    assert "<script" not in page
    assert "src=" not in page
    assert "<link" not in page


def test_json_has_the_same_figures_in_units() -> None:
    result = compare(draw_cases(200, asks=0.5))

    document = json.loads(json.dumps(shadow_json(result)))

    figures = result.figures
    assert document["spend_logged"]["value"] == figures.spend_logged.value / 1e6
    assert document["spend"]["least"] == pytest.approx(figures.spend.least / 1e6)
    assert document["spend"]["is_measured"] is False
    assert document["supported"]["value"] == pytest.approx(figures.supported.value)
    assert [vendor["name"] for vendor in document["vendors"]] == ["f0", "f1"]
    assert len(document["waterfall_after"]) == 3

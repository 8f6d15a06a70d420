"""Which offers come back empty: kinds of cases, and what a session expects."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ladder.emptiness import CaseKind, Emptiness
from askless.core.panels.emptiness import fit_emptiness, mask_offers
from askless.core.pipeline.card import report_empty_answers
from askless.core.session import machine
from askless.core.table.dataset import Dataset
from askless.core.table.silent import mark_silent
from tests.panels import make_ladder
from tests.sessions import NEVER, bill_by_call, observe, observe_all, small_ensemble
from tests.small import classes_of

CATALOGUE = Catalogue(
    (
        Feature("a"),
        Feature("b", cost=0, group="g"),
        Feature("c"),
        Feature("d", cost=0, group="g"),
    ),
    (Group("g", price=9),),
)
# Few offers know the second kind of cases.
KNOWN, OBSCURE = np.array([0.05, 0.1, 0.2, 0.1]), np.array([0.6, 0.7, 0.9, 0.7])
KINDS = Emptiness((CaseKind(0.75, KNOWN), CaseKind(0.25, OBSCURE)))


def table(chances, n_rows=3000, seed=0) -> Dataset:
    """Rows that lack each offer with a row's chance; (n_rows, 3 offers)."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(n_rows, 4))
    is_empty = random.random((n_rows, 3)) < chances
    values[is_empty[:, CATALOGUE.offer_idxs]] = np.nan
    targets = random.integers(0, 2, n_rows)
    weights = np.full(n_rows, 1.0 / n_rows)
    return Dataset(CATALOGUE, classes_of(2), values, targets, weights)


def overall(emptiness: Emptiness) -> np.ndarray:
    """Chance of an empty answer where nothing was asked; (n_features,)."""
    return emptiness.shares @ emptiness.chances


def draw_kinds(n_rows=3000, seed=0) -> np.ndarray:
    is_obscure = np.random.default_rng(seed + 1).random(n_rows) < 0.25
    firsts = [offer[0] for offer in CATALOGUE.offers]
    return np.where(is_obscure[:, None], OBSCURE[firsts], KNOWN[firsts])


def test_offers_are_bundles_and_features_alone():
    assert CATALOGUE.offers == ((0,), (1, 3), (2,))
    assert CATALOGUE.offer_idxs.tolist() == [0, 1, 2, 1]


def test_an_offer_is_empty_where_all_of_it_is_missing():
    is_missing = np.array([[True, True, False, False], [False, True, False, True]])

    masks = mask_offers(CATALOGUE, is_missing)

    assert masks.tolist() == [[True, False, False], [False, True, False]]


def test_kinds_of_cases_are_found_where_misses_go_together():
    found = fit_emptiness(table(draw_kinds()))

    assert found is not None
    order = np.argsort(found.chances.sum(axis=1))
    assert found.shares[order] == pytest.approx([0.75, 0.25], abs=0.05)
    assert found.chances[order] == pytest.approx(np.array([KNOWN, OBSCURE]), abs=0.08)


def test_misses_that_do_not_go_together_have_one_kind():
    found = fit_emptiness(table(np.array([0.1, 0.4, 0.7])))

    assert found is not None
    assert found.shares.tolist() == [1.0]
    assert overall(found) == pytest.approx([0.1, 0.4, 0.7, 0.4], abs=0.03)


def test_an_offer_that_was_never_empty_is_not_expected_to_be():
    found = fit_emptiness(table(np.array([0.3, 0.0, 0.3])))

    assert found is not None
    assert overall(found)[[1, 3]].tolist() == [0.0, 0.0]


def test_nothing_is_learned_where_nothing_is_empty():
    assert fit_emptiness(table(np.zeros(3), 20)) is None


def test_cells_that_nobody_asked_for_are_not_empty():
    asked = table(np.array([0.5, 0.0, 0.0]))
    is_silent = np.arange(asked.n_samples) < 1500
    values = asked.values.copy()
    values[is_silent, 0] = np.nan
    values[:, 0] = mark_silent(values[:, 0], is_silent)

    found = fit_emptiness(replace(asked, values=values))

    assert found is not None
    assert overall(found)[0] == pytest.approx(0.5, abs=0.04)


def test_what_came_back_empty_tells_of_what_is_to_come():
    is_empty = np.array([[True, False, False], [False, False, False]])
    is_asked = np.array([[True, False, False], [True, False, False]])

    empty, there = KINDS.expect(CATALOGUE, is_empty, is_asked)
    nothing = KINDS.expect(CATALOGUE, is_empty, np.zeros(3, np.bool_))[0]

    # Bayes' rule by hand.
    share = 0.25 * 0.6 / (0.25 * 0.6 + 0.75 * 0.05)
    assert empty == pytest.approx(share * OBSCURE + (1 - share) * KNOWN)
    assert (there < nothing).all()
    assert nothing == pytest.approx(overall(KINDS))


def ask(per_call=()):
    """An ensemble of three features whose emptiness is known, and a session."""
    ensemble = small_ensemble([4, 5, 6])
    ensemble = replace(ensemble, panels=make_ladder(ensemble, [[0, 1, 2]]))
    kinds = tuple(
        CaseKind(share, np.array(chances))
        for share, chances in ((0.5, [0.1, 0.2, 0.0]), (0.5, [0.7, 0.6, 1.0]))
    )
    ladder = replace(ensemble.panels, emptiness=Emptiness(kinds))
    ensemble = bill_by_call(replace(ensemble, panels=ladder), per_call)
    return ensemble, machine.start(ensemble, None, stop=NEVER, policy="ordered")


def test_a_question_has_its_chance_to_come_back_empty():
    ensemble, state = ask()

    question = machine.next_question(ensemble, state)
    after = observe(ensemble, state, 0, "unavailable")
    refused = observe(ensemble, state, 0, "refused")

    assert question.empty_chance == pytest.approx(0.4)
    assert question.expected_price == round(4 * 0.6)
    # The second kind by 7 : 1.
    empty = machine.next_question(ensemble, after).empty_chance
    assert empty == pytest.approx((0.2 + 7 * 0.6) / 8)
    assert machine.next_question(ensemble, refused).empty_chance == pytest.approx(0.4)


def test_an_offer_billed_by_call_costs_its_price_on_the_mean():
    ensemble, state = ask(per_call=(0,))

    question = machine.next_question(ensemble, state)

    assert (question.price, question.expected_price) == (4, 4)


def test_what_is_certain_in_one_kind_rules_it_out():
    ensemble, state = ask()

    state = observe_all(ensemble, state, (2, "unavailable"), (0, "refused"))

    empty = machine.next_question(ensemble, state).empty_chance
    assert empty == pytest.approx(0.6, abs=1e-3)


def test_without_any_empty_answer_in_training_there_is_no_chance():
    ensemble = small_ensemble([4, 5])

    question = machine.next_question(ensemble, machine.start(ensemble, None))

    assert (question.empty_chance, question.expected_price) == (None, 4)


def test_a_card_says_what_empty_answers_cost():
    table_of_rows = table(np.array([0.25, 0.5, 0.0]), 400)
    features = (replace(CATALOGUE.features[0], billing="per_call"),)
    billed = replace(CATALOGUE, features=features + CATALOGUE.features[1:])
    is_empty = mask_offers(CATALOGUE, np.isnan(table_of_rows.values)).mean(axis=0)

    facts = report_empty_answers(replace(table_of_rows, catalogue=billed))

    assert facts["empty_answers"] == [
        {
            "offer": "a",
            "price": 1.0,
            "billing": "per_call",
            "share": pytest.approx(is_empty[0]),
            "cost": pytest.approx(is_empty[0]),
        },
        {
            "offer": "g",
            "price": 9e-6,
            "billing": "per_answer",
            "share": pytest.approx(is_empty[1]),
            "cost": 0.0,
        },
        {
            "offer": "c",
            "price": 1.0,
            "billing": "per_answer",
            "share": 0.0,
            "cost": 0.0,
        },
    ]


def test_a_card_of_full_rows_says_nothing_of_empty_answers():
    assert report_empty_answers(table(np.zeros(3), 20)) == {}

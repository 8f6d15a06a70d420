"""The policy `worth`: sessions as simulated, refusals, and who may be asked by it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from askless.core.catalogue.price_lists import PriceList
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.asking import AskingTerms
from askless.core.model.ladder.blends import Blend
from askless.core.model.ladder.panels import TABLES_POWER, Panel, PanelLadder
from askless.core.model.ladder.tables import TableMember, to_odds
from askless.core.panels.ladders import fit_ladder
from askless.core.session import machine
from askless.core.session.policies import POLICIES, check_policy, list_serving_policies
from askless.core.session.policy import Policy
from askless.core.session.position import UNLIMITED, Position
from askless.core.session.rows.walks import SimulatedRows
from askless.core.session.state import Answer, State
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from tests.panels import shorten
from tests.sessions import NEVER, bill_by_call
from tests.small import finish, random_dataset

MICROS = 1_000_000
BUDGETS = np.array([0, MICROS, 3 * MICROS, UNLIMITED])


@cache
def make(n_classes: int) -> tuple[Ensemble, np.ndarray]:
    """Categories, missing cells, a fee and a bundle, and what was trained on them."""
    dataset = random_dataset(n_classes, n_classes, 160, n_values=9)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        ladder = finish(fit_ladder(dataset, effort="fast"))
    ensemble = make_ensemble(dataset, BoostParams("panels"), ())
    return replace(ensemble, panels=ladder), dataset.values


@pytest.fixture(scope="module")
def made() -> tuple[Ensemble, np.ndarray]:
    return make(3)


@pytest.fixture
def ensemble(made) -> Ensemble:
    return made[0]


@pytest.fixture
def values(made) -> np.ndarray:
    return made[1]


def begin(ensemble: Ensemble, budget: int | None = None) -> State:
    return machine.start(ensemble, budget, policy="worth", stop=NEVER)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("per_call", [(), (0, 1, 2, 4), range(9)])
def test_walks_are_sessions(n_classes, per_call):
    ensemble, values = make(n_classes)
    ensemble = bill_by_call(
        ensemble, (i for i in per_call if i < len(ensemble.catalogue.features))
    )
    cases = SimulatedRows(values[:15], BUDGETS, 0, range(15))
    policy = POLICIES["worth"]
    walks, plain = policy.walk(ensemble, cases), Policy.walk(policy, ensemble, cases)
    for name, expected in vars(plain).items():
        # Rows that are predicted together round otherwise.
        assert np.allclose(getattr(walks, name), expected, atol=1e-12), name
    assert (walks.spent <= BUDGETS).all()


def test_prediction_does_not_depend_on_the_order_of_answers(ensemble, values):
    known = np.flatnonzero(~np.isnan(values[5])).tolist()

    def predict(order: Sequence[int]) -> np.ndarray:
        answers = [Answer(idx, "value", float(values[5, idx])) for idx in order]
        state = machine.observe(ensemble, begin(ensemble), answers, is_insistent=True)
        return np.array(machine.forecast(ensemble, state).probabilities)

    assert np.array_equal(predict(known), predict(known[::-1]))


def test_refused_answer_leaves_the_prediction_as_it_was(ensemble):
    state = begin(ensemble)
    before = machine.forecast(ensemble, state).probabilities
    asked = state.next_feature_idx
    after = machine.observe(ensemble, state, [Answer(asked, "refused")])
    assert machine.forecast(ensemble, after).probabilities == before
    assert after.next_feature_idx != asked


def test_question_has_its_share_and_alternatives(ensemble):
    question = machine.next_question(ensemble, begin(ensemble))
    assert 0.0 <= question.open_share <= 1.0
    assert question.feature_idx not in dict(question.alternatives)


def test_session_ends_where_no_answer_helps_or_can_be_paid(ensemble):
    assert begin(ensemble, 0).stop_reason in {"budget_exhausted", None}
    gone = [Answer(idx, "refused") for idx in range(6)]
    state = machine.observe(ensemble, begin(ensemble), gone)
    assert state.stop_reason == "all_known"
    assert POLICIES["worth"].is_certain(Position.of(ensemble, state))


def test_supposed_answers_are_predicted_as_given(ensemble, values):
    state = begin(ensemble)
    asked = state.next_feature_idx
    some = np.unique(values[~np.isnan(values[:, asked]), asked])[:2]
    position = Position.of(ensemble, state)
    supposed = POLICIES["worth"].predict_after(position, asked, some)
    for value, expected in zip(some.tolist(), supposed, strict=True):
        after = machine.observe(ensemble, state, [Answer(asked, "value", value)])
        given = machine.forecast(ensemble, after).probabilities
        np.testing.assert_allclose(given, expected)


def test_only_models_with_tables_serve_it(ensemble):
    assert "worth" in list_serving_policies(ensemble)
    assert check_policy("worth", ensemble, "policy") == "worth"
    without = replace(ensemble, panels=replace(ensemble.panels, worth=None))
    assert "worth" not in list_serving_policies(without)


def test_prices_of_a_session_scale_the_budgets_of_terms(ensemble):
    doubled = {
        feature.name: 2 * feature.cost / MICROS
        for feature in ensemble.catalogue.features
    }
    moved = ensemble.at_prices(PriceList(doubled), "prices").panels.worth
    scaled = ensemble.panels.worth.scale(1, 2)
    pairs = zip(scaled.terms, ensemble.panels.worth.terms, strict=True)
    assert all(new.least_budget == 2 * old.least_budget for new, old in pairs)
    assert moved != ensemble.panels.worth


@pytest.mark.parametrize("budget", [None, 0])
def test_first_question_is_that_of_the_terms_if_it_can_be_paid(ensemble, budget):
    costs = np.where(ensemble.catalogue.is_bundled, 0, ensemble.catalogue.costs)
    first = int(costs.argmax())
    worth = replace(
        ensemble.panels.worth,
        terms=(AskingTerms(0, 1.0, first),),
        feature_idxs=tuple(range(6)),
    )
    ensemble = replace(ensemble, panels=replace(ensemble.panels, worth=worth))
    asked = begin(ensemble, budget).next_feature_idx
    assert (asked == first) == (budget is None)


def test_what_is_ordered_leaves_a_session_uncertain(ensemble):
    state = begin(ensemble)
    ordered = machine.observe(
        ensemble, state, [Answer(state.next_feature_idx, "ordered")]
    )
    gone = [Answer(idx, "refused") for idx in range(6) if idx != state.next_feature_idx]
    after = machine.observe(ensemble, ordered, gone)
    assert not POLICIES["worth"].is_certain(Position.of(ensemble, after))


def test_session_is_complete_where_no_answer_tells_anything(ensemble):
    root = replace(ensemble.panels.tables.parts[0], gate=None, children=())
    root = replace(root, log_chances=np.full_like(root.log_chances, -1.0))
    tables = replace(ensemble.panels.tables, parts=(root,))
    worth = replace(
        ensemble.panels.worth, terms=(AskingTerms(0, 1.0),), feature_idxs=(0, 1)
    )
    panels = replace(ensemble.panels, tables=tables, worth=worth)
    ensemble = replace(ensemble, panels=panels)
    state = begin(ensemble)
    assert state.stop_reason == "plan_complete"
    assert POLICIES["worth"].can_use(Position.of(ensemble, state), 1)
    assert not POLICIES["worth"].can_use(Position.of(ensemble, state), 2)


def test_tables_read_what_the_widest_panel_lacks(ensemble, values):
    ladder = ensemble.panels

    def limit(n_read: int) -> PanelLadder:
        """Return the ladder, with tables of the first features in each blend."""
        member = TableMember(ladder.tables, tuple(range(n_read))) if n_read else None
        panels = tuple(
            panel
            if panel.blend is None
            else replace(
                panel, blend=replace(panel.blend, tables=member, tables_weight=0.5)
            )
            for panel in ladder.panels
        )
        return replace(ladder, panels=panels)

    n_features = values.shape[1]
    rows, known = np.nan_to_num(values[:5]), np.ones(n_features, np.bool_)
    few, all_of_them = limit(1), limit(n_features)
    members = ~known
    members[list(few.panels[few.widest].feature_idxs)] = True
    known[np.flatnonzero(members)[0]] = False
    expected = all_of_them.predict_logits(all_of_them.widest, rows, known)
    assert np.allclose(few.predict_logits(few.widest, rows, known), expected)
    alone = few.panels[few.widest].logits(rows, few.starts)
    assert np.array_equal(few.predict_logits(few.widest, rows, members), alone)
    without = limit(0)
    alone = without.panels[without.widest].logits(rows, without.starts)
    assert np.array_equal(without.predict_logits(without.widest, rows, members), alone)


def test_nothing_known_is_the_class_shares_and_a_lone_answer_is_read(ensemble, values):
    ladder, n_features = ensemble.panels, values.shape[1]
    nothing, rows = np.zeros(n_features, np.bool_), np.nan_to_num(values[:5])
    for number in (ladder.widest, ladder.best_panel(nothing)):
        shares = np.tile(ladder.starts, (5, 1))
        assert np.array_equal(ladder.predict_logits(number, rows, nothing), shares)
    lone = nothing.copy()
    lone[2] = True
    predicted = ladder.predict_logits(ladder.best_panel(nothing), rows, lone)
    assert np.array_equal(predicted, to_odds(ladder.tables.score(rows, lone)))
    without = replace(ladder, tables=None)
    unread = without.predict_logits(ladder.best_panel(nothing), rows, lone)
    assert np.array_equal(unread, np.tile(ladder.starts, (5, 1)))


def test_answers_beside_the_panel_are_of_use_where_tables_read_them(ensemble, values):
    readable = ensemble.panels.mark_readable(values.shape[1])
    for known in np.flatnonzero(readable).tolist():
        state = machine.start(ensemble, None, policy="panels", stop=NEVER)
        is_of_use = POLICIES["panels"].can_use(Position.of(ensemble, state), known)
        told = machine.start(ensemble, None, policy="panels", known={known: 1.0})
        forecast = machine.forecast(ensemble, told)
        moves = forecast != machine.forecast(ensemble, state)
        assert is_of_use
        assert moves


def test_what_nothing_reads_neither_counts_nor_steers(ensemble):
    panels, worth = ensemble.panels, ensemble.panels.worth
    unread = panels.panels[panels.widest].feature_idxs[-1]
    kept = tuple(panel for panel in panels.panels if unread not in panel.feature_idxs)
    asked = tuple(idx for idx in worth.feature_idxs if idx != unread)
    few = replace(panels, panels=kept, worth=replace(worth, feature_idxs=asked))
    limited = replace(ensemble, panels=replace(few, stopping=None))
    for policy in ("panels", "worth"):
        states = [
            machine.start(limited, None, policy=policy, known=known)
            for known in ({}, {unread: 1.0})
        ]
        position = Position.of(limited, states[1])
        assert not POLICIES[policy].can_use(position, unread)
        first, second = (machine.forecast(limited, state) for state in states)
        assert first.probabilities == second.probabilities
        questions = [machine.next_question(limited, state) for state in states]
        assert questions[0].feature_idx == questions[1].feature_idx


@pytest.mark.parametrize("n_hidden", [0, 1, 3])
def test_tables_weigh_more_the_more_of_the_widest_panel_is_hidden(
    ensemble, values, n_hidden
):
    ladder, rows = ensemble.panels, np.nan_to_num(values[:5])
    # The blend has no tables, so that theirs is the only weight.
    panels = tuple(
        panel if panel.blend is None else replace(panel, blend=without_tables(panel))
        for panel in ladder.panels
    )
    ladder = replace(ladder, panels=panels)
    members = np.flatnonzero(ladder.members[ladder.widest])
    known = ~np.isin(np.arange(values.shape[1]), members[:n_hidden])

    predicted = ladder.predict_logits(ladder.widest, rows, known)

    alone = replace(ladder, tables=None)
    panel = alone.predict_logits(ladder.widest, rows, known)
    by_tables = to_odds(ladder.tables.score(rows, known))
    share = (n_hidden / members.size) ** TABLES_POWER
    np.testing.assert_allclose(predicted, (1 - share) * panel + share * by_tables)


def without_tables(panel: Panel) -> Blend:
    return replace(panel.blend, tables=None, tables_weight=0.0)

"""Sessions that go on only where it is worth it, and what they are to reach."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.errors import ClosedError, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.measured import MeasuredErrors
from askless.core.session import machine
from askless.core.session.aims import change_aim, check_aim
from askless.core.session.ladders import make_standing
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.session.policies.adaptive import choose_mixture, draw_rule
from askless.core.session.position import Position
from askless.core.session.rows.walks import Standing
from askless.core.session.state import Aim, State, StopRule
from askless.core.simulation.simulate import simulate
from tests import naive_stopping as naive
from tests import strategies
from tests.panel_twin import naive_known, naive_panels, naive_status
from tests.panels import make_ladder, make_stopping, with_panels, with_rules
from tests.sessions import NEVER, answer_from_row, observe, small_ensemble

ADAPTIVE = POLICIES["adaptive"]
AIMS = st.one_of(
    st.none(),
    st.integers(1, 3_000_000).map(lambda one: Aim(mean_budget=one)),
    st.floats(0, 0.5).map(lambda one: Aim(wanted_error=one)),
    st.integers(1, 50_000_000).map(lambda one: Aim(error_price=one)),
)


def ensemble_of(costs, *orders, rules=2, **changes) -> Ensemble:
    """Panels of the beginnings of some orders; every rule has these changes."""
    ensemble = small_ensemble(costs, policy="adaptive")
    ladder = make_ladder(ensemble, orders)
    panels = tuple(replace(panel, may_lack=frozenset()) for panel in ladder.panels)
    stopping = make_stopping(len(panels), rules)
    changed = tuple(replace(rule, **changes) for rule in stopping.rules)
    stopping = replace(stopping, rules=changed)
    return replace(ensemble, panels=replace(ladder, panels=panels, stopping=stopping))


def always(*costs, **changes) -> Ensemble:
    """An ensemble of (0, 1), (0,) and (), whose rules lead to the first panel."""
    fields = {
        "rate": 0.0,
        "targets": np.array([0, 0, 0]),
        "thresholds": np.array([0.0, -1.0, -1.0]),
        "prices": np.array([0, costs[1], sum(costs)]),
    }
    return ensemble_of(costs, (0, 1), **(fields | changes))


def begin(ensemble: Ensemble, budget: int | None = None, **options) -> State:
    return machine.start(ensemble, budget, stop=NEVER, **options)


@given(
    with_rules(with_panels(strategies.ensembles(max_hypotheses=1))),
    strategies.budgets(),
    AIMS,
    st.data(),
)
def test_next_feature_is_that_of_the_naive_twin(ensemble, budget, aim, data):
    idxs = range(len(ensemble.catalogue.features))
    known = data.draw(st.sets(st.sampled_from(idxs), max_size=2))
    state = begin(ensemble, budget, aim=aim, known=dict.fromkeys(known, 1.0))
    for idx in data.draw(st.lists(st.sampled_from(idxs), unique=True, max_size=2)):
        # Where it is billed by call, an empty answer must fit the budget.
        is_affordable = Position.of(ensemble, state).beyond.is_affordable[idx]
        if state.outcomes[idx] is None and is_affordable:
            state = observe(ensemble, state, idx, "unavailable")

    expected = naive_next(ensemble, state)

    assert (state.next_feature_idx, state.stop_reason) == expected


def naive_next(ensemble: Ensemble, state: State) -> tuple[int | None, str | None]:
    """What the twin asks next, and why it stops."""
    plain = replace(state, policy="panels")
    step = POLICIES["panels"].choose_next(Position.of(ensemble, plain))
    position, ladder = Position.of(ensemble, plain), ensemble.panels
    if state.aim is None and has_hidden(ensemble, state):
        return step.feature_idx, step.reason
    rules, aim = ladder.stopping.rules, state.aim or Aim()
    wishes = aim.mean_budget, aim.wanted_error, aim.error_price
    first, share = naive.mixture([(rule.spend, rule.error) for rule in rules], *wishes)
    number = draw_rule(choose_mixture(ladder.stopping, state.aim), state.seed, 0)
    assert number in {first, first + (share > 0)}
    rule = rules[number]
    known = naive_known(ensemble, state)
    status = naive_status(ensemble, state)
    gone = {idx for idx, standing in enumerate(status) if standing == "gone"}
    now = next(
        number
        for number, panel in enumerate(naive_panels(ensemble))
        if (known | gone).issuperset(panel["order"])
    )
    prices = naive_prices(ensemble, state)
    fields = rule.rate, *(getattr(rule, one).tolist() for one in LISTS)
    way = naive.go_on(fields, ladder.stopping.errors.tolist(), now, prices)
    standing = judging_standing(position, now, known)
    chances = POLICIES["panels"].chances(ensemble, standing)
    risk = 1 - max(chances)
    if ensemble.error_costs is not None:
        risk = min(chances @ np.array(ensemble.error_costs))
    if way is None:
        return step.feature_idx, step.reason or "not_worth_it"
    # A rule is followed where `panels` would ask nothing more, too.
    order = ladder.panels[way[0]].feature_idxs
    asked = next(idx for idx in order if state.outcomes[idx] is None)
    return asked, None if risk > way[1] else "not_worth_it"


def has_hidden(ensemble: Ensemble, state: State) -> bool:
    """Whether something is not known that training knew: it came without a value."""
    status, panels = naive_status(ensemble, state), naive_panels(ensemble)
    gone = {idx for idx, standing in enumerate(status) if standing == "gone"}
    return bool(gone & set().union(*(panel["order"] for panel in panels)))


def judging_standing(position: Position, now: int, known: set[int]) -> Standing:
    """Where a case stands by the panel that it starts from, and what is known of it."""
    ensemble, values = position.ensemble, np.array([position.state.values])
    ladder = ensemble.panels
    read = known & {*ladder.panels[now].feature_idxs}
    is_known = np.isin(np.arange(values.size), [*read])
    logits = ladder.panels[now].logits(values, ladder.starts)
    if read != {*ladder.panels[now].feature_idxs}:
        logits = ladder.predict_logits(now, values, is_known)
    return make_standing(ensemble, logits[0], np.array(now))


LISTS = "targets", "thresholds", "prices"


def naive_prices(ensemble: Ensemble, state: State) -> list[int | None]:
    """What is open of each panel costs; None where it can't be bought."""
    catalogue, prices = ensemble.catalogue, []
    groups = {
        group.name: group.fee if group.price is None else group.price
        for group in catalogue.groups
    }
    for panel in ensemble.panels.panels:
        rest = [idx for idx in panel.feature_idxs if state.outcomes[idx] is None]
        fees = {catalogue.features[idx].group for idx in rest} - {None}
        price = sum(catalogue.features[idx].cost for idx in rest)
        price += sum(groups[fee] for fee in fees)
        is_dear = state.budget is not None and price > state.budget
        prices.append(None if is_dear else price)
    return prices


@given(
    with_rules(with_panels(strategies.ensembles(max_hypotheses=1))),
    st.lists(st.tuples(strategies.budgets(), AIMS), min_size=1, max_size=3),
    st.integers(0, 99),
    st.data(),
)
def test_walk_under_aims_is_one_session_per_row(ensemble, terms, seed, data):
    values = data.draw(strategies.tables(ensemble.catalogue, max_rows=3))
    budgets, aims = zip(*terms, strict=True)

    walks = simulate(ensemble, values, budgets, "adaptive", seed, aims=aims)

    for row, column in np.ndindex(walks.spent.shape):
        state = begin(
            ensemble, budgets[column], aim=aims[column], seed=seed, stream=row
        )
        state, asked = answer_from_row(ensemble, state, values[row])
        standing = ADAPTIVE.standing(Position.of(ensemble, state))
        assert walks.spent[row, column] == state.spent
        assert walks.n_asked[row, column] == len(asked)
        assert walks.marks[row, column] == standing.marks
        np.testing.assert_allclose(walks.scores[row, column], standing.scores)
        assert budgets[column] is None or state.spent <= budgets[column]


@given(st.integers(1, 4), AIMS)
def test_mixture_is_that_of_the_naive_twin(n_rules, aim):
    stopping = make_stopping(2, n_rules)
    wish = aim or Aim()

    found = choose_mixture(stopping, aim)

    pairs = [(rule.spend, rule.error) for rule in stopping.rules]
    rule, share = naive.mixture(
        pairs, wish.mean_budget, wish.wanted_error, wish.error_price
    )
    assert found.rule + found.share == pytest.approx(rule + share)


def test_seeds_share_sessions_out_as_the_mixture_says():
    mixture = choose_mixture(make_stopping(2, 2), Aim(mean_budget=300_000))

    drawn = [draw_rule(mixture, seed, 0) for seed in range(400)]

    assert set(drawn) == {0, 1}
    assert np.mean(drawn) == pytest.approx(0.3, abs=0.07)


def test_session_says_what_it_would_ask_where_it_is_not_worth_it():
    ensemble = always(3, 4, thresholds=np.array([0.0, -1.0, 0.9]))

    state = begin(ensemble)

    question = machine.next_question(ensemble, state)
    assert (state.stop_reason, question.feature_idx) == ("not_worth_it", 0)
    # Going on is still possible, and then worth it.
    state = observe(ensemble, state, 0, "value", 1.0)
    assert (state.stop_reason, state.next_feature_idx) == (None, 1)


def test_a_rule_is_followed_where_a_missing_value_already_tells_more():
    """The panel (0, 1), of which 0 is missing, beats the rule's panel (1,)."""
    ensemble = always(3, 4)
    stopping = replace(
        ensemble.panels.stopping,
        errors=np.array([0.2, 0.3, 0.4]),
        rules=(
            replace(ensemble.panels.stopping.rules[0], targets=np.array([0, 1, 1])),
        ),
    )
    ladder = make_ladder(ensemble, [(1, 0)], can_hide=True)
    lacks = tuple(frozenset({0} & {*panel.feature_idxs}) for panel in ladder.panels)
    panels = tuple(
        replace(
            panel, may_lack=lack, loss=loss, rises=(0.01,) * len(panel.feature_idxs)
        )
        for panel, lack, loss in zip(ladder.panels, lacks, (0.3, 0.4, 0.5), strict=True)
    )
    ensemble = replace(
        ensemble, panels=replace(ladder, panels=panels, stopping=stopping)
    )

    state = observe(ensemble, begin(ensemble), 0, "unavailable")

    assert [panel.feature_idxs for panel in panels] == [(1, 0), (1,), ()]
    assert (state.stop_reason, state.next_feature_idx) == (None, 1)


def refusing(**options) -> tuple[Ensemble, State]:
    """A case of the panels (0, 1), (0,) and () that refuses the feature 0."""
    last = np.array([0.0, 0.9, -1.0])
    ensemble = always(3, 2, thresholds=last)
    ladder = make_ladder(ensemble, [(0, 1)], can_hide=True)
    panels = tuple(replace(panel, may_lack=frozenset()) for panel in ladder.panels)
    ladder = replace(ladder, panels=panels, stopping=ensemble.panels.stopping)
    ensemble = replace(ensemble, panels=ladder)
    return ensemble, observe(ensemble, begin(ensemble, **options), 0, "refused")


def test_case_with_an_aim_keeps_its_rule_after_a_refusal():
    ensemble, aimed = refusing(aim=Aim(mean_budget=1))
    _, plain = refusing()

    assert (aimed.stop_reason, aimed.next_feature_idx) == ("not_worth_it", 1)
    assert (plain.stop_reason, plain.next_feature_idx) == (None, 1)
    assert not machine.next_question(ensemble, aimed).is_outside_rules


@pytest.mark.parametrize("policy", ["adaptive", "ordered"])
def test_question_says_whether_rules_hold(policy):
    ensemble = always(3, 2)
    ladder = make_ladder(ensemble, [(0, 1)], can_hide=True)
    panels = tuple(replace(panel, may_lack=frozenset()) for panel in ladder.panels)
    ladder = replace(ladder, panels=panels, stopping=ensemble.panels.stopping)
    state = begin(replace(ensemble, panels=ladder), policy=policy)

    after = observe(replace(ensemble, panels=ladder), state, 0, "refused")

    told = [
        machine.next_question(replace(ensemble, panels=ladder), one).is_outside_rules
        for one in (state, after)
    ]
    assert told == [False, policy == "adaptive"]


def test_question_promises_what_held_out_rows_measured():
    measured = MeasuredErrors((0, 1_000_000_000, None), (0.5, 0.4, 0.2))
    ensemble = replace(always(3, 4), measured=measured)

    promise = machine.next_question(ensemble, begin(ensemble)).promise

    assert (promise.error_now, promise.error_at_end) == (0.5, 0.2)
    assert promise.questions_left[0] <= promise.questions_left[1]


@pytest.mark.parametrize(("cost", "expected"), [(4, None), (5, "not_worth_it")])
def test_what_a_way_costs_more_than_when_it_was_learned_moves_its_threshold(
    cost, expected
):
    ensemble = always(3, cost, prices=np.array([0, 4, 7]), rate=2.0)

    assert begin(ensemble).stop_reason == expected


def test_panel_that_can_be_paid_is_taken_where_the_wanted_one_can_not():
    ensemble = always(3, 4)

    state, asked = answer_from_row(ensemble, begin(ensemble, 5), [1.0, 1.0])

    assert asked == [0]
    assert state.stop_reason == "budget_exhausted"


def test_nothing_is_asked_that_errs_no_less():
    ensemble = always(3, 4)
    stopping = replace(ensemble.panels.stopping, errors=np.full(3, 0.3))
    ensemble = replace(ensemble, panels=replace(ensemble.panels, stopping=stopping))

    assert begin(ensemble, 5).stop_reason == "not_worth_it"


def test_result_to_come_is_waited_for():
    wanted = np.array([0, 1, 1, 1])
    ensemble = ensemble_of(
        (3, 4, 5), (0, 1, 2), targets=wanted, thresholds=np.full(4, -1.0), rate=0.0
    )
    state = observe(ensemble, begin(ensemble), 0, "value", 1.0)

    state = observe(ensemble, state, 1, "ordered")

    assert (state.next_feature_idx, state.stop_reason) == (None, "plan_complete")


def test_changed_aim_finds_the_next_question_anew():
    ensemble = always(3, 4)
    cheap = replace(
        ensemble.panels.stopping.rules[0], targets=np.array([0, 1, 2]), spend=0.0
    )
    rules = cheap, ensemble.panels.stopping.rules[1]
    stopping = replace(ensemble.panels.stopping, rules=rules)
    ensemble = replace(ensemble, panels=replace(ensemble.panels, stopping=stopping))
    state = begin(ensemble, aim=Aim(wanted_error=0.4))

    changed = change_aim(ensemble, state, Aim(wanted_error=0.2))

    assert (state.stop_reason, changed.stop_reason) == ("not_worth_it", None)
    with pytest.raises(ClosedError):
        change_aim(ensemble, machine.stop(state), None)


def test_session_with_an_aim_is_asked_by_who_takes_aims():
    ensemble = replace(always(3, 4), policy="panels")

    aimed, plain = begin(ensemble, aim=Aim(mean_budget=1)), begin(ensemble)

    assert (aimed.policy, plain.policy) == ("adaptive", "panels")


def test_policy_serves_ladders_with_rules_alone():
    ensemble = always(3, 4)
    without = replace(ensemble, panels=replace(ensemble.panels, stopping=None))

    assert "adaptive" in list_serving_policies(ensemble)
    assert "adaptive" not in list_serving_policies(without)
    assert "adaptive" not in list_serving_policies(replace(ensemble, panels=None))


@pytest.mark.parametrize(
    ("aim", "policy", "field"),
    [
        (Aim(), None, "aim"),
        (Aim(mean_budget=1, error_price=1), None, "aim"),
        (Aim(mean_budget=1), "ordered", "aim"),
        (Aim(mean_budget=1), "cascade", "policy"),
        (Aim(wanted_error=0.1999), None, "aim.wanted_error"),
    ],
)
def test_aim_that_no_session_reaches_is_refused(aim, policy, field):
    ensemble = replace(always(3, 4), policy="panels")

    with pytest.raises(RefusedError) as refused:
        check_aim(aim, ensemble, policy, "aim")

    assert [refusal.field for refusal in refused.value.refusals] == [field]


@pytest.mark.parametrize(
    "aim", [Aim(mean_budget=1), Aim(wanted_error=0.2), Aim(error_price=9)]
)
def test_aim_within_reach_is_let_through(aim):
    assert check_aim(aim, always(3, 4), None, "aim") == aim


@pytest.mark.parametrize("error", [0.12341, 0.99991, 1234.1, 0.2])
def test_least_error_that_a_refusal_names_is_let_through(error):
    ensemble = always(3, 4)
    stopping = ensemble.panels.stopping
    rules = (*stopping.rules[:-1], replace(stopping.rules[-1], error=error))
    panels = replace(ensemble.panels, stopping=replace(stopping, rules=rules))
    ensemble = replace(ensemble, panels=panels)

    with pytest.raises(RefusedError) as refused:
        check_aim(Aim(wanted_error=0.0), ensemble, None, "aim")

    (named,) = re.findall(r"at least ([\d.]+),", str(refused.value))
    wanted = Aim(wanted_error=float(named))
    assert check_aim(wanted, ensemble, None, "aim") == wanted


def test_aim_is_refused_where_no_policy_takes_one():
    with pytest.raises(RefusedError, match="ordered"):
        check_aim(Aim(mean_budget=1), small_ensemble([1]), None, "aim")


def test_advice_of_the_stop_rule_comes_before_it_is_not_worth_it():
    ensemble = always(3, 4, thresholds=np.array([0.0, -1.0, 0.9]))

    state = machine.start(ensemble, None, stop=StopRule(max_questions=0))

    assert state.stop_reason == "max_questions"

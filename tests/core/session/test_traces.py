"""Sessions step by step are the sessions of the machine; and where they would stop."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askless.core.model.certificates import EARLY_RULES, EarlyRule
from askless.core.session import machine
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.session.position import UNLIMITED
from askless.core.session.rows.traces import Traces, locate_stops
from askless.core.session.rows.walks import SimulatedRows
from askless.core.session.state import Answer
from tests import strategies
from tests.cascades import cascades
from tests.levels import at_most
from tests.panels import make_ladder, with_panels, with_rules
from tests.sessions import NEVER


def steps_of(ensemble, state, row):
    """The forecast and what is spent, from the beginning of a session to its end."""
    told = []
    while True:
        told.append((machine.forecast(ensemble, state), state.spent))
        question = machine.next_question(ensemble, state)
        if question is None or state.stop_reason is not None:
            return told
        revealed = sorted(question.feature_idxs, key=lambda idx: math.isnan(row[idx]))
        answers = [
            Answer(idx, "unavailable")
            if math.isnan(row[idx])
            else Answer(idx, "value", float(row[idx]))
            for idx in revealed
        ]
        state = machine.observe(ensemble, state, answers)


@pytest.mark.slow
@at_most(30)
@given(strategies.ensembles() | cascades(), st.data())
def test_traces_are_the_sessions_of_the_machine_step_by_step(ensemble, data):
    assert_traced(
        ensemble, data.draw(st.sampled_from(list_serving_policies(ensemble))), data
    )


@at_most(30)
@given(with_rules(with_panels(strategies.stump_ensembles())), st.data())
def test_traces_of_many_rows_are_their_sessions(ensemble, data):
    assert_traced(ensemble, data.draw(st.sampled_from(("panels", "adaptive"))), data)


def assert_traced(ensemble, policy, data):
    rows = data.draw(strategies.tables(ensemble.catalogue, max_rows=3))
    budgets = sorted(data.draw(st.sets(st.integers(0, 9_000_000), max_size=2)))
    # What is drawn between missing members of one bundle, walks don't follow.
    catalogue = ensemble.catalogue
    for group_idx in np.unique(catalogue.group_idxs[catalogue.is_bundled]):
        members = np.flatnonzero(catalogue.group_idxs == group_idx)
        is_lost = np.isnan(rows[:, members]).all(axis=1).any() and members.size > 1
        assume(not (policy.startswith("sample") and is_lost))
    limits = np.array([*budgets, UNLIMITED])
    simulated = SimulatedRows(rows, limits, seed=3, streams=range(len(rows)))

    found = list(POLICIES[policy].trace(ensemble, simulated))

    for traces, budget in zip(found, [*budgets, None], strict=True):
        for number, row in enumerate(rows):
            state = machine.start(
                ensemble, budget, 3, policy=policy, stop=NEVER, stream=number
            )
            told = steps_of(ensemble, state, row)
            told += [told[-1]] * (traces.labels.shape[1] - len(told))
            chances = [one.probabilities[one.label] for one, _ in told]
            assert traces.labels[number].tolist() == [one.label for one, _ in told]
            assert np.allclose(traces.confidences[number], chances, atol=1e-9)
            assert traces.spends[number].tolist() == [spent for _, spent in told]
            assert np.allclose(traces.chances[number], told[-1][0].probabilities)


@pytest.mark.parametrize("policy", ["ordered", "panels"])
def test_no_row_has_no_trace(ensemble, policy):
    ensemble = replace(ensemble, panels=make_ladder(ensemble, [(0, 1)]))
    simulated = SimulatedRows(np.empty((0, 2)), np.array([5]), 0, range(0))

    (found,) = POLICIES[policy].trace(ensemble, simulated)

    assert found.labels.shape == (0, 1)


def traces_of(confidences, labels, spends) -> Traces:
    shape = np.shape(labels)
    return Traces(
        np.array(confidences, float),
        np.array(labels).reshape(shape),
        np.array(spends),
        np.zeros((shape[0], 2)),
    )


def naive_stop(confidences, labels, spends, rule, bounds):
    """Stratum, whether the label differs, and the spend of one session's stop."""
    for confidence, label, spent in zip(confidences, labels, spends, strict=True):
        stratum = sum(spent >= bound for bound in bounds)
        if confidence >= rule.threshold and rule.opens[stratum]:
            return stratum, label != labels[-1], spent
    return stratum, False, spent


@given(st.integers(0, 99), st.integers(1, 6), st.integers(1, 5))
def test_stops_are_counted_as_by_hand(seed, n_rows, n_steps):
    random = np.random.default_rng(seed)
    shape = (n_rows, n_steps)
    traces = traces_of(
        random.uniform(0.5, 1.0, shape),
        random.integers(0, 3, shape),
        np.sort(random.integers(0, 9, shape), axis=1),
    )

    found = locate_stops(traces, EARLY_RULES, (3, 6))
    counts = found.count()

    for place, rule in enumerate(EARLY_RULES):
        sessions = zip(traces.confidences, traces.labels, traces.spends, strict=True)
        stops = [naive_stop(*map(list, session), rule, (3, 6)) for session in sessions]
        for stratum in range(3):
            there = [differs for at, differs, _ in stops if at == stratum]
            assert counts[place, stratum] == len(there)
            assert counts[place, 3 + stratum] == sum(there)
        assert found.spends[place].tolist() == [spent for *_, spent in stops]
        is_end = found.labels[place] == traces.labels[:, -1]
        assert found.differs[place].tolist() == (~is_end).tolist()
        assert found.differs[place].tolist() == [differs for _, differs, _ in stops]


def test_stratum_begins_at_its_bound_and_closed_ones_go_on():
    traces = traces_of([[0.9, 0.9, 0.9]], [[0, 1, 1]], [[2, 3, 9]])
    opens = [(True, True, True), (False, True, True), (False, False, True)]

    counts = [
        locate_stops(traces, [EarlyRule(0.9, opening)], (3, 6)).count()[0].tolist()
        for opening in opens
    ]

    assert counts == [[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]

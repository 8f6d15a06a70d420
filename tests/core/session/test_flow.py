"""The questions of a session as a tree: where answers lead, and how much is found."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from askless.core.model.hypotheses import Stump
from askless.core.session import machine
from askless.core.session.plans.flow import (
    FlowAnswers,
    FlowBounds,
    FlowNode,
    compute_flow,
)
from askless.core.session.state import Answer
from tests.app.clinic import clinic
from tests.panels import make_ladder
from tests.sessions import small_ensemble
from tests.small import ensemble_of

UNIT = 1_000_000


def nodes(root: FlowNode) -> Iterator[FlowNode]:
    yield root
    for child in root.children:
        yield from nodes(child)


def holds(answers: FlowAnswers, value: float) -> bool:
    if math.isnan(value):
        return answers.has_none
    if answers.codes:
        return int(value) in answers.codes
    return any(low < value <= high for low, high in answers.ranges)


def test_answers_lead_where_a_session_goes() -> None:
    ensemble = clinic()
    root = compute_flow(ensemble, 20 * UNIT)
    state = machine.start(ensemble, 20 * UNIT)
    idx = root.question.feature_idx

    for value in (*np.linspace(30, 80, 23).tolist(), math.nan):
        is_none = math.isnan(value)
        answer = Answer(idx, "unavailable") if is_none else Answer(idx, "value", value)
        after = machine.observe(ensemble, state, [answer])
        (child,) = (child for child in root.children if holds(child.answers, value))
        forecast = machine.forecast(ensemble, after)
        question = machine.next_question(ensemble, after)
        assert child.stop_reason == after.stop_reason
        if after.stop_reason is None:
            assert child.question.feature_idx == question.feature_idx
            assert child.answers.class_idx == 1
        else:
            assert child.answers.class_idx == forecast.label == child.forecast.label
        low, high = child.answers.chances
        assert low <= forecast.probabilities[child.answers.class_idx] <= high


def test_of_several_classes_the_label_before_the_question_has_the_chances() -> None:
    stumps = [Stump(0, 0.5, (-1, 1, -1)), Stump(1, 0.5, (1, -1, -1))]
    ensemble = ensemble_of(stumps, n_classes=3, priors=(0.2, 0.3, 0.5))
    root = compute_flow(ensemble, None)

    assert root.forecast.label == 2
    assert any(child.question for child in root.children)
    for child in root.children:
        usual = child.forecast.label if child.question is None else 2
        assert child.answers.class_idx == usual


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_nothing_dearer_than_the_budget_is_asked(policy: str) -> None:
    for budget in (0, UNIT, 9 * UNIT, 30 * UNIT):
        for node in nodes(compute_flow(clinic(policy), budget)):
            assert node.spent <= budget
            if node.question is not None:
                assert node.spent + node.question.price <= budget
            assert (node.question is None) == (node.stop_reason is not None)


def find_parting(root: FlowNode) -> FlowNode:
    """Return the first node whose answers lead different ways."""
    while len(root.children) == 1:
        (root,) = root.children
    return root


def test_depth_counts_from_where_answers_part_and_what_goes_on_is_told() -> None:
    def levels(node: FlowNode) -> int:
        return max((1 + levels(child) for child in node.children), default=0)

    for depth in (1, 2, 3):
        root = compute_flow(clinic(), None, FlowBounds(depth=depth))
        assert levels(root) > levels(find_parting(root)) == depth
        # The third question after the parting is the last.
        assert any(node.goes_on for node in nodes(root)) == (depth < 3)
    assert not compute_flow(clinic(), 0).goes_on


def test_nodes_are_bounded() -> None:
    root = compute_flow(clinic(), None, FlowBounds(depth=9, n_nodes=5))

    # The last question that is followed may go beyond it by its own answers.
    assert 5 <= sum(1 for _ in nodes(root)) <= 8


def test_a_larger_flow_says_the_same_of_its_first_questions() -> None:
    def bare(node: FlowNode, depth: int) -> FlowNode:
        children = (
            tuple(bare(child, depth - 1) for child in node.children) if depth else ()
        )
        return replace(node, children=children)

    small, large = (
        find_parting(compute_flow(clinic(), None, FlowBounds(depth)))
        for depth in (1, 3)
    )

    assert large != small
    assert bare(large, 1) == small


def test_borders_of_a_number_are_its_cuts() -> None:
    root = compute_flow(clinic(), UNIT)

    ends = {
        end for child in root.children for pair in child.answers.ranges for end in pair
    }
    assert ends <= {-math.inf, 50.5, 60.5, math.inf}
    assert 50.5 in ends


@pytest.mark.slow
def test_border_between_values_that_were_tried_is_looked_for() -> None:
    cuts = np.arange(100) + 0.5
    signs = [1 if cut > 70 else -1 for cut in cuts]
    stumps = [
        Stump(0, float(cut), (sign,)) for cut, sign in zip(cuts, signs, strict=True)
    ]
    ensemble = ensemble_of(stumps)
    root = compute_flow(ensemble, None, FlowBounds(1))

    labels = {}
    for value in np.arange(101.0):
        state = machine.start(ensemble, None)
        after = machine.observe(ensemble, state, [Answer(0, "value", value)])
        labels[value] = machine.forecast(ensemble, after).label
    for value, label in labels.items():
        (child,) = (child for child in root.children if holds(child.answers, value))
        assert child.forecast.label == label


def test_of_a_bundle_one_price_is_paid() -> None:
    root = compute_flow(clinic(), None, FlowBounds(depth=6, n_nodes=400))

    bundles = [
        node
        for node in nodes(root)
        if node.question and len(node.question.feature_idxs) > 1
    ]
    assert bundles
    for node in bundles:
        for child in node.children:
            price = 0 if not child.answers.ranges else node.question.price
            assert child.spent - node.spent == price


def test_panels_have_other_questions_where_no_answer_comes() -> None:
    ensemble = small_ensemble([1, 2, 3], policy="panels")
    ensemble = replace(ensemble, panels=make_ladder(ensemble, [(0, 1), (2,)]))
    root = compute_flow(ensemble, 6)

    assert root.question is not None
    told = [child.answers for child in root.children]
    assert sum(leaf.has_none for leaf in told) == 1
    ends = sorted(pair for leaf in told for pair in leaf.ranges)
    assert (ends[0][0], ends[-1][1]) == (-math.inf, math.inf)
    assert all(pair[1] == after[0] for pair, after in pairwise(ends))


def test_categories_of_panels_are_told_apart() -> None:
    ensemble = replace(clinic(), panels=make_ladder(clinic(), [(1,)]), policy="panels")
    root = compute_flow(ensemble, None, FlowBounds(1))

    codes = sorted(code for child in root.children for code in child.answers.codes)
    assert codes == [0, 1]
    assert not any(child.answers.ranges for child in root.children)

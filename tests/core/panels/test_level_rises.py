"""Panels lose no more without a member than parts of them do."""

from askless.core.model.ladder.panels import Panel
from askless.core.panels.predictors.blending import cap_rises


def panel(order: tuple[int, ...], loss: float, *rises: float) -> Panel:
    return Panel(order, loss, frozenset(), None, rises)


def rises_of(*panels: Panel) -> dict[tuple[int, ...], tuple[float, ...]]:
    return {rise.feature_idxs: rise.rises for rise in cap_rises(panels)}


def test_no_panel_loses_more_without_a_member_than_a_part_without_it():
    found = rises_of(panel((0, 1), 0.4, 0.3, 0.1), panel((0,), 0.5, 0.1))

    # Without 0 the part loses .6, and the whole .2 more than its .4.
    assert found[0, 1][0] == 0.2


def test_no_panel_loses_more_without_a_member_than_a_part_that_never_had_it():
    found = rises_of(panel((0, 1), 0.4, 0.05, 0.3), panel((0,), 0.5, 0.1))

    assert found[0, 1] == (0.05, 0.1)


def test_what_a_panel_gains_by_is_left_as_it_was():
    found = rises_of(panel((0, 1), 0.4, 0.05, 0.02), panel((0,), 0.5, 0.1))

    assert found == {(0, 1): (0.05, 0.02), (0,): (0.1,)}


def test_panels_that_share_a_part_only_say_nothing_of_each_other():
    found = rises_of(panel((0, 1), 0.4, 0.3, 0.1), panel((0, 2), 0.4, 0.05, 0.1))

    assert found[0, 1] == (0.3, 0.1)


def test_no_rise_is_below_zero():
    found = rises_of(panel((0, 1), 0.5, 0.1, 0.1), panel((0,), 0.45, 0.1))

    assert min(found[0, 1]) == 0.0

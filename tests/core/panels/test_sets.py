"""Sets of features: what each is worth, how they are made, and which are chosen."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ladder.blends import to_chances
from askless.core.panels import sets
from askless.core.panels.effort import EFFORTS
from askless.core.panels.predictors.chances import fit_link, mean_log_loss, to_logits
from askless.core.panels.predictors.ridges import (
    WIDTH,
    compute_median_distance,
    signed_targets,
)
from askless.core.panels.purchases import Shop
from askless.core.panels.rows import PanelRows
from askless.core.panels.search import QUICK_PENALTY, SetSearch, kernel_logits
from askless.core.panels.sets import (
    choose_sets,
    choose_single_offer,
    compute_stump_gains,
    eliminate_backward,
    find_pairs,
    improve_set,
    make_candidate_sets,
    propose_sets,
    select_forward,
    swap_offers,
)
from askless.core.table.dataset import Dataset
from tests.panels import random_rows, shorten
from tests.small import finish, make_dataset, table_of


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    shorten(monkeypatch)


def search_of(dataset: Dataset) -> SetSearch:
    rows = PanelRows(dataset, 0)
    return SetSearch(rows, Shop(dataset.catalogue, rows.is_useful), EFFORTS["standard"])


def telling(shares, costs=None, n_rows=24, groups=(), members=()) -> SetSearch:
    """Features of 0 and 1, each telling the class in so many of the rows."""
    random = np.random.default_rng(0)
    targets = np.arange(n_rows) % 2
    columns = []
    for share in shares:
        is_wrong = random.permutation(n_rows) >= share * n_rows
        columns.append(np.where(is_wrong, 1 - targets, targets))
    costs, names = costs or [10] * len(shares), dict(members)
    features = (
        Feature(f"f{idx}", cost=cost, group=names.get(idx))
        for idx, cost in enumerate(costs)
    )
    return search_of(table_of(columns, targets, Catalogue(tuple(features), groups)))


def choose(search: SetSearch, budgets, orders) -> list[tuple[int, ...]]:
    """The sets that a search chooses among those that it proposes."""
    proposals = finish(propose_sets(search, budgets, orders))
    return finish(choose_sets(search, budgets, proposals))


def interacting() -> SetSearch:
    """Two features of which neither tells anything alone."""
    one, other = np.array([0, 0, 1, 1] * 6), np.array([0, 1, 0, 1] * 6)
    return search_of(table_of([one, other], one != other))


def test_loss_of_no_feature_is_that_of_the_class_shares():
    search = telling([0.9])
    rows = search.rows

    expected = -rows.weights @ np.log(rows.priors[rows.targets]) / rows.n_rows

    assert search.loss(()) == pytest.approx(expected)


def test_loss_of_a_set_does_not_depend_on_its_order_and_is_found_once():
    dataset = random_rows().dataset
    shop = Shop(dataset.catalogue, np.ones(6, np.bool_))
    search = SetSearch(random_rows(), shop, EFFORTS["standard"])

    one = search.loss((4, 0))
    search.scores.clear()

    assert search.loss((0, 4)) == one
    assert search.scores == {}


def test_feature_that_tells_more_loses_less():
    search = telling([0.95, 0.6])

    assert search.loss((0,)) < search.loss((1,))


def test_loss_is_of_trees_and_a_kernel_together():
    search = telling([0.9, 0.7])
    rows, idxs = search.rows, [0, 1]

    both = [search.tree_scores(idxs), kernel_logits(rows, idxs, search.few)]

    mean = to_logits(np.mean([to_chances(one) for one in both], axis=0))
    expected = mean_log_loss(mean, rows.targets, rows.weights)
    assert search.loss(idxs) == pytest.approx(expected)


def rare_rows() -> Dataset:
    values = np.random.default_rng(0).integers(0, 3, (30, 2)).astype(float)
    return make_dataset(values, np.arange(30) >= 28, 2)


def grouped_rows() -> Dataset:
    values = np.random.default_rng(0).integers(0, 3, (24, 2)).astype(float)
    groups = np.arange(24) // 2
    return make_dataset(values, np.arange(24) % 2, 2, row_groups=groups)


@pytest.mark.parametrize(
    "dataset", [rare_rows(), grouped_rows()], ids=["rare", "groups"]
)
def test_rare_classes_and_rows_that_belong_together_are_scored_by_trees(dataset):
    search = search_of(dataset)
    rows = search.rows

    expected = mean_log_loss(search.tree_scores((0, 1)), rows.targets, rows.weights)

    assert search.loss((0, 1)) == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_leaves_out_each_row_as_fitting_again_without_it(n_classes):
    rows, idxs = random_rows(1, n_classes, 15), (0, 4, 5)
    every = np.arange(rows.n_rows)

    found = kernel_logits(rows, idxs, every)

    laid = rows.columns.take(idxs).standardise(rows.dataset.values)
    apart = np.sqrt(((laid[:, None] - laid) ** 2).sum(axis=2))
    kernel = np.exp(-apart / (WIDTH * compute_median_distance(apart[::2, 1::2] ** 2)))
    wanted = signed_targets(rows)
    means = rows.weights @ wanted / rows.weights.sum()
    votes = np.empty_like(wanted)
    for row in every:
        kept = every != row
        held = kernel[kept][:, kept] + QUICK_PENALTY * np.diag(1 / rows.weights[kept])
        votes[row] = means + kernel[row, kept] @ np.linalg.solve(
            held, (wanted - means)[kept]
        )
    slope, offsets = fit_link(votes, rows.targets, rows.weights)
    # A kernel is of single precision.
    np.testing.assert_allclose(found, slope * votes + offsets, atol=1e-3)


def test_gain_shows_what_tells_the_class():
    gains = compute_stump_gains(telling([0.6, 0.95, 0.5]), ())

    assert gains.argmax() == 1


def test_gain_shows_an_interaction_with_what_was_bought():
    search = interacting()

    nothing, after = compute_stump_gains(search, ()), compute_stump_gains(search, (0,))

    assert nothing.max() == pytest.approx(0.0, abs=1e-9)
    assert after[1] > 1.0


def test_forward_buys_what_gains_most_and_then_the_rest():
    search = telling([0.6, 0.95, 0.8])

    order = select_forward(search, 0.7, 30)

    assert order[0] == 1
    assert set(order) == {0, 1, 2}


def test_forward_weighs_gains_by_prices_to_the_power():
    search = telling([0.95, 0.85], costs=[200, 10])

    cheap, plain = (select_forward(search, power, 210) for power in (1.0, 0.0))

    assert (cheap[0], plain[0]) == (1, 0)


@pytest.mark.parametrize("budget", [0, 9, 25, 31])
def test_forward_never_spends_more_than_the_budget(budget):
    search = telling([0.6, 0.95, 0.8], costs=[10, 15, 5])

    order = select_forward(search, 0.7, budget)

    cheapest = min([p for i, p in enumerate([10, 15, 5]) if i not in order], default=99)
    assert search.shop.price(order) <= budget
    assert search.shop.price(order) + cheapest > budget


def test_forward_goes_on_from_a_beginning_among_some():
    search = telling([0.6, 0.95, 0.8])

    order = select_forward(search, 0.7, 30, among=(0, 2), begin=(0,))

    assert order == (0, 2)


def test_forward_buys_several_at_once_where_many_are_bought_and_all_fit():
    search = telling([0.6] * 19 + [0.9, 0.85, 0.5])
    begin = tuple(range(19))

    orders = [select_forward(search, 0.7, budget, begin=begin) for budget in (205, 210)]

    # Two at once, of which the second may not fit any more.
    assert [order[19:] for order in orders] == [(19,), (19, 20)]
    # Trees were grown before that, and once afterwards for either.
    assert len(search.scores) == 3


def test_forward_opens_a_group_whose_fee_pays_with_several_members():
    group = Group("g", fee=30)
    members = {1: "g", 2: "g", 3: "g"}
    costs = [20, 10, 10, 10]
    search = telling([0.9, 0.88, 0.88, 0.88], costs, 24, (group,), members)

    order = select_forward(search, 0.7, 60)

    assert set(order) == {1, 2, 3}


def test_feature_that_tells_most_is_dropped_last():
    search = telling([0.55, 0.95, 0.6, 0.5])

    order = eliminate_backward(search, 15)

    assert set(order) == {0, 1, 2, 3}
    assert order[0] == 1


def test_every_candidate_fits_its_budget():
    rows = random_rows(2)
    search = search_of(rows.dataset)
    budgets = [1_000_000, 4_000_000, 9_000_000]

    pool = finish(make_candidate_sets(search, budgets, [range(6)]))

    prices = [[search.shop.price(one) for one in made] for made in pool]
    assert all(max(row) <= budget for row, budget in zip(prices, budgets, strict=True))
    # The given order, forward selection for the largest and this budget, backward.
    assert [len(made) for made in pool] == [4] * 3


def test_chosen_sets_fit_and_are_never_worse_than_that_of_the_budget_before():
    search = telling([0.7, 0.95, 0.8, 0.6], costs=[5, 40, 10, 20])
    budgets = [5, 20, 40, 80]

    chosen = choose(search, budgets, [(3, 2, 1, 0)])

    losses = [search.loss(idx) for idx in chosen]
    prices = [search.shop.price(idx) for idx in chosen]
    assert losses == sorted(losses, reverse=True)
    assert all(p <= budget for p, budget in zip(prices, budgets, strict=True))
    assert 1 in chosen[-1]


def exclusive_or(costs: list[int]) -> SetSearch:
    """Two features that tell together alone, a weak one and three of noise."""
    random = np.random.default_rng(3)
    columns = random.integers(0, 2, (6, 400)).astype(float)
    # Most rows have the greatest code, and are a half all the same.
    columns[1] = random.random(400) < 0.7
    targets = columns[1] != columns[4]
    is_told = random.random(400) < 0.2
    columns[0, is_told] = targets[is_told]
    features = (Feature(f"f{idx}", cost=cost) for idx, cost in enumerate(costs))
    return search_of(table_of(columns, targets, Catalogue(tuple(features))))


def test_pairs_that_tell_together_alone_are_found():
    search = exclusive_or([10] * 6)

    assert find_pairs(search, search.shop.offers) == [(1, 4)]


def test_features_that_tell_each_for_itself_are_no_pairs():
    search = telling([0.9, 0.8, 0.7, 0.5], n_rows=400)

    assert find_pairs(search, search.shop.offers) == []


def test_pairs_are_not_looked_for_among_too_many_offers(monkeypatch):
    search = exclusive_or([10] * 6)
    monkeypatch.setattr(sets, "MOST_OFFERS", 5)

    assert find_pairs(search, search.shop.offers) == []


def test_small_budget_gets_the_pair_that_it_pays():
    search = exclusive_or([5, 10, 1, 1, 10, 1])

    cheap, paid = choose(search, [19, 20], [range(6)])

    assert not {1, 4} <= set(cheap)
    assert {1, 4} <= set(paid)


def test_swap_exchanges_what_tells_little():
    search = telling([0.5, 0.95, 0.6])

    found = swap_offers(search, (0,), 10, (1, 2, 0))

    assert found == (1,)


def test_swap_stays_where_nothing_is_better():
    search = telling([0.95, 0.5, 0.6])

    assert swap_offers(search, (0,), 10, (1, 2, 0)) == (0,)


def search_of_swaps(search, most):
    search.effort = search.effort._replace(max_swaps=most)
    return search


def test_swaps_are_tried_so_many_times_at_most():
    search = telling([0.5 + 0.02 * idx for idx in range(9)])
    # Each feature is better than the one before it.
    search.losses = {frozenset((idx,)): np.full(24, 1.0 - idx / 10) for idx in range(9)}
    search.losses[frozenset()] = np.full(24, 2.0)

    found = [
        swap_offers(search_of_swaps(search, most), (0,), 10, range(1, 9))
        for most in (0, 1, 2, 9)
    ]

    assert found == [(0,), (1,), (2,), (2,)]


@pytest.mark.parametrize(
    ("budget", "named", "n_tried"),
    [(80, (), 6), (300, (), 0), (300, (300,), 6), (300, (299,), 0)],
)
def test_small_and_named_budgets_alone_get_swaps(budget, named, n_tried):
    search = search_of_swaps(telling([0.5] * 30), 6)
    search.named = frozenset(named)
    # Each swap is better: one feature after the other goes.
    search.losses = PlayedLosses()

    improve_set(search, (), tuple(range(8)), budget, ())

    assert len(search.losses) == (n_tried + 1 if n_tried else 0)


class PlayedLosses(dict):
    """The loss of a set is its number of features; sets asked for are remembered."""

    def __contains__(self, key) -> bool:
        self[key] = np.full(24, float(len(key)))
        return True


def test_named_budget_above_everything_is_searched_as_that_price():
    search = telling([0.5] * 30)
    search.named = frozenset({5_000})

    assert search.is_thorough(300)
    assert not search.is_thorough(299)


@pytest.mark.parametrize(("budget", "expected"), [(20, (1,)), (19, (2,)), (4, (3, 0))])
def test_single_offer_that_loses_least_is_picked_if_it_is_affordable(budget, expected):
    search = telling([0.5] * 4, costs=[5, 20, 10, 10])
    known = {(0,): 0.9, (1,): 0.1, (2,): 0.2, (3,): 0.5, (0, 3): 0.3}
    search.losses = {frozenset(k): np.full(24, loss) for k, loss in known.items()}

    assert choose_single_offer(search, search.shop.offers, budget, (3, 0)) == expected


def test_single_offer_that_is_no_better_is_passed_over():
    search = telling([0.5] * 2)
    known = {(0,): 0.5, (1,): 0.4, (0, 1): 0.4}
    search.losses = {frozenset(k): np.full(24, loss) for k, loss in known.items()}

    assert choose_single_offer(search, search.shop.offers, 20, (0, 1)) == (0, 1)


def test_chosen_set_may_be_a_single_dear_offer():
    search = telling([0.55, 0.55, 0.95], costs=[10, 10, 50])

    chosen = choose(search, [20, 50], [(0, 1, 2)])

    assert chosen[-1] == (2,)
    assert 2 not in chosen[0]


def test_set_of_the_budget_before_is_kept_where_more_features_lose_more():
    # Without swaps, which would drop the third feature.
    search = search_of_swaps(telling([0.9, 0.6, 0.6], costs=[5, 10, 40]), 0)
    known = {(): 1.0, (0,): 0.7, (1,): 0.7, (2,): 0.7, (0, 1): 0.2, (0, 1, 2): 0.6}
    search.losses = {frozenset(k): np.full(24, loss) for k, loss in known.items()}

    chosen = choose(search, [15, 100], [(0, 1, 2)])

    assert [set(feature_idxs) for feature_idxs in chosen] == [{0, 1}, {0, 1}]


@pytest.mark.parametrize(("excess", "is_kept"), [(0.1, True), (-0.1, False)])
def test_set_of_the_budget_before_is_kept_only_where_it_is_better_by_more_than_luck(
    excess, is_kept
):
    search = telling([0.9, 0.6])
    luck = np.tile([1.0, -1.0], 12) / np.sqrt(24)
    search.losses = {
        frozenset((0,)): np.full(24, 0.5),
        # By a standard error on average, and a little more or less.
        frozenset((1,)): 0.5 + luck + np.sqrt(1 / 24) * (1 + excess) / np.sqrt(24),
    }

    assert search.is_better((0,), (1,)) == is_kept
    assert not search.is_better((1,), (0,))


def leave_out(search: SetSearch, fold: int = 0) -> SetSearch:
    """The same search, where the rows of a fold have no say."""
    return replace(search, left_out=fold)


def test_rows_of_a_fold_have_no_say_in_a_search_without_it():
    search = telling([0.9, 0.6])
    fold, *others = search.held_out.folds
    losses = np.full(24, 0.5)
    losses[np.searchsorted(search.held_out.row_idxs, fold)] = 9.0
    search.losses = {frozenset((0,)): losses, frozenset((1,)): np.full(24, 0.7)}

    judged = leave_out(search)

    assert len(others) == 3
    assert search.loss((0,)) > search.loss((1,))
    assert judged.loss((0,)) == pytest.approx(0.5)
    assert judged.is_better((0,), (1,))
    assert not search.is_better((0,), (1,))


def test_sets_of_a_search_without_a_fold_are_chosen_by_other_folds_alone():
    budgets, orders = [10, 20], [(0, 1, 2), (2, 1, 0)]
    search = search_of_swaps(telling([0.8, 0.7, 0.6]), 3)
    proposals = finish(propose_sets(search, budgets, orders))
    finish(choose_sets(search, budgets, proposals))
    told = dict(search.losses)
    fold = np.searchsorted(search.held_out.row_idxs, search.held_out.folds[0])

    def choose_if_fold_prefers(favourite: int) -> list[list[tuple[int, ...]]]:
        """Let the rows of the fold lose least on sets with a feature."""
        search.losses.clear()
        for key, losses in told.items():
            search.losses[key] = losses.copy()
            search.losses[key][fold] = 0.0 if favourite in key else 99.0
        searches = search, leave_out(search)
        return [finish(choose_sets(each, budgets, proposals)) for each in searches]

    (of_all, without), (of_all_too, without_too) = map(choose_if_fold_prefers, (0, 2))

    assert without == without_too
    assert of_all != of_all_too
    assert (0,) in of_all
    assert (2,) in of_all_too


def test_search_without_a_fold_judges_only_sets_that_were_proposed():
    search = telling([0.8, 0.9, 0.7, 0.6], costs=[5, 40, 10, 20])
    budgets = [5, 20, 40, 75]
    proposals = finish(propose_sets(search, budgets, [(3, 2, 1, 0)]))
    finish(choose_sets(search, budgets, proposals))
    known = set(search.losses)

    for fold in range(4):
        finish(choose_sets(leave_out(search, fold), budgets, proposals))

    assert set(search.losses) == known


def test_swaps_without_a_fold_pass_over_what_was_not_proposed():
    search = telling([0.5, 0.95, 0.6])
    search.row_losses((0,))
    search.row_losses((2,))
    judged = leave_out(search)

    # The second feature alone, which nobody proposed, would be better.
    assert swap_offers(judged, (0,), 10, (1, 2, 0)) == (0,)
    assert set(search.losses) == {frozenset((0,)), frozenset((2,))}
    search.row_losses((1,))
    assert swap_offers(judged, (0,), 10, (1, 2, 0)) == (1,)


def test_any_set_may_be_judged_by_a_search_of_all_rows():
    search = telling([0.5, 0.95])

    assert search.can_judge((0,))
    assert not leave_out(search).can_judge((0,))
    search.row_losses((0,))
    assert leave_out(search).can_judge((0,))


def test_forward_selection_is_made_once_and_remembered():
    search = telling([0.6, 0.95, 0.8])
    order = select_forward(search, 0.7, 30)
    [key] = search.selected

    search.selected[key] = (2,)

    assert order != (2,)
    assert select_forward(leave_out(search), 0.7, 30) == (2,)
    assert select_forward(search, 0.7, 20) != (2,)

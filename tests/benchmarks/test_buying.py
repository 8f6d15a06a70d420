"""The tiers market, who buys on it, and the document of what they come to."""

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="lightgbm, of the group `bench`, is absent")

from askless.core.arrays import FloatArray
from askless.core.table.dataset import Dataset
from benchmarks.buying import __main__ as command
from benchmarks.buying import known, one_step, tables, tiers
from benchmarks.buying.market import Market, Vendor
from benchmarks.buying.walks import Walk, choose_threshold, follow, walk_order
from benchmarks.buying.waterfall import OrderSearch, list_near
from benchmarks.documents import Place
from benchmarks.lines import Line, Lines

PARTIES = ("waterfall", "cheapest", "one_step", "everything", "ours")


def draw_random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_prices_differ_by_600() -> None:
    prices = tiers.MARKET.prices

    assert prices.max() / prices.min() == pytest.approx(600)
    assert (np.diff(prices) > 0).all()


def test_a_wrong_reading_is_near_more_often_than_far() -> None:
    targets = np.repeat(np.arange(4), 5000)

    read = tiers.read_tiers(targets, 0.55, draw_random())

    shares = np.bincount(abs(read - targets), minlength=4) / targets.size
    np.testing.assert_allclose(shares[:2], [0.55, 0.36], atol=0.02)
    assert shares[1] > 3 * shares[2:].sum()


def test_a_case_that_one_vendor_does_not_know_is_less_known_to_others() -> None:
    answers = tiers.MARKET.draw_answers(20_000, draw_random())

    for vendor in range(8):
        others = np.delete(answers, vendor, axis=1).mean(axis=1)
        assert (
            others[~answers[:, vendor]].mean()
            < others[answers[:, vendor]].mean() - 0.05
        )


def test_a_vendor_answers_all_its_features_or_none() -> None:
    cases = tiers.make_cases(200, draw_random())

    is_missing = np.isnan(cases.values)
    for vendor in range(8):
        own = is_missing[:, tiers.MARKET.vendor_of == vendor]
        assert (own.all(axis=1) == own.any(axis=1)).all()


def test_seconds_are_log_normal_by_vendor() -> None:
    seconds = tiers.MARKET.draw_seconds(20_000, draw_random())

    medians, spreads = zip(*(v.seconds for v in tiers.MARKET.vendors), strict=True)
    np.testing.assert_allclose(np.median(seconds, axis=0), medians, rtol=0.05)
    np.testing.assert_allclose(np.log(seconds).std(axis=0), spreads, rtol=0.05)


def test_cases_stop_as_soon_as_they_are_ready_and_pay_what_they_asked() -> None:
    chances = [
        np.array([[0.5, 0.5], [0.6, 0.4]]),
        np.array([[0.9, 0.1], [0.3, 0.7]]),
        np.array([[0.1, 0.9], [0.2, 0.8]]),
    ]
    walk = walk_order(chances, np.array([0.1, 0.5]))

    ends = follow(walk, np.array([0, 1]), np.array([0.0, 0.65, 0.75, 2.0]))

    np.testing.assert_allclose(ends.spends, [0.0, 0.1, 0.35, 0.6])
    np.testing.assert_allclose(ends.errors, [0.5, 0.0, 0.0, 0.5])


def test_the_threshold_weighs_spend_and_errors() -> None:
    walk = Walk(
        np.array([[0.0, 0.0], [1.0, 1.0]]),
        np.array([[0, 0], [0, 1]]),
        np.array([[0.9, 0.5], [1.0, 1.0]]),
    )
    targets = np.array([0, 1])

    dear, cheap = (choose_threshold(walk, targets, price)[1] for price in (4.0, 0.1))

    assert dear == pytest.approx(0.5)
    assert cheap == pytest.approx(0.05)


def test_orders_nearby_differ_by_one_step_and_never_buy_twice() -> None:
    near = list(list_near((0, 1), 3))

    assert {(1, 0), (0,), (1,), (2, 0, 1), (0, 2, 1), (0, 1, 2)} <= set(near)
    assert all(len(set(order)) == len(order) for order in near)


MARKET = Market(
    (
        Vendor(0.20, 1.0, {"noise": "number"}),
        Vendor(0.02, 0.9, {"hint": "number"}),
        Vendor(0.50, 0.9, {"truth": 2}),
    ),
    ("no", "yes"),
    obscurity=(1.0, 9.0),
    dimmed=0.5,
)


def make_small(n_rows: int = 240) -> Dataset:
    """Dear noise, a cheap hint and the truth, which is the dearest."""
    random = draw_random(1)
    targets = random.integers(0, 2, n_rows)
    columns: dict[str, FloatArray] = {
        "noise": random.normal(size=n_rows),
        "hint": 2.0 * targets + random.normal(size=n_rows),
        "truth": targets.astype(np.float64),
    }
    return MARKET.hide(columns, targets, random)


def test_the_waterfall_leaves_out_what_tells_nothing() -> None:
    search = OrderSearch(MARKET, make_small(), 5.0, {})

    assert search.find_best() == (1, 2)


def test_one_step_buys_each_vendor_once_and_the_telling_ones_first() -> None:
    cases = make_small()

    stopper = one_step.fit_stopper(MARKET, cases, cases, 0)

    spends = stopper.held_out.spends
    assert spends.shape == (4, cases.n_samples)
    np.testing.assert_allclose(spends[-1], MARKET.prices.sum())
    assert (np.diff(spends, axis=0) > 0).all()
    assert (spends[1] == 0.02).mean() > 0.9


@pytest.mark.parametrize("n_bought", [0, 4, 8])
def test_exact_chances_are_right_as_often_as_they_say(n_bought: int) -> None:
    cases = tiers.make_cases(4000, draw_random())
    is_known = np.less(tiers.MARKET.vendor_of, n_bought)

    chances, is_heavy = known.chances_of(np.where(is_known, cases.values, np.nan))

    is_right = chances.argmax(axis=1) == cases.targets
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert is_right.mean() == pytest.approx(chances.max(axis=1).mean(), abs=0.025)
    assert is_heavy.mean() == pytest.approx(0.55, abs=0.025)


def test_a_plan_buys_more_where_errors_cost_more() -> None:
    random = draw_random()
    cases, testing = tiers.make_cases(300, random), tiers.make_cases(200, random)
    played = []
    for error_price in (0.01, 20.0):
        plan = known.Plan(error_price)
        plan.fit(cases, random)
        played.append(plan.play(testing))

    (cheap, wrong), (dear, right) = played
    assert cheap < 0.02 < 0.5 < dear
    assert right < wrong - 0.2


def make_line(seed: int, n_train: int = 600, lost: float = 0.01) -> Line:
    """A seed where ours loses a share of errors at 60 % of the waterfall's spend."""
    party = {"spend": 0.5, "error": 0.2}
    own = {
        **party,
        "shares": [0.4, 0.6, 0.8],
        "spends": [0.2, 0.31, 0.4],
        "errors": [0.24, 0.2 + lost, 0.2],
    }
    records = {**dict.fromkeys(PARTIES, party), "ours": own}
    return {
        "at": dict.fromkeys(("5", "1", "25"), records),
        **{"n_train": n_train, "seed": seed, "core": "abc"},
        "seconds": dict.fromkeys(PARTIES, 60.0),
    }


def keep(*lines: Line) -> Lines:
    return {(line["n_train"], line["seed"]): line for line in lines}


def test_points_lost_are_interpolated_between_mean_budgets() -> None:
    records = tables.ask(make_line(0))

    spent, lost = tables.lose_played(records, 0.6)

    assert (spent, lost) == (pytest.approx(0.62), pytest.approx(1.0))
    # Spends .2 and .31 lose 4 points and 1.
    assert tables.lose_at(records, 0.6) == pytest.approx(1.0 + 3.0 / 11.0)
    assert tables.lose_at(records, 0.8) == pytest.approx(0.0)


@pytest.mark.parametrize(("lost", "is_reached"), [(0.005, "yes"), (0.03, "no")])
def test_goals_are_held_against_the_mean_and_the_seeds(lost, is_reached) -> None:
    lines = keep(*(make_line(seed, lost=lost) for seed in range(3)))

    at_60, at_80, *others = tables.write_bars(lines)

    assert at_60[:3] == (600, "1", "60")
    assert [row[1:3] for row in others[:2]] == [("5", "60"), ("5", "80")]
    assert (at_60[-1], at_80[-1]) == (is_reached, "yes")


def test_one_bad_seed_of_three_misses_the_goal() -> None:
    lost = (-0.02, -0.02, 0.03)
    lines = keep(*(make_line(seed, lost=of) for seed, of in enumerate(lost)))

    at_60, *_ = tables.write_bars(lines)

    assert (at_60[5], at_60[-1]) == ("2 of 3", "no")


def test_only_what_has_no_line_is_measured() -> None:
    sizes = command.Sizes((600, 2000), 10, 2)

    missing = command.list_missing(sizes, keep(make_line(0), make_line(1, 2000)))

    assert [*missing] == [(2000, 0), (600, 1)]


def test_the_document_has_each_seed_and_a_note_of_a_quick_run(
    tmp_path, monkeypatch
) -> None:
    quick = Place(tmp_path / "buying.json", tmp_path / "buying-evidence.md")
    monkeypatch.setattr(command, "QUICK", quick)

    command.write_document(keep(make_line(0), make_line(7)), quick)

    text = quick.document.read_text(encoding="utf-8")
    assert text.startswith("# Buying: error against spend\n\n> **A quick run**")
    assert "| 600 | 7 | 0.500 / 20.0 |" in text
    assert "| 600 | **mean** | 0.500 / 20.0 |" in text
    assert "| 600 | 0, 7 | abc | 1.0 |" in text

"""Money and seconds, by who plans the calls: python -m benchmarks.buying.timing.

On the tiers market (`benchmarks.buying.tiers`), whose vendors answer after log-normal
times. One model a seed, trained on 2,000 cases, plays 150 others. Three settings have
an error at $1 and a second at .02, .05 or .1 dollars, so that money and seconds weigh
alike; with an error at $5 nearly every case buys the dear slow vendor first, and there
is little to plan. All parties ask by the same policy, which knows the mean seconds of
each vendor and what they cost:

- ours: calls leave beside others where `choose_move` says so, three at once;
- one by one; all that the model reads at once; pairs: the next call and the one that
  is asked next if the first is awaited, and both are waited for.

Each total is money + seconds by their price, of all calls made; beside it stands the
same with errors at their price. Each seed is a line of build/buying/timing.jsonl.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.session.machine import decide_next_step, start
from askless.core.session.plans.overlap import (
    Awaited,
    Move,
    choose_move,
    draw_followers,
)
from askless.core.session.state import Aim, Pace, State
from askless.core.simulation.timed import Chooser, TimedEnd, play_in_time
from benchmarks import lines as kept_lines
from benchmarks.buying import ours
from benchmarks.buying.tiers import MARKET, make_cases
from benchmarks.data import MICROS
from benchmarks.documents import ROOT
from benchmarks.lines import Line

N_TRAIN, N_TEST, N_SEEDS = 2000, 150, 3
# Dollars: an error, and a second.
SETTINGS = ((1.0, 0.02), (1.0, 0.05), (1.0, 0.1), (5.0, 0.05))
AT_ONCE = 3
KEPT = ROOT / "build" / "buying" / "timing.jsonl"
VERSION = 1


def ask_all(ensemble: Ensemble, state: State, awaited: Sequence[Awaited]) -> Move:
    """Call every vendor that is left, and end as soon as the case is decided."""
    move = choose_move(ensemble, state, awaited[:AT_ONCE])
    if move.is_over:
        return move
    calls = {ensemble.catalogue.offer_of(call.feature_idx) for call in awaited}
    for offer in ensemble.catalogue.offers:
        is_open = offer not in calls and state.outcomes[offer[0]] is None
        if is_open and ensemble.is_used[list(offer)].any():
            return Move(offer[0])
    return Move(None)


class Pairs:
    """Calls two together, and waits for both."""

    def __init__(self) -> None:
        self.has_room = False

    def choose(
        self, ensemble: Ensemble, state: State, awaited: Sequence[Awaited]
    ) -> Move:
        """Return the next call, or the likeliest one after it."""
        is_first = not awaited
        if is_first:
            self.has_room = True
            return choose_move(ensemble, state, awaited)
        if not self.has_room:
            return Move(None)
        self.has_room = False
        alone = decide_next_step(ensemble, replace(state, held=0))
        followers = [
            idx for idx in draw_followers(ensemble, alone, awaited) if idx is not None
        ]
        return Move(max(followers, key=followers.count) if followers else None)


def choose_for(party: str) -> Chooser:
    """Return how a party chooses; each session has its own."""
    choosers: dict[str, Chooser] = {"all at once": ask_all, "pairs": Pairs().choose}
    return choosers.get(party, choose_move)


PARTIES = {"ours": AT_ONCE, "one by one": 1, "all at once": 8, "pairs": 2}


def play(
    ensemble: Ensemble,
    party: str,
    cases: tuple[FloatArray, FloatArray],
    prices: tuple[float, float],
) -> list[TimedEnd]:
    """Play cases, values and seconds; prices, of an error and a second, in dollars."""
    error_price, second_price = prices
    medians, spreads = np.array([vendor.seconds for vendor in MARKET.vendors]).T
    usual = (medians * np.exp(spreads**2 / 2))[MARKET.vendor_of]
    pace = Pace(tuple(usual.tolist()), second_price * MICROS, PARTIES[party])
    aim = Aim(error_price=round(error_price * MICROS))
    ends = []
    for stream, (row, taken) in enumerate(zip(*cases, strict=True)):
        opened = start(ensemble, None, stream=stream, aim=aim)
        state = decide_next_step(ensemble, replace(opened, pace=pace))
        own = taken[MARKET.vendor_of]
        ends.append(play_in_time(ensemble, state, row, own, choose_for(party)))
    return ends


def measure(seed: int) -> Line:
    """Measure all parties on the cases of a seed."""
    random = np.random.default_rng([seed, N_TRAIN])
    training, testing = make_cases(N_TRAIN, random), make_cases(N_TEST, random)
    seconds = MARKET.draw_seconds(N_TEST, random)
    ensemble = ours.train(training, seed)
    line: Line = {"seed": seed, "version": VERSION, "core": kept_lines.find_core()}
    for prices in SETTINGS:
        for party in PARTIES:
            ends = play(ensemble, party, (testing.values, seconds), prices)
            labels = np.array([end.label for end in ends])
            line[f"{party} {prices}"] = {
                "spend": float(np.mean([end.spent for end in ends])) / MICROS,
                "seconds": float(np.mean([end.seconds for end in ends])),
                "calls": float(np.mean([end.n_calls for end in ends])),
                "error": float((labels != testing.targets).mean()),
            }
            print(seed, prices, party, line[f"{party} {prices}"], file=sys.stderr)
    return line


def show(lines: Sequence[Line]) -> None:
    """Print mean totals, and ours by the best of the others."""
    for prices in SETTINGS:
        error_price, price = prices
        totals, sums = {}, {}
        for party in PARTIES:
            figures = [line[f"{party} {prices}"] for line in lines]
            mean = {
                name: float(np.mean([figure[name] for figure in figures]))
                for name in figures[0]
            }
            totals[party] = mean["spend"] + price * mean["seconds"]
            sums[party] = totals[party] + error_price * mean["error"]
            print(
                f"{prices} {party:12s} spend {mean['spend']:.4f} "
                f"seconds {mean['seconds']:6.2f} calls {mean['calls']:.2f} "
                f"error {mean['error']:.4f} total {totals[party]:.4f} "
                f"with errors {sums[party]:.4f}"
            )
        for name, by_party in (("total", totals), ("with errors", sums)):
            best = min(by_party[party] for party in PARTIES if party != "ours")
            print(f"{prices} ours by the best, {name}: {by_party['ours'] / best:.3f}")


def main() -> int:
    """Measure the seeds that are missing, and print all."""
    parser = argparse.ArgumentParser(prog="benchmarks.buying.timing")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help="so many")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where lines are kept")
    given = parser.parse_args()
    by_seed = kept_lines.read([given.kept], ("seed",), VERSION)
    for seed in range(given.seeds):
        if (seed,) not in by_seed:
            by_seed[seed,] = measure(seed)
            kept_lines.add(given.kept, by_seed[seed,])
    show([by_seed[key] for key in sorted(by_seed)][: given.seeds])
    return 0


if __name__ == "__main__":
    sys.exit(main())

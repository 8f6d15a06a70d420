"""Sessions in which what is asked is refused: each asked offer in turn, and pairs.

An offer is a feature, or a bundle, which is refused whole. What sessions end with is
compared with LightGBM by `yardsticks`; the command is `refusals`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.panels.ladders import fit_ladder
from askless.core.panels.purchases import Shop
from askless.core.session import machine
from askless.core.session.answers import find_paid, list_revealed
from askless.core.session.state import Answer, State, StopRule
from askless.core.table.prices import total_cost
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams, EffortName
from askless.core.work import end_of
from benchmarks.frontier.draws import Draw, draw, load
from benchmarks.frontier.rivals import Set
from benchmarks.frontier.yardsticks import End, Record, Yardsticks

# To be deleted where rivals select in another way.
FORWARD = Path(__file__).resolve().parents[2] / "build" / "frontier" / "forward"

SHARES = (0.15, 0.4)
MOST_ROWS, MOST_OFFERS, N_PAIRS, SEED = 500, 12, 5, 11

# An offer that fewer rows are asked is not refused: its figures would be luck.
LEAST_ROWS = 0.1


def play(protocol: str, title: str, number: int) -> Record:
    """Train panels on one draw of a set, refuse, and measure.

    What forward selection buys takes most of the time, and knows nothing of core/: it
    is kept below build/ for the next time.
    """
    path = FORWARD / f"{protocol} {title} {number}.json"
    kept = json.loads(path.read_text()) if path.is_file() else {}
    record = play_draw(draw(load(title), protocol, number), kept=kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept))
    return record


def play_draw(
    drawn: Draw, effort: EffortName = "standard", kept: dict[str, Set] | None = None
) -> Record:
    """Train, and measure; sets that forward selection bought are added to `kept`."""
    ladder = end_of(fit_ladder(drawn.training, effort=effort))
    ensemble = make_ensemble(drawn.training, BoostParams("panels"), ())
    ensemble = replace(ensemble, panels=ladder)
    most = total_cost(drawn.training.catalogue)
    budgets = tuple(int(share * most) for share in SHARES)
    yardsticks = Yardsticks(replace(drawn, budgets=budgets), MOST_ROWS, kept)
    return {
        "n_train": drawn.training.n_samples,
        "n_test": yardsticks.targets.size,
        "n_features": len(drawn.training.catalogue.features),
        "budgets": [
            refuse(ensemble, yardsticks, place) for place in range(len(SHARES))
        ],
    }


def refuse(ensemble: Ensemble, yardsticks: Yardsticks, place: int) -> list[Record]:
    """Play the sessions of a budget without a refusal, and with one and two."""
    values, budget = yardsticks.values, yardsticks.drawn.budgets[place]
    start = open_session(ensemble, budget)
    undisturbed = [list(follow(ensemble, start, row, ())) for row in values]
    asked = [
        {
            find_offer(ensemble, state): number
            for number, state in enumerate(states[:-1])
        }
        for states in undisturbed
    ]
    shop = Shop(ensemble.catalogue, np.ones(values.shape[1], np.bool_))
    records = []
    for refused in choose_refused(asked):
        hidden = tuple(chain.from_iterable(refused))
        rows, ends = [], []
        for idx, numbers in enumerate(asked):
            if not numbers.keys() >= set(refused):
                continue
            # Until the first of the refused is asked nothing is different.
            begin = min((numbers[one] for one in refused), default=-1)
            states = follow(ensemble, undisturbed[idx][begin], values[idx], hidden)
            *_, last = states
            rows.append(idx)
            ends.append(make_end(ensemble, shop, last, hidden))
        found = yardsticks.measure(place, hidden, np.array(rows), ends)
        records.append({"refused": refused, **found})
    return records


def choose_refused(asked: Sequence[dict[Set, int]]) -> list[tuple[Set, ...]]:
    """Return what is refused together: nothing, each asked offer, and some pairs.

    Of more offers than are refused some, evenly spaced in the order of asking, the
    first among them.
    """
    least = LEAST_ROWS * len(asked)
    counts = Counter(chain.from_iterable(asked))
    ordered = [offer for offer, count in counts.items() if count >= least]
    n_spaced = min(MOST_OFFERS, len(ordered))
    spaced = np.linspace(0, len(ordered) - 1, n_spaced).round().astype(int).tolist()
    offers = [ordered[number] for number in spaced]
    both = Counter(pair for offers in asked for pair in combinations(sorted(offers), 2))
    pairs = sorted(pair for pair, count in both.items() if count >= least)
    order = np.random.default_rng(SEED).permutation(len(pairs))[:N_PAIRS].tolist()
    return [(), *((one,) for one in offers), *(pairs[number] for number in order)]


def open_session(ensemble: Ensemble, budget: int) -> State:
    """Open a session that no advice ends while something would be asked."""
    return machine.start(ensemble, budget, stop=StopRule(certain=False))


def find_offer(ensemble: Ensemble, state: State) -> Set:
    """Return what a session asks: a feature, or the open members of a bundle."""
    idx = state.next_feature_idx
    assert idx is not None, "something is asked"
    return tuple(sorted(list_revealed(ensemble.catalogue, state, idx)))


def follow(
    ensemble: Ensemble, state: State, row: FloatArray, hidden: Set
) -> Iterator[State]:
    """Answer what is asked, or refuse it; yields the states up to the end."""
    yield state
    while state.next_feature_idx is not None:
        offer = find_offer(ensemble, state)
        answers = [answer(idx, row, hidden) for idx in offer]
        state = machine.observe(ensemble, state, answers)
        yield state


def answer(idx: int, row: FloatArray, hidden: Set) -> Answer:
    if idx in hidden:
        return Answer(idx, "refused")
    return Answer(idx, "value", float(row[idx]))


def make_end(ensemble: Ensemble, shop: Shop, state: State, hidden: Set) -> End:
    """Return what a session knows and says at its end, and what it could still buy."""
    forecast, left = machine.forecast(ensemble, state), state.remaining
    assert left is not None, "a budget was given"
    paid = find_paid(ensemble.catalogue, state)
    last = state.history[-1].feature_idx if state.history else None
    known = np.flatnonzero(~np.isnan(np.array(state.values)))
    return End(
        read=tuple(known.tolist()),
        payable=tuple(
            one
            for one in shop.offers
            if all(state.outcomes[idx] is None for idx in one)
            and shop.price(one, paid) <= left
        ),
        label=forecast.label,
        chance=forecast.probabilities[1],
        spent=state.spent,
        is_at_once=last in hidden,
    )

"""Cases of a known population, logged with exploration and judged again and again."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.explorations import uniforms_at
from askless.core.session.state import Answer, Exploration, State, StopRule
from askless.core.simulation.off_policy import JudgedCases, judge_cases
from askless.core.simulation.replays import LoggedCase, ReplayTerms, replay
from askless.core.simulation.trails import CaseTrail, trail_case
from askless.core.table.dataset import Dataset


class Draw(NamedTuple):
    """At which draw of a case, and for which purchase, its exploration comes."""

    place: int
    purchase: int


@dataclass
class Log:
    """Sessions of a policy on the rows of a population, and how a target does on them.

    The session of a row depends on its seed only by the draw that explores. So each is
    played once for each such draw, by the machine that serves sessions.
    """

    ensemble: Ensemble
    target: Ensemble
    rows: Dataset
    budget: int
    explore: float
    #: what the target comes to, and the number of each session by row and draw
    judged: list[JudgedCases] = field(default_factory=list)
    numbers: dict[tuple[int, Draw | None], int] = field(default_factory=dict)

    @cached_property
    def plain(self) -> list[tuple[Exploration, ...]]:
        """The draws of each row's session if none of them explores."""
        n_rows = self.rows.n_samples
        return [self.play(row, 0, 1e-300).explorations for row in range(n_rows)]

    def play(self, row: int, seed: int, explore: float) -> State:
        """Play a row's session to its end."""
        ensemble, values = self.ensemble, self.rows.values[row].tolist()
        state = machine.start(
            ensemble, self.budget, seed, stop=StopRule(), explore=explore
        )
        while state.stop_reason is None and state.next_feature_idx is not None:
            idx = state.next_feature_idx
            state = machine.observe(
                ensemble, state, [Answer(idx, "value", values[idx])]
            )
        return state

    def find_draw(self, row: int, numbers: FloatArray) -> Draw | None:
        """Return the draw that explores, by pairs of numbers for each; (n_draws, 2)."""
        pairs = zip(self.plain[row], numbers.tolist(), strict=False)
        for place, (one, (coin, pick)) in enumerate(pairs):
            if coin < self.explore:
                return Draw(place, int(pick * one.n_open))
        return None

    def find_seed(self, row: int, draw: Draw | None) -> int:
        """Return a seed whose session explores at a draw."""
        # Each question is one answer here, so draws are numbered by answers.
        places = [one.n_answers for one in self.plain[row]]
        for seed in count():
            numbers = np.array([uniforms_at(seed, 0, one).random(2) for one in places])
            if self.find_draw(row, numbers.reshape(-1, 2)) == draw:
                return seed
        raise AssertionError("seeds don't end")

    def number(self, row: int, draw: Draw | None) -> int:
        """Return the number of a row's session that explores at a draw."""
        key = row, draw
        if key not in self.numbers:
            state = self.play(row, self.find_seed(row, draw), self.explore)
            assert (state.explored_idx is None) == (draw is None)
            self.numbers[key] = len(self.judged)
            self.judged.append(judge_cases(self.target, [self.trail(row, state)]))
        return self.numbers[key]

    def trail(self, row: int, state: State) -> CaseTrail:
        """Return how a row's session was asked."""
        return trail_case(state, int(self.rows.targets[row]))

    def draw_cases(self, n_cases: int, random: np.random.Generator) -> JudgedCases:
        """Log cases of random rows, and judge the target on them."""
        rows = random.integers(self.rows.n_samples, size=n_cases).tolist()
        n_draws = max(len(one) for one in self.plain)
        numbers = random.random((n_cases, n_draws, 2))
        pairs = zip(rows, numbers, strict=True)
        chosen = [self.number(row, self.find_draw(row, one)) for row, one in pairs]
        parts = [vars(self.judged[one]) for one in chosen]
        return JudgedCases(
            **{name: np.concatenate([one[name] for one in parts]) for name in parts[0]}
        )

    def find_truth(self) -> FloatArray:
        """Return the mean of each measure if the target asks every row itself."""
        measures = []
        for row, values in enumerate(self.rows.values.tolist()):
            answers = {idx: Answer(idx, "value", one) for idx, one in enumerate(values)}
            case, terms = LoggedCase({}, answers), ReplayTerms(self.budget)
            end, truth = replay(self.target, case, terms), int(self.rows.targets[row])
            loss = -np.log(end.forecast.probabilities[truth])
            measures.append((end.forecast.label != truth, loss, end.spent))
        means: FloatArray = np.array(measures, np.float64).mean(axis=0)
        return means

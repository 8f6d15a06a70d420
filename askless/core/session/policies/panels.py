"""The policy `panels`: buy the best set that fits, and predict from what is known."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray, look_up
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.blends import to_chances
from askless.core.session.answers import list_revealed, take_answer
from askless.core.session.ladders import (
    SAME_LOSS,
    choose_predictor,
    compute_expected_loss,
    compute_expected_losses,
    compute_logits,
    ladder_of,
    list_extra_features,
    list_open_features,
    make_standing,
    mark_known,
    price_purchases,
)
from askless.core.session.policies.odds import OddsPolicy
from askless.core.session.policy import (
    PlanLeft,
    Step,
    choose_beyond_worthwhile,
    fits_limit,
)
from askless.core.session.position import Position
from askless.core.session.rows.logits import LogitCache
from askless.core.session.rows.traces import Traces, make_traces
from askless.core.session.rows.walks import (
    SimulatedRows,
    Standing,
    Walks,
    make_ends,
    open_session,
    reveal,
)
from askless.core.session.state import Answer, State


@dataclass(frozen=True, slots=True)
class Branch:
    """Rows whose sessions have asked the same, with the same cells missing."""

    row_idxs: IntArray
    state: State
    ranks: IntArray
    #: questions so far; a bundle is one
    n_steps: int

    def keep(self, is_kept: BoolArray) -> "Branch":
        """Return some of its rows."""
        return replace(self, row_idxs=self.row_idxs[is_kept])


class PanelPolicy(OddsPolicy):
    """Ask the features of the affordable panel of least expected loss.

    Features that are known or paid cost nothing more, so the panel is chosen again
    after every answer; a refused feature raises the expected loss of its panels. Where
    no panel is left to buy, single features are asked that still help.
    """

    name = "panels"
    asks_alike = True

    def serves(self, ensemble: Ensemble) -> bool:
        """Return whether the ensemble has panels."""
        return ensemble.panels is not None

    def choose_next(self, position: Position) -> Step:
        """Return the first open feature of the panel to aim at."""
        for idx in self.list_askable(position):
            return Step(idx)
        if position.beyond is not position:
            return choose_beyond_worthwhile(self, position)
        is_open = position.case.status == kernels.OPEN
        if not (is_open & position.ensemble.is_used).any():
            return Step(None, "all_known")
        return Step(None, position.reason_to_stop)

    def list_open(self, position: Position) -> list[int]:
        """Return the features of the panel to buy that have no answer yet."""
        number = self.choose_panel(position)
        rest = list_open_features(position, number)
        if (
            rest
            and compute_expected_losses(position)[number]
            <= compute_expected_loss(position) + SAME_LOSS
        ):
            return rest
        return list_extra_features(position)

    def can_use(self, position: Position, feature_idx: int) -> bool:
        """Return whether the panel that predicts, or the one to buy, reads it.

        Tables read all that some panel or own question reads.
        """
        ladder = ladder_of(position.ensemble)
        if ladder.tables is not None:
            return bool(ladder.mark_readable(position.case.status.size)[feature_idx])
        # A session that goes on beyond its worth buys by all of the budget.
        aims = [self.choose_panel(place) for place in (position, position.beyond)]
        numbers = [choose_predictor(position), *aims]
        is_read = feature_idx < ladder.n_read
        return is_read and bool(ladder.members[numbers, feature_idx].any())

    def choose_panel(self, position: Position) -> int:
        """Return the panel of least expected loss, on ties the preferred one."""
        return int(np.argmin(compute_expected_losses(position)))

    def open_share(self, position: Position, feature_idx: int) -> float:
        """Return a feature's share of the gain that the panel to buy would make.

        Gains are of log-loss on held-out rows. If no other panel predicts until more
        features are known, these share the gain equally.
        """
        ladder, is_known = ladder_of(position.ensemble), mark_known(position)
        ahead = [feature_idx, *self.list_askable(position)]
        now = ladder.best_panel(is_known)
        after = ladder.next_predictor(is_known, ahead)
        aim = ladder.panels[self.choose_panel(position)]
        whole = ladder.panels[now].loss - aim.loss
        if after == now or whole <= 0:
            return 0.0
        known = ladder.panels[now].feature_idxs
        n_added = len(set(ladder.panels[after].feature_idxs).difference(known))
        gain = ladder.panels[now].loss - ladder.panels[after].loss
        return gain / max(n_added, 1) / whole

    def mark_known(self, position: Position) -> BoolArray:
        """Return which features are known, missing values that are information too."""
        return mark_known(position)

    def mark_read(self, position: Position, is_known: BoolArray) -> BoolArray:
        """Return which of some known features the panel of these reads."""
        ladder, is_read = ladder_of(position.ensemble), np.zeros_like(is_known)
        members = ladder.members[ladder.best_panel(is_known)]
        is_read[: ladder.n_read] = members & is_known[: ladder.n_read]
        return is_read

    def plan_left(self, position: Position) -> PlanLeft:
        """Return the purchases of the panel to buy."""
        n_questions, spend = price_purchases(position, self.list_askable(position))
        return PlanLeft(n_questions, n_questions, spend)

    def may_buy(self, position: Position, feature_idx: int) -> bool:
        """Return whether some panel that the limit pays reads a feature."""
        orders = [panel.feature_idxs for panel in ladder_of(position.ensemble).panels]
        return any(
            feature_idx in order and fits_limit(position, order) for order in orders
        )

    def standing(self, position: Position) -> Standing:
        """Return the log odds by the preferred panel for what is known."""
        number = choose_predictor(position)
        return make_standing(
            position.ensemble, compute_logits(position), np.array(number)
        )

    def predict_after(
        self, position: Position, feature_idx: int, values: FloatArray
    ) -> FloatArray:
        """Return the probability of each class after each of some answers alone.

        The predicting panel depends on which features are known, not on their values.
        """
        choose = partial(choose_predictor_after, position, feature_idx)
        key = self.name, "after", feature_idx
        number, is_known = look_up(position.shared, key, choose)
        # One by one, so that sums are rounded as for a case alone.
        rows = np.repeat(position.case.values[None, None], values.size, axis=0)
        rows[:, 0, feature_idx] = values
        logits = ladder_of(position.ensemble).predict_logits(number, rows, is_known)
        return to_chances(logits[:, 0])

    def walk(self, ensemble: Ensemble, simulated: SimulatedRows) -> Walks:
        """Simulate a session for every row under every budget.

        Rows are simulated together as long as they are asked the same features and the
        same cells are missing.
        """
        ends = make_ends(ensemble, simulated, simulated.budgets.size)
        cache = LogitCache.share(ensemble, simulated.values)
        for column in range(simulated.budgets.size):
            for branch, is_end in self.follow(ensemble, simulated, column, cache):
                if not is_end:
                    continue
                rows, position = branch.row_idxs, Position.of(ensemble, branch.state)
                ends.votes[rows, column] = cache.predict(position, rows)
                ends.marks[rows, column] = choose_predictor(position)
                ends.spent[rows, column] = branch.state.spent
                ends.n_asked[rows, column] = branch.ranks.max(initial=0)
                ends.ranks[rows] = branch.ranks
        standing = make_standing(ensemble, ends.votes, ends.marks)
        return Walks(
            **vars(standing), spent=ends.spent, n_asked=ends.n_asked, ranks=ends.ranks
        )

    def follow(
        self,
        ensemble: Ensemble,
        simulated: SimulatedRows,
        column: int,
        cache: LogitCache,
    ) -> Iterator[tuple[Branch, bool]]:
        """Yield groups of rows under a budget, and whether their sessions end there.

        At one position the rows that end come first, then the rows that go on.
        `column` is the position of the budget in `cases.budgets`.
        """
        nobody = np.zeros(simulated.values.shape[1], np.int64)
        branches = []
        for rows in self.group_rows(ensemble, simulated, column):
            state = open_session(ensemble, simulated, self.name, int(rows[0]), column)
            branches.append(Branch(rows, state, nobody, 0))
        while branches:
            branch = branches.pop()
            position = Position.of(ensemble, branch.state)
            feature_idx, goes_on = self.split_asked(position, branch.row_idxs, cache)
            if not goes_on.all():
                yield branch.keep(~goes_on), True
            if feature_idx is not None and goes_on.any():
                going = branch.keep(goes_on)
                yield going, False
                branches += split_branch(ensemble, simulated, going, feature_idx)

    def group_rows(
        self, ensemble: Ensemble, simulated: SimulatedRows, column: int
    ) -> list[IntArray]:
        """Return rows whose sessions under a budget begin in the same way."""
        del ensemble, column
        everyone = np.arange(simulated.values.shape[0])
        return [everyone] if everyone.size else []

    def split_asked(
        self, position: Position, row_idxs: IntArray, cache: LogitCache
    ) -> tuple[int | None, BoolArray]:
        """Return the next feature at a position, and which rows are asked for it."""
        del cache
        feature_idx = self.choose_next(position).feature_idx
        return feature_idx, np.full(row_idxs.size, feature_idx is not None)

    def trace(self, ensemble: Ensemble, simulated: SimulatedRows) -> Iterator[Traces]:
        """Simulate the same sessions step by step; yields traces budget by budget."""
        cache, n_rows = (
            LogitCache.share(ensemble, simulated.values),
            simulated.values.shape[0],
        )
        for column in range(simulated.budgets.size):
            visits = [
                branch for branch, _ in self.follow(ensemble, simulated, column, cache)
            ]
            n_steps = 1 + max((branch.n_steps for branch in visits), default=0)
            spends = np.zeros((n_rows, n_steps), np.int64)
            chances = np.zeros((n_rows, n_steps, len(ensemble.classes)))
            ends = np.zeros(n_rows, np.int64)
            for branch in visits:
                position = Position.of(ensemble, branch.state)
                rows, place = branch.row_idxs, branch.n_steps
                chances[rows, place] = to_chances(cache.predict(position, rows))
                spends[rows, place] = branch.state.spent
                ends[rows] = np.maximum(ends[rows], place)
            yield make_traces(ensemble, chances, spends, ends)


def choose_predictor_after(position: Position, idx: int) -> tuple[int, BoolArray]:
    """Return the panel that predicts after an answer, and what is known then."""
    ensemble, answer = position.ensemble, Answer(idx, "value", 0.0)
    answered = take_answer(ensemble.catalogue, position.state, answer)
    after = Position.of(ensemble, answered)
    return choose_predictor(after), mark_known(after)


def split_branch(
    ensemble: Ensemble, simulated: SimulatedRows, branch: Branch, feature_idx: int
) -> list[Branch]:
    """Reveal a feature, or the rest of its bundle; split the rows by the outcome.

    Rows stay together if the same cells are missing.
    """
    revealed = list(list_revealed(ensemble.catalogue, branch.state, feature_idx))
    is_missing = np.isnan(simulated.values[branch.row_idxs][:, revealed])
    alike = [branch.row_idxs]
    if is_missing.any():
        patterns, key_idxs = np.unique(is_missing, axis=0, return_inverse=True)
        keys = key_idxs.reshape(-1)
        alike = [branch.row_idxs[keys == number] for number in range(len(patterns))]
    parts = []
    for rows in alike:
        ranks = branch.ranks.copy()
        state = reveal(
            ensemble, branch.state, feature_idx, simulated.values[rows[0]], ranks
        )
        parts.append(Branch(rows, state, ranks, branch.n_steps + 1))
    return parts

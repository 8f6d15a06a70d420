"""The policy `panels`: buy the best set that fits, and predict from what is known."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from core import kernels
from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.panels import PanelLadder, to_chances
from core.model.votes import TIE, argbest
from core.session.answers import bundle_members
from core.session.policy import Policy, Step
from core.session.position import Position
from core.session.state import State
from core.session.traces import Traces, make_traces
from core.session.walks import Cases, Standing, Walks, make_ends, open_session, reveal


@dataclass(frozen=True, slots=True)
class Branch:
    """Rows whose sessions have gone the same way."""

    row_idxs: IntArray
    state: State
    ranks: IntArray
    #: questions so far; a bundle is one
    n_steps: int

    def keep(self, is_kept: BoolArray) -> "Branch":
        """Return some of its rows."""
        return replace(self, row_idxs=self.row_idxs[is_kept])


class Told:
    """Log odds of rows by panels, each found once; all that a panel needs is known."""

    def __init__(self, ladder: PanelLadder, values: FloatArray) -> None:
        self.ladder, self.values = ladder, values
        self.n_rows = values.shape[0]
        self.kept: dict[int, tuple[FloatArray, BoolArray]] = {}

    def tell(self, number: int, row_idxs: IntArray) -> FloatArray:
        """Return the log odds of some rows by a panel; (n_rows, n_outputs)."""
        starts = self.ladder.starts
        if number not in self.kept:
            shape = self.n_rows, starts.size
            self.kept[number] = np.empty(shape), np.zeros(self.n_rows, np.bool_)
        logits, is_there = self.kept[number]
        lacking = row_idxs[~is_there[row_idxs]]
        if lacking.size:
            panel = self.ladder.panels[number]
            logits[lacking] = panel.logits(self.values[lacking], starts)
            is_there[lacking] = True
        return logits[row_idxs]


class PanelPolicy(Policy):
    """Ask the features of the preferred panel that what remains pays.

    What is known or paid already costs nothing more, so the panel is chosen anew after
    every answer. A panel that can't do without a feature which came back without a
    value is out.
    """

    name = "panels"
    has_votes = False

    def serves(self, ensemble: Ensemble) -> bool:
        """Return whether the ensemble has panels."""
        return ensemble.panels is not None

    def find_next(self, position: Position) -> Step:
        """Return the first open feature of the panel to aim at."""
        for idx in self.could_ask(position):
            return Step(idx)
        is_open = position.case.status == kernels.OPEN
        if not (is_open & position.ensemble.is_used).any():
            return Step(None, "all_known")
        if position.is_more_affordable:
            return Step(None, "plan_complete")
        return Step(None, "budget_exhausted")

    def could_ask(self, position: Position) -> list[int]:
        """Return the features of the panel to buy that have no answer yet."""
        return find_open(position, self.choose_panel(position))

    def choose_panel(self, position: Position) -> int:
        """Return the panel to buy: the preferred one whose rest what remains pays."""
        return int(np.argmin(np.isinf(price_rests(position))))

    def open_share(self, position: Position, feature_idx: int) -> float:
        """Return what a feature gains of all that the panel to buy would gain.

        Gains are of log-loss on held-out rows. Where no panel predicts before more
        features are known, they share its gain equally.
        """
        ladder, status = ladder_of(position.ensemble), position.case.status
        is_gone, is_known = status == kernels.GONE, status == kernels.KNOWN
        now = ladder.find_panel(is_known, is_gone)
        ahead = [feature_idx, *self.could_ask(position)]
        after = ladder.find_next(is_known, is_gone, ahead)
        aim = ladder.panels[self.choose_panel(position)]
        whole = ladder.panels[now].loss - aim.loss
        if after == now or whole <= 0:
            return 0.0
        known = ladder.panels[now].feature_idxs
        n_added = len(set(ladder.panels[after].feature_idxs).difference(known))
        gain = ladder.panels[now].loss - ladder.panels[after].loss
        return gain / max(n_added, 1) / whole

    def standing(self, position: Position) -> Standing:
        """Return the log odds by the preferred panel for what is known."""
        number = find_predictor(position)
        return stand(position.ensemble, find_logits(position), np.array(number))

    def chances(self, ensemble: Ensemble, standing: Standing) -> FloatArray:
        """Return the probability of each class; (..., n_classes)."""
        del ensemble
        return to_chances(standing.scores)

    def votes(self, ensemble: Ensemble, standing: Standing) -> IntArray:
        """Return the most probable class; (...)."""
        return argbest(ensemble, to_chances(standing.scores), TIE)

    def is_certain(self, position: Position) -> bool:
        """Return whether nothing is left to ask or to come: a blend has no bounds."""
        is_coming = position.case.status == kernels.PENDING
        if (is_coming & position.ensemble.is_used).any():
            return False
        return self.find_next(position).feature_idx is None

    def walk(self, ensemble: Ensemble, cases: Cases) -> Walks:
        """Play a session for every row under every budget.

        Rows are played together as long as they are asked the same and the same of
        them is missing.
        """
        ends = make_ends(ensemble, cases, cases.budgets.size)
        told = Told(ladder_of(ensemble), cases.values)
        for column in range(cases.budgets.size):
            for branch, is_end in self.follow(ensemble, cases, column, told):
                if not is_end:
                    continue
                rows, position = branch.row_idxs, Position.of(ensemble, branch.state)
                number = find_predictor(position)
                ends.votes[rows, column] = told.tell(number, rows)
                ends.marks[rows, column] = number
                ends.spent[rows, column] = branch.state.spent
                ends.n_asked[rows, column] = branch.ranks.max(initial=0)
                ends.ranks[rows] = branch.ranks
        standing = stand(ensemble, ends.votes, ends.marks)
        return Walks(
            **vars(standing), spent=ends.spent, n_asked=ends.n_asked, ranks=ends.ranks
        )

    def follow(
        self, ensemble: Ensemble, cases: Cases, column: int, told: "Told"
    ) -> Iterator[tuple[Branch, bool]]:
        """Yield where rows stand under a budget, and whether their sessions end there.

        Those of a position that go on and those that don't come one after the other.
        """
        nobody = np.zeros(cases.values.shape[1], np.int64)
        branches = []
        for rows in self.part_rows(ensemble, cases, column):
            state = open_session(ensemble, cases, self.name, int(rows[0]), column)
            branches.append(Branch(rows, state, nobody, 0))
        while branches:
            branch = branches.pop()
            position = Position.of(ensemble, branch.state)
            feature_idx, goes_on = self.find_goers(position, branch.row_idxs, told)
            if not goes_on.all():
                yield branch.keep(~goes_on), True
            if feature_idx is not None and goes_on.any():
                going = branch.keep(goes_on)
                yield going, False
                branches += part_branch(ensemble, cases, going, feature_idx)

    def part_rows(
        self, ensemble: Ensemble, cases: Cases, column: int
    ) -> list[IntArray]:
        """Return rows whose sessions under a budget begin in the same way."""
        del ensemble, column
        everyone = np.arange(cases.values.shape[0])
        return [everyone] if everyone.size else []

    def find_goers(
        self, position: Position, row_idxs: IntArray, told: "Told"
    ) -> tuple[int | None, BoolArray]:
        """Return what rows at a position are asked next, and which of them are."""
        del told
        feature_idx = self.find_next(position).feature_idx
        return feature_idx, np.full(row_idxs.size, feature_idx is not None)

    def trace(self, ensemble: Ensemble, cases: Cases) -> Iterator[Traces]:
        """Play the same sessions step by step; yields them budget by budget."""
        told, n_rows = Told(ladder_of(ensemble), cases.values), cases.values.shape[0]
        for column in range(cases.budgets.size):
            visits = [one for one, _ in self.follow(ensemble, cases, column, told)]
            n_steps = 1 + max((branch.n_steps for branch in visits), default=0)
            spends = np.zeros((n_rows, n_steps), np.int64)
            chances = np.zeros((n_rows, n_steps, len(ensemble.classes)))
            ends = np.zeros(n_rows, np.int64)
            for branch in visits:
                number = find_predictor(Position.of(ensemble, branch.state))
                rows, place = branch.row_idxs, branch.n_steps
                chances[rows, place] = to_chances(told.tell(number, rows))
                spends[rows, place] = branch.state.spent
                ends[rows] = np.maximum(ends[rows], place)
            yield make_traces(ensemble, chances, spends, ends)


def ladder_of(ensemble: Ensemble) -> PanelLadder:
    """Return the panels of an ensemble that has some."""
    assert ensemble.panels is not None, "the policy needs them"
    return ensemble.panels


def find_predictor(position: Position) -> int:
    """Return the panel that predicts from what is known."""
    status = position.case.status
    ladder = ladder_of(position.ensemble)
    return ladder.find_panel(status == kernels.KNOWN, status == kernels.GONE)


def find_logits(position: Position) -> FloatArray:
    """Return the log odds by the panel that predicts; (n_outputs,)."""
    if "logits" not in position.kept:
        ladder = ladder_of(position.ensemble)
        panel = ladder.panels[find_predictor(position)]
        values = position.case.values[None, :]
        position.kept["logits"] = panel.logits(values, ladder.starts)[0]
    logits: FloatArray = position.kept["logits"]
    return logits


def find_open(position: Position, number: int) -> list[int]:
    """Return the features of a panel that have no answer yet, in its order."""
    status = position.case.status
    panel = ladder_of(position.ensemble).panels[number]
    return [idx for idx in panel.feature_idxs if status[idx] == kernels.OPEN]


def price_rests(position: Position) -> FloatArray:
    """Price of what is open of each panel, in micro-units; (n_panels,).

    Infinity where what remains doesn't pay it, or where a panel can't do without a
    feature that came back without a value.
    """
    ladder, catalogue = ladder_of(position.ensemble), position.ensemble.catalogue
    n_read, status = ladder.n_read, position.case.status[: ladder.n_read]
    is_open = ladder.members & (status == kernels.OPEN)
    amounts = is_open @ catalogue.costs[:n_read]
    for group_idx in np.flatnonzero(~position.case.is_group_paid).tolist():
        its_members = catalogue.group_idxs[:n_read] == group_idx
        amounts += catalogue.fees[group_idx] * is_open[:, its_members].any(axis=1)
    is_out = (ladder.needs & (status == kernels.GONE)).any(axis=1)
    return np.where(is_out | (amounts > position.remaining), np.inf, amounts)


def stand(ensemble: Ensemble, logits: FloatArray, numbers: IntArray) -> Standing:
    """Return where sessions stand; (..., n_outputs) and (...), the panels used.

    The share known is that of what the best panel gains on the class shares.
    """
    ladder = ladder_of(ensemble)
    losses = np.array([panel.loss for panel in ladder.panels])
    gains = losses.max() - losses
    chances = to_chances(logits)
    first = 1 if logits.shape[-1] == 1 else 0
    return Standing(
        margins=2.0 * chances[..., first:] - 1.0,
        known_shares=(gains / max(gains.max(), TIE))[numbers],
        scores=logits,
        marks=numbers,
    )


def part_branch(
    ensemble: Ensemble, cases: Cases, branch: Branch, feature_idx: int
) -> list[Branch]:
    """Reveal a feature, or the rest of its bundle; part the rows by what is missing."""
    revealed = [
        feature_idx,
        *bundle_members(ensemble.catalogue, branch.state, feature_idx),
    ]
    is_missing = np.isnan(cases.values[branch.row_idxs][:, revealed])
    patterns, which = np.unique(is_missing, axis=0, return_inverse=True)
    parts = []
    for number in range(len(patterns)):
        rows = branch.row_idxs[which.reshape(-1) == number]
        ranks = branch.ranks.copy()
        state = reveal(
            ensemble, branch.state, feature_idx, cases.values[rows[0]], ranks
        )
        parts.append(Branch(rows, state, ranks, branch.n_steps + 1))
    return parts

"""The policy `panels`: buy the best set that fits, and predict from what is known."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import FloatArray, IntArray
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
        """Return the features of the panel aimed at that have no answer yet."""
        aim = ladder_of(position.ensemble).panels[find_aim(position)]
        status = position.case.status
        return [idx for idx in aim.feature_idxs if status[idx] == kernels.OPEN]

    def open_share(self, position: Position, feature_idx: int) -> float:
        """Return what a feature gains of all that the panel aimed at would gain.

        Gains are of log-loss on held-out rows.
        """
        ladder, status = ladder_of(position.ensemble), position.case.status
        is_gone, is_known = status == kernels.GONE, status == kernels.KNOWN
        now = ladder.find_panel(is_known, is_gone)
        is_known[feature_idx] = True
        after = ladder.find_panel(is_known, is_gone)
        losses = [ladder.panels[one].loss for one in (now, after, find_aim(position))]
        whole = losses[0] - losses[2]
        return (losses[0] - losses[1]) / whole if whole > 0 else 0.0

    def standing(self, position: Position) -> Standing:
        """Return the log odds by the preferred panel for what is known."""
        ensemble = position.ensemble
        ladder, number = ladder_of(ensemble), find_number(position)
        values = position.case.values[None, :]
        logits = ladder.panels[number].logits(values, ladder.starts)
        return stand(ensemble, logits[0], np.array(number))

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

        What is asked doesn't depend on values but on what is missing: rows part only
        where one has a value and another has none.
        """
        ends = make_ends(ensemble, cases, cases.budgets.size)
        logits = ends.votes
        ladder = ladder_of(ensemble)
        for column in range(cases.budgets.size):
            for branch, step in self.follow(ensemble, cases, column):
                if step.feature_idx is not None:
                    continue
                position = Position.of(ensemble, branch.state)
                number = find_number(position)
                rows = branch.row_idxs
                values = cases.values[rows]
                panel = ladder.panels[number]
                logits[rows, column] = panel.logits(values, ladder.starts)
                ends.marks[rows, column] = number
                ends.spent[rows, column] = branch.state.spent
                ends.n_asked[rows, column] = branch.ranks.max(initial=0)
                ends.ranks[rows] = branch.ranks
        standing = stand(ensemble, logits, ends.marks)
        return Walks(
            **vars(standing), spent=ends.spent, n_asked=ends.n_asked, ranks=ends.ranks
        )

    def follow(
        self, ensemble: Ensemble, cases: Cases, column: int
    ) -> Iterator[tuple[Branch, Step]]:
        """Yield where rows stand under a budget, before each step and at the end."""
        everyone = np.arange(cases.values.shape[0])
        if not everyone.size:
            return
        state = open_session(ensemble, cases, self.name, 0, column)
        nobody = np.zeros(cases.values.shape[1], np.int64)
        branches = [Branch(everyone, state, nobody, 0)]
        while branches:
            branch = branches.pop()
            step = self.find_next(Position.of(ensemble, branch.state))
            yield branch, step
            if step.feature_idx is not None:
                branches += part_branch(ensemble, cases, branch, step.feature_idx)

    def trace(self, ensemble: Ensemble, cases: Cases) -> Iterator[Traces]:
        """Play the same sessions step by step; yields them budget by budget."""
        ladder, n_rows = ladder_of(ensemble), cases.values.shape[0]
        found: dict[int, FloatArray] = {}
        for column in range(cases.budgets.size):
            visits = [*self.follow(ensemble, cases, column)]
            n_steps = 1 + max((branch.n_steps for branch, _ in visits), default=0)
            spends = np.zeros((n_rows, n_steps), np.int64)
            chances = np.zeros((n_rows, n_steps, len(ensemble.classes)))
            ends = np.zeros(n_rows, np.int64)
            for branch, _ in visits:
                number = find_number(Position.of(ensemble, branch.state))
                if number not in found:
                    logits = ladder.panels[number].logits(cases.values, ladder.starts)
                    found[number] = to_chances(logits)
                rows, place = branch.row_idxs, branch.n_steps
                chances[rows, place] = found[number][rows]
                spends[rows, place] = branch.state.spent
                ends[rows] = np.maximum(ends[rows], place)
            yield make_traces(ensemble, chances, spends, ends)


def ladder_of(ensemble: Ensemble) -> PanelLadder:
    """Return the panels of an ensemble that has some."""
    assert ensemble.panels is not None, "the policy needs them"
    return ensemble.panels


def find_number(position: Position) -> int:
    """Return the preferred panel for what is known, which predicts."""
    ladder, status = ladder_of(position.ensemble), position.case.status
    return ladder.find_panel(status == kernels.KNOWN, status == kernels.GONE)


def find_aim(position: Position) -> int:
    """Return the preferred panel whose rest what remains pays."""
    ladder, catalogue = ladder_of(position.ensemble), position.ensemble.catalogue
    n_read, status = ladder.n_read, position.case.status[: ladder.n_read]
    is_open = ladder.members & (status == kernels.OPEN)
    amounts = is_open @ catalogue.costs[:n_read]
    for group_idx in np.flatnonzero(~position.case.is_group_paid).tolist():
        its_members = catalogue.group_idxs[:n_read] == group_idx
        amounts += catalogue.fees[group_idx] * is_open[:, its_members].any(axis=1)
    is_out = (ladder.needs & (status == kernels.GONE)).any(axis=1)
    return int(np.argmin(is_out | (amounts > position.remaining)))


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

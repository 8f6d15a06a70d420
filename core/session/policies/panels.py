"""The policy `panels`: buy the best set that fits, and predict from what is known."""

from collections.abc import Iterator

import numpy as np

from core import kernels
from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.panels import PanelLadder, to_chances
from core.model.routes import MAIN, Route
from core.model.votes import TIE, argbest
from core.session.branches import Branch, Told, part_branch
from core.session.policy import Policy, Step
from core.session.position import Position
from core.session.traces import Traces, make_traces
from core.session.walks import Cases, Standing, Walks, make_ends, open_session


class PanelPolicy(Policy):
    """Ask the features of the preferred panel that what remains pays.

    What is known or paid already costs nothing more, so the panel is chosen anew after
    every answer. A panel that can't do without a feature which came back without a
    value is out. Where a route is in force its root is asked first, then the panels of
    the part that it says.
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
        """Return the features of the panel to buy that have no answer yet.

        The root comes before them where it says which panel that is.
        """
        roots = find_roots(position)
        if not roots:
            return find_open(position, self.choose_panel(position))
        ahead = [find_open(position, one) for one in choose_by_part(position)]
        return list(dict.fromkeys([*roots, *(idx for one in ahead for idx in one)]))

    def choose_panel(self, position: Position) -> int:
        """Return the panel to buy: the preferred one whose rest what remains pays."""
        return int(np.argmin(np.isinf(price_rests(position))))

    def open_share(self, position: Position, feature_idx: int) -> float:
        """Return what a feature gains of all that the panel to buy would gain.

        Gains are of log-loss on held-out rows. Where no panel predicts before more
        features are known, they share its gain equally; so do the root and what may be
        asked after it.
        """
        ladder, status = ladder_of(position.ensemble), position.case.status
        is_gone, is_known = status == kernels.GONE, status == kernels.KNOWN
        if find_roots(position):
            rests = [find_open(position, one) for one in choose_by_part(position)]
            return 1.0 / float(np.mean([len(rest) for rest in rests]))
        part, ahead = find_part(position), [feature_idx, *self.could_ask(position)]
        now = ladder.find_panel(is_known, is_gone, part)
        after = ladder.find_next(is_known, is_gone, ahead, part)
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
    is_known, is_gone = status == kernels.KNOWN, status == kernels.GONE
    return ladder.find_panel(is_known, is_gone, find_part(position))


def route_of(position: Position) -> Route | None:
    """Return the route that is in force; other policies know the main panels alone."""
    route, state = ladder_of(position.ensemble).route, position.state
    if route is None or state.policy != PanelPolicy.name:
        return None
    return route if route.is_in_force(state.budget) else None


def find_part(position: Position) -> int:
    """Return the part whose panels a case is asked; `MAIN` before its root is known."""
    route = route_of(position)
    return MAIN if route is None else route.find_part(position.case.values)


def find_roots(position: Position) -> list[int]:
    """Return the features of the root, open ones first, where it is to be asked now."""
    route = route_of(position)
    if route is None:
        return []
    roots = list(route.split.feature_idxs)
    statuses = position.case.status[roots]
    is_open = statuses == kernels.OPEN
    is_lost = ~is_open & (statuses != kernels.KNOWN)
    if is_lost.any() or not is_open.any():
        return []
    still = [idx for idx, its_open in zip(roots, is_open, strict=True) if its_open]
    return still if position.prices[still[0]] <= position.remaining else []


def choose_by_part(position: Position) -> list[int]:
    """Return for each part the panel to buy, the root's price included."""
    route = route_of(position)
    assert route is not None, "parts are of a route"
    parts = np.unique(route.parts[route.parts != MAIN]).tolist()
    return [int(np.argmin(np.isinf(price_rests(position, one)))) for one in parts]


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


def price_rests(position: Position, part: int | None = None) -> FloatArray:
    """Price of what is open of each panel of a part, in micro-units; (n_panels,).

    Infinity of panels of other parts, where what remains doesn't pay it, and where a
    panel can't do without a feature that came back without a value. Without a part it
    is the one that the case is in.
    """
    ladder, catalogue = ladder_of(position.ensemble), position.ensemble.catalogue
    n_read, status = ladder.n_read, position.case.status[: ladder.n_read]
    is_open = ladder.members & (status == kernels.OPEN)
    amounts = is_open @ catalogue.costs[:n_read]
    for group_idx in np.flatnonzero(~position.case.is_group_paid).tolist():
        its_members = catalogue.group_idxs[:n_read] == group_idx
        amounts += catalogue.fees[group_idx] * is_open[:, its_members].any(axis=1)
    is_out = (ladder.needs & (status == kernels.GONE)).any(axis=1)
    is_out |= ~ladder.is_for(find_part(position) if part is None else part)
    return np.where(is_out | (amounts > position.remaining), np.inf, amounts)


def stand(ensemble: Ensemble, logits: FloatArray, numbers: IntArray) -> Standing:
    """Return where sessions stand; (..., n_outputs) and (...), the panels used.

    The share known is that of what the best panel of its part gains on the class
    shares.
    """
    ladder = ladder_of(ensemble)
    losses = np.array([panel.loss for panel in ladder.panels])
    gains = np.maximum(losses[ladder.is_for(MAIN)].max() - losses, 0.0)
    route = ladder.route
    best = gains.max()
    if route is not None:
        best = np.array([gains[route.is_for(one)].max() for one in route.parts])
    chances = to_chances(logits)
    first = 1 if logits.shape[-1] == 1 else 0
    return Standing(
        margins=2.0 * chances[..., first:] - 1.0,
        known_shares=(gains / np.maximum(best, TIE))[numbers],
        scores=logits,
        marks=numbers,
    )

"""Hold panels: sets of features to buy, each with a blend that predicts from it.

A blend predicts from any part of its set too: hidden features are marginalised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from askless.core.arrays import Arrays, BoolArray, Derived, FloatArray, IntArray
from askless.core.model.ladder.asking import Worth
from askless.core.model.ladder.blends import Blend, Hiding, KernelRidge
from askless.core.model.ladder.columns import Columns
from askless.core.model.ladder.emptiness import Emptiness
from askless.core.model.ladder.stopping import Stopping
from askless.core.model.ladder.tables import PartTables, to_odds

# The share of hidden features is raised to this power to weigh the tables alone. Powers
# from 3 to 6 had the least log-loss on seven development tables; 0 to 12 were tried.
TABLES_POWER = 4

# With each further hidden feature the sum of the rises grows by this share.
SUPERADDED = 0.15

# Sets of known or hidden features whose results a ladder caches: many cases share one.
MAX_KEPT = 512


@dataclass(frozen=True, eq=False)
class Panel(Arrays):
    """A set of features, in the order in which they are asked."""

    feature_idxs: tuple[int, ...]
    #: log-loss on held-out rows, made monotone: no set chosen for a larger budget has a
    #: larger loss, and no part of such a set a smaller one
    loss: float
    #: the features whose missing values are information
    may_lack: frozenset[int]
    #: None: a panel without features, which predicts the class shares
    blend: Blend | None = None
    #: by how much the loss rises without each feature
    rises: tuple[float, ...] = ()

    def logits(
        self, values: FloatArray, starts: FloatArray, hiding: Hiding | None = None
    ) -> FloatArray:
        """Return the log odds of rows; (..., n_features) -> (..., n_outputs).

        `starts` are the log odds of the class shares. With the shape
        (n_rows, 1, n_features) each row is rounded as if it came alone.
        """
        if self.blend is None:
            return np.tile(starts, (*values.shape[:-1], 1))
        return self.blend.logits(values, hiding)


@dataclass(frozen=True, eq=False)
class PanelLadder(Arrays, Derived):
    """Panels from none to all features that help; the preferred ones come first."""

    panels: tuple[Panel, ...]
    #: (n_outputs,), log odds of the class shares
    starts: FloatArray
    #: when a case goes on to a dearer panel; None: training learned no rules
    stopping: Stopping | None = None
    #: the columns of all features that panels read, in one entry
    spaces: tuple[Columns, ...] = ()
    #: what the values of features say about the class, for blends
    tables: PartTables | None = None
    #: how cases are asked by these tables; None: training learned no terms
    worth: Worth | None = None
    #: how often offers come back empty; None: training saw no empty ones
    emptiness: Emptiness | None = None

    @cached_property
    def last_rows(self) -> list[Any]:
        """The values of rows predicted last, and their log odds; see `LogitCache`."""
        return []

    @cached_property
    def n_read(self) -> int:
        """One more than the last feature that some panel reads."""
        return 1 + max(max(panel.feature_idxs, default=-1) for panel in self.panels)

    @cached_property
    def members(self) -> BoolArray:
        """Which features each panel has; (n_panels, n_read)."""
        members = np.zeros((len(self.panels), self.n_read), np.bool_)
        for panel, row in zip(self.panels, members, strict=True):
            row[list(panel.feature_idxs)] = True
        return members

    @cached_property
    def is_read(self) -> BoolArray:
        """Which features any panel reads; (n_read,)."""
        return np.asarray(self.members.any(axis=0), np.bool_)

    @cached_property
    def may_lack(self) -> BoolArray:
        """Which features' missing values are information; (n_read,)."""
        may_lack = np.zeros(self.n_read, np.bool_)
        for panel in self.panels:
            may_lack[list(panel.may_lack)] = True
        return may_lack

    @cached_property
    def losses(self) -> FloatArray:
        """Loss of each panel if all its features are known; (n_panels,)."""
        return np.array([panel.loss for panel in self.panels])

    @cached_property
    def rises(self) -> FloatArray:
        """By how much each panel's loss rises without a feature; (n_panels, n_read)."""
        rises = np.zeros(self.members.shape)
        for panel, row in zip(self.panels, rises, strict=True):
            row[list(panel.feature_idxs)] = panel.rises
        return rises

    @cached_property
    def ranks(self) -> IntArray:
        """Rank of features in each panel's order, from 1, or 0; (n_panels, n_read)."""
        ranks = np.zeros(self.members.shape, np.int64)
        for panel, row in zip(self.panels, ranks, strict=True):
            row[list(panel.feature_idxs)] = np.arange(len(panel.feature_idxs)) + 1
        return ranks

    @cached_property
    def floors(self) -> FloatArray:
        """Lower bound of a panel's expected loss; (n_panels, n_read + 1).

        The second index is the rank of the last known feature of the panel. The bound
        is the loss of the shortest panel that is a beginning of the order and has all
        known features.
        """
        losses = {frozenset(panel.feature_idxs): panel.loss for panel in self.panels}
        floors = np.zeros((len(self.panels), self.n_read + 1))
        for panel, row in zip(self.panels, floors, strict=True):
            order, floor = panel.feature_idxs, panel.loss
            # From the whole order down: a bound holds for all shorter beginnings.
            for size in range(len(order), -1, -1):
                floor = max(floor, losses.get(frozenset(order[:size]), floor))
                row[size] = floor
        return floors

    @cached_property
    def gains(self) -> FloatArray:
        """Gain of each panel in loss over the class shares; (n_panels,)."""
        gains: FloatArray = np.maximum(self.losses.max() - self.losses, 0.0)
        return gains

    def prepare(self) -> None:
        """Compute cached arrays in advance, so that the first answers are fast."""
        blends = (panel.blend for panel in self.panels if panel.blend is not None)
        ridges = (ridge for blend in blends for ridge in blend.ridges)
        _ = self.members, self.floors, self.ranks, self.rises
        _ = [ridge.waves for ridge in ridges if isinstance(ridge, KernelRidge)]

    def expect_losses(self, is_known: BoolArray) -> FloatArray:
        """Return the expected loss of each panel; (n_read,) -> (n_panels,).

        It is the loss on held-out rows plus the rises for features that are not known.
        Their sum is raised by the share `SUPERADDED` for each but the first, since
        features can replace one another. It is at least the bound in `floors`.
        """
        losses: FloatArray = self._losses_by_known(is_known.tobytes())
        return losses

    @cached_property
    def _losses_by_known(self) -> Any:
        def expect(known: bytes) -> FloatArray:
            is_known = np.frombuffer(known, np.bool_)
            lasts = (self.ranks * is_known).max(axis=1, initial=0)
            n_hidden = (self.members & ~is_known).sum(axis=1)
            shares = 1.0 + SUPERADDED * np.maximum(n_hidden - 1, 0)
            rises = self.rises @ ~is_known * shares
            floors = self.floors[np.arange(lasts.size), lasts]
            expected: FloatArray = np.maximum(self.losses + rises, floors)
            expected.flags.writeable = False
            return expected

        return lru_cache(maxsize=MAX_KEPT)(expect)

    def expect_best(self, is_known: BoolArray) -> FloatArray:
        """Return the least expected loss if one more feature is known; (n_read,).

        For each feature it is the least over the panels that have it.
        """
        lasts = (self.ranks * is_known).max(axis=1, initial=0)
        lasts = np.maximum(lasts[:, None], self.ranks)
        lacking = self.members & ~is_known
        n_hidden = lacking.sum(axis=1, keepdims=True) - lacking
        rises = (self.rises @ ~is_known)[:, None] - self.rises * ~is_known
        rises *= 1.0 + SUPERADDED * np.maximum(n_hidden - 1, 0)
        floors = np.take_along_axis(self.floors, lasts, axis=1)
        losses = np.maximum(self.losses[:, None] + rises, floors)
        return np.asarray(np.where(self.members, losses, np.inf).min(axis=0))

    def best_panel(self, is_known: BoolArray) -> int:
        """Return the panel that predicts from known features, (n_features,).

        Candidates: for each number of ignored answers the panel with fewest hidden
        features, the preferred one of several. The candidate of least expected loss
        predicts, but a panel that matches the known features exactly always wins.
        """
        number: int = self._find_panel_cached(is_known[: self.n_read].tobytes())
        return number

    @cached_property
    def _find_panel_cached(self) -> Any:
        """The search of `best_panel`, which keeps what it found for known features."""

        def search_panel(bits: bytes) -> int:
            known = np.frombuffer(bits, np.bool_)
            n_hidden = (self.members & ~known).sum(axis=1)
            n_ignored = (known & ~self.members).sum(axis=1)
            # The first of each number of ignored answers has fewest hidden features.
            order = np.lexsort((n_hidden, n_ignored))
            _, firsts = np.unique(n_ignored[order], return_index=True)
            kept = order[firsts]
            # The first ignores fewest answers; if it hides none either, it matches.
            if n_hidden[kept[0]] == n_ignored[kept[0]] == 0:
                return int(kept[0])
            return int(kept[np.argmin(self.expect_losses(known)[kept])])

        return lru_cache(maxsize=MAX_KEPT)(search_panel)

    def mark_readable(self, n_features: int) -> BoolArray:
        """Return which features panels or own questions read; (n_features,)."""
        is_readable: BoolArray = self._readable_by_size(n_features)
        return is_readable

    @cached_property
    def _readable_by_size(self) -> Any:
        def mark(n_features: int) -> BoolArray:
            is_readable = np.zeros(n_features, np.bool_)
            is_readable[: self.n_read] = self.is_read
            if self.worth is not None:
                is_readable[self.worth.readable] = True
            is_readable.flags.writeable = False
            return is_readable

        return lru_cache(maxsize=1)(mark)

    def reads_just(self, number: int, is_known: BoolArray) -> bool:
        """Return whether a panel reads all that is known, and nothing else."""
        read = is_known & self.mark_readable(is_known.size)
        is_beyond = bool(read[self.n_read :].any())
        # Their bytes are compared in a tenth of the time.
        return not is_beyond and (
            read[: self.n_read].tobytes() == self.members[number].tobytes()
        )

    def known_panel(self, is_known: BoolArray) -> int:
        """Return the preferred panel whose features are all known."""
        is_lacking = (self.members & ~is_known[: self.n_read]).any(axis=1)
        # The first False: the panel without features lacks none.
        return int(np.argmin(is_lacking))

    def predict_logits(
        self, number: int, values: FloatArray, is_known: BoolArray
    ) -> FloatArray:
        """Return the log odds of rows by a panel; (..., n_features), (n_features,).

        The known features are the same in all rows: they have a value, or a missing
        cell that is information. All other features are hidden.

        If nothing is known, these are the log odds of the class shares. For a panel
        without features the tables alone predict. For others the tables in the blend
        read all known features, and the tables alone have the weight
        h ** `TABLES_POWER`, h being the share of the panel's features that is hidden.
        """
        panel, members = self.panels[number], self.members[number]
        is_known = is_known & self.mark_readable(is_known.size)
        if not is_known.any():
            return np.tile(self.starts, (*values.shape[:-1], 1))
        is_lacking, hiding = members & ~is_known[: self.n_read], None
        if is_lacking.any():
            hiding = self._hidings(number, is_lacking.tobytes(), values.shape[-1])
        if self.tables is None or self.reads_just(number, is_known):
            return panel.logits(values, self.starts, hiding)
        scores = self.tables.score(values.reshape(-1, values.shape[-1]), is_known)
        by_tables = to_odds(scores).reshape(*values.shape[:-1], self.starts.size)
        if panel.blend is None:
            return by_tables
        odds = panel.blend.logits(values, hiding, by_tables)
        share = is_lacking.sum() / members.sum()
        mixed: FloatArray = odds + share**TABLES_POWER * (by_tables - odds)
        return mixed

    @cached_property
    def widest(self) -> int:
        """The panel of most features, the preferred one of several."""
        return int(self.members.sum(axis=1).argmax())

    @cached_property
    def _hidings(self) -> Any:
        """A cached function from a panel and its hidden features to their `Hiding`."""

        def find(number: int, lacking: bytes, n_features: int) -> Hiding:
            blend, is_hidden = self.panels[number].blend, np.zeros(n_features, np.bool_)
            assert blend is not None, "a panel without features hides none"
            is_hidden[: self.n_read] = np.frombuffer(lacking, np.bool_)
            return blend.hide(is_hidden)

        return lru_cache(maxsize=MAX_KEPT)(find)

    def next_predictor(self, is_known: BoolArray, ahead: Sequence[int]) -> int:
        """Return the next panel that predicts as features become known.

        `ahead` lists the features in order. If the panel never changes, it is that of
        now.
        """
        now = self.best_panel(is_known)

        def find_after(n_answers: int) -> int:
            will_know = is_known.copy()
            will_know[list(ahead[:n_answers])] = True
            return self.best_panel(will_know)

        reached = map(find_after, range(1, len(ahead) + 1))
        return next((panel for panel in reached if panel != now), now)

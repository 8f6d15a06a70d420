"""The policy `worth`: ask each case what lowers its entropy most for the price."""

from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.asking import Worth, make_cases, make_terms, play_askings
from askless.core.model.ladder.blends import to_chances
from askless.core.model.ladder.tables import PartTables
from askless.core.model.votes import TIE
from askless.core.session.ladders import ladder_of, mark_known, predict_by
from askless.core.session.policies.odds import OddsPolicy
from askless.core.session.policy import Step, choose_beyond_worthwhile
from askless.core.session.position import UNLIMITED, Position, cached_once
from askless.core.session.rows.walks import SimulatedRows, Standing, Walks


class TableCase(NamedTuple):
    """A case as tables see it."""

    #: (n_features,)
    is_known: BoolArray
    part: int
    #: (n_classes,), log chances, not normalised
    logs: FloatArray


class WorthPolicy(OddsPolicy):
    """Ask the feature that lowers the expected entropy most for its price.

    Tables of the case's part ask; a gate is worth what the best question behind it is
    worth. The widest panel predicts, in whose blend these tables are, from what is
    known; where little is, the tables do. A case ends where no answer that can be paid
    lowers the entropy.
    """

    name = "worth"

    def serves(self, ensemble: Ensemble) -> bool:
        """Return whether the ensemble has tables, and terms to ask by them."""
        ladder = ensemble.panels
        return ladder is not None and None not in (ladder.tables, ladder.worth)

    def choose_next(self, position: Position) -> Step:
        """Return the feature of the largest rate, or the reason for none."""
        asked = choose_feature(position)
        if asked is not None:
            return Step(asked)
        if position.beyond is not position:
            return choose_beyond_worthwhile(self, position)
        if not mark_open_askable(position).any():
            return Step(None, "all_known")
        return Step(None, position.reason_to_stop)

    def list_open(self, position: Position) -> list[int]:
        """Return features that lower the entropy: the asked one, then by rate."""
        rates = compute_rates(position)
        order = sorted(rates, key=lambda idx: -rates[idx])
        asked = choose_feature(position)
        return list(dict.fromkeys([*([] if asked is None else [asked]), *order]))

    def can_use(self, position: Position, feature_idx: int) -> bool:
        """Return whether some table or gate reads the feature."""
        return feature_idx in worth_of(position.ensemble).feature_idxs

    def mark_known(self, position: Position) -> BoolArray:
        """Return which features are known, missing values that are information too."""
        return mark_known(position)

    def mark_useful(self, position: Position) -> BoolArray:
        """Return which features tables or gates read; (n_features,)."""
        return mark_askable(position.ensemble)

    def open_share(self, position: Position, feature_idx: int) -> float:
        """Return a feature's share of the rates of all that could be asked."""
        rates = compute_rates(position)
        total = sum(rates.values())
        return rates.get(feature_idx, 0.0) / total if total > 0 else 1.0

    def standing(self, position: Position) -> Standing:
        """Return the log odds by the widest panel and the tables."""
        widest = ladder_of(position.ensemble).widest
        odds = predict_by(position, widest, mark_known(position))
        part = np.array(make_table_case(position).part)
        return standing_of_odds(position.ensemble, odds, part)

    def walk(self, ensemble: Ensemble, simulated: SimulatedRows) -> Walks:
        """Simulate a session for every row under every budget."""
        tables, worth = tables_of(ensemble), worth_of(ensemble)
        is_readable = ladder_of(ensemble).mark_readable(simulated.values.shape[1])
        cases = make_cases(tables, simulated.values, is_readable)
        shape = simulated.values.shape[0], simulated.budgets.size
        is_asked = np.zeros((*shape, simulated.values.shape[1]), np.bool_)
        spent, n_asked, parts = np.zeros((3, *shape), np.int64)
        ranks = np.zeros(simulated.values.shape, np.int64)
        for column, limit in enumerate(simulated.budgets.tolist()):
            budget = None if limit == UNLIMITED else limit
            terms = make_terms(ensemble.catalogue, worth.terms_at(budget))
            askable = mark_askable(ensemble)
            ends = play_askings(
                tables, ensemble.catalogue, cases, limit, terms, askable
            )
            ranks = ends.ranks
            is_asked[:, column] = ranks > 0
            spent[:, column], parts[:, column] = ends.spent, ends.parts
            n_asked[:, column] = ranks.max(axis=1, initial=0)
        odds = predict_at_ends(ensemble, simulated.values, is_asked)
        standing = standing_of_odds(ensemble, odds, parts)
        return Walks(**vars(standing), spent=spent, n_asked=n_asked, ranks=ranks)


def tables_of(ensemble: Ensemble) -> PartTables:
    """Return the tables of an ensemble that has some."""
    assert ensemble.panels is not None, "the policy needs them"
    assert ensemble.panels.tables is not None, "the policy needs them"
    return ensemble.panels.tables


def worth_of(ensemble: Ensemble) -> Worth:
    """Return the terms by which an ensemble's cases are asked by tables."""
    assert ensemble.panels is not None, "the policy needs it"
    assert ensemble.panels.worth is not None, "the policy needs it"
    return ensemble.panels.worth


def mark_askable(ensemble: Ensemble) -> BoolArray:
    """Return which features may be asked; (n_features,)."""
    is_askable = np.zeros(len(ensemble.catalogue.features), np.bool_)
    is_askable[worth_of(ensemble).readable] = True
    return is_askable


@cached_once
def make_table_case(position: Position) -> TableCase:
    """Return a case as tables see it: its known features, part and log chances.

    A missing value is known where it is information; what was refused is not known.
    """
    tables, values = tables_of(position.ensemble), position.case.values[None]
    is_known = np.asarray(position.case.status == kernels.KNOWN, np.bool_)
    is_known |= position.is_empty & tables.has_missing
    is_known &= ladder_of(position.ensemble).mark_readable(is_known.size)
    coded = tables.find_cells(values, is_known)[0]
    logs = np.empty(len(position.ensemble.classes))
    way = tables.list_ways(values)[0]
    part = kernels.compute_case_log_chances(coded, is_known, way, tables.served, logs)
    return TableCase(is_known, int(part), logs)


@cached_once
def mark_open_askable(position: Position) -> BoolArray:
    """Return which features have no answer yet and may be asked; (n_features,)."""
    is_open = position.case.status == kernels.OPEN
    return np.asarray(is_open & mark_askable(position.ensemble), np.bool_)


@cached_once
def list_offers(position: Position) -> kernels.Offers:
    """Return what a case can still be asked, at the prices of now."""
    is_open = mark_open_askable(position)
    return kernels.Offers(is_open, position.prices, position.remaining)


@cached_once
def rate_terms_of(position: Position) -> kernels.RateTerms:
    """Return the terms of what the session spends at most."""
    terms = worth_of(position.ensemble).terms_at(position.limit)
    return make_terms(position.ensemble.catalogue, terms)


@cached_once
def choose_feature(position: Position) -> int | None:
    """Return the feature to ask next; None where no answer is worth its price."""
    terms, offers = rate_terms_of(position), list_offers(position)
    first = terms.first
    # What training played out as the first question is asked where nothing is known.
    is_first = first != kernels.NONE and (position.case.status == kernels.OPEN).all()
    if is_first and offers.is_open[first] and offers.prices[first] <= offers.remaining:
        return first
    asked, _, _ = kernels.choose_look(
        compute_posterior(position),
        make_table_case(position).part,
        offers,
        tables_of(position.ensemble).served,
        terms,
    )
    return None if asked == kernels.NONE else int(asked)


@cached_once
def compute_posterior(position: Position) -> FloatArray:
    """Return the chance of each class by the tables as they are; (n_classes,)."""
    logs = make_table_case(position).logs
    posterior = np.empty(logs.size)
    kernels.normalise_logs(logs, posterior)
    return posterior


@cached_once
def compute_rates(position: Position) -> dict[int, float]:
    """Return the fall of entropy by its price of each feature that lowers it."""
    case, gains = make_table_case(position), np.empty((2, position.prices.size))
    kernels.write_rates(
        compute_posterior(position),
        case.part,
        list_offers(position),
        tables_of(position.ensemble).served,
        rate_terms_of(position),
        gains,
    )
    helping = np.flatnonzero(gains[1])
    return dict(zip(helping.tolist(), gains[1, helping].tolist(), strict=True))


def predict_at_ends(
    ensemble: Ensemble, values: FloatArray, is_asked: BoolArray
) -> FloatArray:
    """Return the log odds of rows by what each was asked under each budget.

    Shape (n_rows, n_budgets, n_outputs); `is_asked` is (n_rows, n_budgets, n_features).
    Ends at which the same is known are predicted together.
    """
    ladder = ladder_of(ensemble)
    is_known = is_asked & ~np.isnan(values)[:, None]
    may_lack = is_asked[..., : ladder.n_read] & ladder.may_lack
    is_known[..., : ladder.n_read] |= may_lack
    ends = is_known.reshape(-1, values.shape[1])
    rows = np.repeat(np.arange(len(values)), is_known.shape[1])
    odds = np.empty((len(ends), ensemble.n_outputs))
    _, firsts, key_idxs = np.unique(
        np.packbits(ends, axis=1), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(key_idxs.reshape(-1), kind="stable")
    sizes = np.bincount(key_idxs.reshape(-1), minlength=firsts.size)
    for first, alike in zip(
        firsts, np.split(order, np.cumsum(sizes)[:-1]), strict=True
    ):
        odds[alike] = ladder.predict_logits(
            ladder.widest, values[rows[alike]], ends[first]
        )
    return odds.reshape(*is_known.shape[:2], -1)


def standing_of_odds(ensemble: Ensemble, odds: FloatArray, parts: IntArray) -> Standing:
    """Return the vote of sessions by their log odds, (..., n_outputs), and parts.

    The share known is that by which the entropy of the class shares has fallen.
    """
    chances = to_chances(odds)
    first = 1 if odds.shape[-1] == 1 else 0
    shares = ensemble.class_priors
    before = -(shares * np.log(np.maximum(shares, TIE))).sum()
    left = -(chances * np.log(np.maximum(chances, TIE))).sum(axis=-1)
    return Standing(
        margins=2.0 * chances[..., first:] - 1.0,
        known_shares=np.clip(1.0 - left / max(before, TIE), 0.0, 1.0),
        scores=odds,
        marks=parts,
    )

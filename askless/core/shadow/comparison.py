"""The whole comparison of a log's waterfall with a policy of ours, block by block."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import Estimate
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.session.policy import Outlook
from askless.core.session.state import Aim
from askless.core.shadow.day_sums import BoundedMean, DaySums, DrawnSums
from askless.core.shadow.logs import (
    UNKNOWN,
    Donors,
    LoggedCases,
    charge_offers,
    fill_lacking,
    mark_empty,
    price_offers,
)
from askless.core.shadow.replay import (
    ReplayedCases,
    charge_logged,
    compare_labels,
    cut_waterfall,
    make_losses,
    replay_cases,
    split_saving,
)

#: Why a policy is compared: a price of an error was given; it errs as the waterfall did
#: on older cases; it spends as much; it agrees with decisions about as often as the
#: model can; or the model takes no aims.
AimReason = Literal["error_price", "error", "spend", "agreement", "none"]

# Mean budgets of the frontier, as shares of the spend of least error.
SHARES = (0.05, 0.15, 0.3, 0.5, 0.75, 1.0)
# Where decisions are learnt: so much more disagreement than the least is accepted.
SLACK = 0.01


class ChosenAim(NamedTuple):
    """The aim of the policy that is compared, and why it is that one."""

    aim: Aim | None
    reason: AimReason


@dataclass(frozen=True)
class ShadowTerms:
    """Terms of a comparison; nothing here depends on the cases that are replayed."""

    ensemble: Ensemble
    aim: Aim | None
    #: (n_classes, n_classes), the loss of true class and label
    costs: FloatArray
    donors: Donors
    #: whether decisions stand for outcomes, which the log lacks: errors are then cases
    #: on which we don't agree
    is_agreement: bool
    seed: int
    #: every so many cases play the frontier and go without each vendor
    stride: int

    @property
    def frontier(self) -> list[Aim]:
        """Aims of the points of our frontier."""
        outlook = look_ahead(self.ensemble)
        if outlook is None:
            return []
        budgets = {round(share * outlook.spend) for share in SHARES} - {0}
        return [Aim(mean_budget=budget) for budget in sorted(budgets)]


class FrontierPoint(NamedTuple):
    """Spend and loss of a policy."""

    spend: BoundedMean
    loss: BoundedMean


class VendorWorth(NamedTuple):
    """One vendor: what was bought, what we would buy, and what dropping it does."""

    offer: int
    #: shares of cases that are asked, in the log and by us
    asked_logged: float
    asked: float
    #: share of its answers in the log that are empty
    empty: float
    #: mean over all cases, in micro-units
    spend_logged: float
    spend: float
    #: share of cases whose label it changes
    changed: float
    #: what spend and loss change by if it is dropped
    dropped_spend: Estimate
    dropped_loss: Estimate
    #: whether enough older cases have its answers to draw from
    has_donors: bool


@dataclass(frozen=True)
class ShadowFigures:
    """Figures of the replayed cases; spends are means in micro-units."""

    n_cases: int
    n_days: int
    n_judged: int
    #: of the cases: the share whose answers are all in the log
    supported: Estimate
    spend_logged: Estimate
    spend: BoundedMean
    #: mean losses, of cases with an outcome
    loss_logged: Estimate
    loss: BoundedMean
    #: loss of ours less that of the waterfall
    loss_gap: Estimate
    #: shares of the cases that have a decision
    differs: BoundedMean
    worse: BoundedMean
    better: Estimate
    #: of the supported cases alone: spend of the log and ours
    spend_logged_supported: Estimate
    spend_supported: Estimate
    #: parts of the saving: not asking twice is of all cases, the others of the
    #: supported ones
    saved_repeats: Estimate
    saved_order: Estimate
    saved_early: Estimate
    frontier: tuple[FrontierPoint, ...]
    cuts: tuple[FrontierPoint, ...]
    vendors: tuple[VendorWorth, ...]


class ReplayStep(NamedTuple):
    """Number of cases that are replayed so far."""

    n_cases: int


def look_ahead(ensemble: Ensemble) -> Outlook | None:
    """Return spend and error of the rule that errs least; None: it takes no aims."""
    for name in list_serving_policies(ensemble):
        outlook = POLICIES[name].look_ahead(ensemble, None)
        if outlook is not None:
            return outlook
    return None


def choose_aim(
    ensemble: Ensemble,
    older: LoggedCases,
    costs: FloatArray,
    error_price: int | None,
    *,
    is_agreement: bool,
) -> ChosenAim:
    """Choose the policy to compare, by older cases alone.

    Without a price of an error, ours is to err as the waterfall did on older cases, at
    the least spend; if it can't, it is to spend as much. Its own figures are those of
    held-out rows of its training.
    """
    outlook = look_ahead(ensemble)
    if outlook is None:
        return ChosenAim(None, "none")
    if error_price is not None:
        return ChosenAim(Aim(error_price=error_price), "error_price")
    if is_agreement:
        wanted = outlook.error + SLACK * float(costs.max())
        return ChosenAim(Aim(wanted_error=wanted), "agreement")
    losses = make_losses(costs, older, older.decisions)
    if not np.isnan(losses).all():
        loss = float(np.nanmean(losses))
        if loss >= outlook.error:
            return ChosenAim(Aim(wanted_error=loss), "error")
    spends = charge_logged(ensemble.catalogue, older).sum(axis=1)
    return ChosenAim(Aim(mean_budget=round(float(spends.mean()))), "spend")


def compare_log(
    terms: ShadowTerms, blocks: Iterable[LoggedCases]
) -> Generator[ReplayStep, None, ShadowFigures]:
    """Replay blocks of cases; only sums by day are kept of them."""
    sums, few, n_cases = DaySums(), DaySums(), 0
    for block in blocks:
        cases = block
        if terms.is_agreement:
            cases = LoggedCases(**{**vars(block), "outcomes": block.decisions})
        random = np.random.default_rng([terms.seed, n_cases])
        filled = fill_lacking(terms.ensemble, terms.donors, cases, random)
        replayed = replay_cases(terms.ensemble, terms.aim, cases, filled)
        sums.add(cases.days, measure_main(terms, cases, filled, replayed))
        is_few = cases.numbers % terms.stride == 0
        if is_few.any():
            taken = cases.take(is_few)
            few.add(taken.days, measure_others(terms, taken, filled[is_few]))
        n_cases += cases.n_cases
        yield ReplayStep(n_cases)
    random = np.random.default_rng([terms.seed, n_cases])
    return conclude(terms, n_cases, sums.draw(random), few.draw(random))


def measure_main(
    terms: ShadowTerms,
    cases: LoggedCases,
    filled: FloatArray,
    replayed: ReplayedCases,
) -> Mapping[str, FloatArray]:
    """Return figures of each case, by name; (n_cases,) each."""
    catalogue = terms.ensemble.catalogue
    logged = charge_logged(catalogue, cases)
    early, order = split_saving(catalogue, cases, replayed)
    is_supported = replayed.is_supported
    figures = {
        "cases": np.ones(cases.n_cases),
        "supported": is_supported,
        "spend_logged": logged.sum(axis=1) + cases.repeats,
        "repeats": cases.repeats,
        "spend": replayed.spent,
        "spend_least": replayed.least,
        "spend_most": replayed.most,
        "spend_logged_supported": np.where(is_supported, logged.sum(axis=1), 0),
        "spend_supported": np.where(is_supported, replayed.spent, 0),
        "early": early,
        "order": order,
        **compare_labels(terms.costs, cases, replayed),
    }
    charges = charge_offers(catalogue, filled)
    is_empty = mark_empty(catalogue, cases.values) & (cases.orders > 0)
    for number in range(len(catalogue.offers)):
        figures |= {
            f"asked_logged {number}": cases.orders[:, number] > 0,
            f"empty {number}": is_empty[:, number],
            f"spend_logged {number}": logged[:, number],
            f"asked {number}": replayed.is_asked[:, number],
            f"spend {number}": charges[:, number] * replayed.is_asked[:, number],
        }
    return {name: np.asarray(column, np.float64) for name, column in figures.items()}


def measure_others(
    terms: ShadowTerms, cases: LoggedCases, filled: FloatArray
) -> Mapping[str, FloatArray]:
    """Return figures of the frontier, of cut waterfalls, and without each vendor."""
    ensemble, costs = terms.ensemble, terms.costs
    zeros = np.zeros(cases.n_cases)
    figures: dict[str, FloatArray] = {"cases": zeros + 1.0, "judged": zeros}

    def add(name: str, replayed: ReplayedCases) -> None:
        compared = compare_labels(costs, cases, replayed)
        figures["judged"] = compared["judged"]
        for part, column in zip(
            ("", "_least", "_most"),
            (replayed.spent, replayed.least, replayed.most),
            strict=True,
        ):
            figures[f"{name} spend{part}"] = column.astype(np.float64)
            figures[f"{name} loss{part}"] = compared[f"loss{part}"]

    base = replay_cases(ensemble, terms.aim, cases, filled)
    add("base", base)
    for place, aim in enumerate(terms.frontier):
        add(f"aim {place}", replay_cases(ensemble, aim, cases, filled))
    for n_vendors in range(len(list_vendors(terms)) + 1):
        labels, spent = cut_waterfall(ensemble, cases, n_vendors)
        is_sure = np.ones(cases.n_cases, np.bool_)
        cut = ReplayedCases(labels, cases.orders > 0, spent, is_sure, spent, spent)
        add(f"cut {n_vendors}", cut)
    for offer in list_vendors(terms):
        without = replay_cases(ensemble, terms.aim, cases, filled, offer)
        add(f"without {offer}", without)
        changed = without.labels != base.labels
        figures[f"changed {offer}"] = changed.astype(np.float64)
    return figures


def list_vendors(terms: ShadowTerms) -> list[int]:
    """Return the offers that cost something."""
    prices = price_offers(terms.ensemble.catalogue)
    return [int(offer) for offer in np.flatnonzero(prices > 0)]


def conclude(
    terms: ShadowTerms, n_cases: int, main: DrawnSums, few: DrawnSums
) -> ShadowFigures:
    """Return the comparison that sums by day amount to."""

    def point(name: str) -> FrontierPoint:
        spend = few.bounded(f"{name} spend")
        return FrontierPoint(spend, few.bounded(f"{name} loss", "judged"))

    return ShadowFigures(
        n_cases=n_cases,
        n_days=main.n_days,
        n_judged=round(main.total("judged")),
        supported=main.mean("supported"),
        spend_logged=main.mean("spend_logged"),
        spend=main.bounded("spend"),
        loss_logged=main.mean("loss_logged", "judged"),
        loss=main.bounded("loss", "judged"),
        loss_gap=main.mean("loss", "judged", less="loss_logged"),
        differs=main.bounded("differs", "compared"),
        worse=main.bounded("worse", "compared"),
        better=main.mean("better", "compared"),
        spend_logged_supported=main.mean("spend_logged_supported", "supported"),
        spend_supported=main.mean("spend_supported", "supported"),
        saved_repeats=main.mean("repeats"),
        saved_order=main.mean("order", "supported"),
        saved_early=main.mean("early", "supported"),
        frontier=tuple(point(f"aim {i}") for i in range(len(terms.frontier))),
        cuts=tuple(point(f"cut {i}") for i in range(len(list_vendors(terms)) + 1)),
        vendors=tuple(
            value_vendor(terms, offer, main, few) for offer in list_vendors(terms)
        ),
    )


def value_vendor(
    terms: ShadowTerms, offer: int, main: DrawnSums, few: DrawnSums
) -> VendorWorth:
    """Return what a vendor is worth."""
    without = f"without {offer}"
    return VendorWorth(
        offer=offer,
        asked_logged=main.mean(f"asked_logged {offer}").value,
        asked=main.mean(f"asked {offer}").value,
        empty=main.mean(f"empty {offer}", f"asked_logged {offer}").value,
        spend_logged=main.mean(f"spend_logged {offer}").value,
        spend=main.mean(f"spend {offer}").value,
        changed=few.mean(f"changed {offer}").value,
        dropped_spend=few.mean(f"{without} spend", less="base spend"),
        dropped_loss=few.mean(f"{without} loss", "judged", less="base loss"),
        has_donors=terms.donors.has(offer),
    )


def has_outcomes(cases: LoggedCases) -> bool:
    """Return whether a log says how any of its cases turned out."""
    return bool((cases.outcomes != UNKNOWN).any())

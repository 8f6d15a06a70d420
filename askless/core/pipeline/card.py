"""Facts about a training for the model's card."""

from collections.abc import Collection, Sequence

import numpy as np

from askless.core.catalogue.prices import (
    MICROS_PER_UNIT,
    Paid,
    from_micros,
    price_feature,
)
from askless.core.codes.binned_table import BinnedTable
from askless.core.model.ensemble import Ensemble
from askless.core.panels.emptiness import mark_empty_offers
from askless.core.pipeline.comparison import Comparison
from askless.core.pipeline.validation import Validation
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams


def make_card(
    table: BinnedTable, ensemble: Ensemble, n_folds: int, seed: int
) -> dict[str, object]:
    """Return the facts about a training that a reader of the model should know."""
    counts = np.bincount(table.targets, minlength=len(table.classes))
    certification, optional = ensemble.certification, dict[str, object]()
    if certification is not None:
        optional["rows_set_aside"] = certification.n_samples
    features, used = table.catalogue.features, np.flatnonzero(ensemble.is_used)
    if table.sample_idxs.size < table.n_samples:
        optional["rows_sampled"] = int(table.sample_idxs.size)
    return {
        "rows": table.n_samples,
        "rows_by_class": {
            class_label.label: int(count)
            for class_label, count in zip(table.classes, counts, strict=True)
        },
        "missing_cells": table.n_missing,
        "hypotheses": len(ensemble.hypotheses),
        "features_used": [features[idx].name for idx in used],
        "folds": n_folds,
        "seed": seed,
    } | optional


def report_empty_answers(dataset: Dataset) -> dict[str, object]:
    """Return how often each offer comes back empty; nothing if none ever does.

    `share` is the weight of rows where it is empty. `cost` is the mean cost of empty
    answers if every case asks for the offer. Amounts are in units.
    """
    catalogue = dataset.catalogue
    is_empty, is_asked = mark_empty_offers(dataset)
    if not is_empty.any():
        return {}
    asked = dataset.weights @ is_asked
    shares = dataset.weights @ is_empty / np.maximum(asked, np.finfo(float).tiny)
    offers = []
    for offer, share in zip(catalogue.offers, shares.tolist(), strict=True):
        price = from_micros(price_feature(catalogue, Paid(), offer[0]))
        billing = catalogue.billing_of(offer[0])
        offers.append(
            {
                "offer": catalogue.offer_name(offer[0]),
                "price": price,
                "billing": billing,
                "share": round(share, 9),
                "cost": round(share * price, 9) if billing == "per_call" else 0.0,
            }
        )
    return {"empty_answers": offers}


def report_choices(
    auto: Collection[str],
    params: BoostParams,
    tried: Sequence[tuple[BoostParams, float]],
) -> dict[str, object]:
    """Return the parameters named in `auto` with the values chosen for the whole."""
    # Nothing is tried where no feature was selected.
    if not auto or not tried:
        return {}
    return {"chosen": {name: getattr(params, name) for name in sorted(auto)}}


def report_comparison(comparison: Comparison) -> dict[str, object]:
    """Return the losses and spends of each policy by budget, and which is kept where.

    Amounts are in units. `losses` are error costs; without `error_costs` they are the
    shares of wrong labels.
    """

    def to_units(budget: int | None) -> float | None:
        return None if budget is None else from_micros(budget)

    return {
        "budgets": [to_units(budget) for budget in comparison.budgets],
        "losses": {policy: list(means) for policy, means in comparison.losses},
        "log_losses": {policy: list(means) for policy, means in comparison.log_losses},
        "mean_spends": {
            policy: [mean / MICROS_PER_UNIT for mean in means]
            for policy, means in comparison.spends
        },
        "kept": [
            {"up_to": to_units(policy_range.up_to), "policy": policy_range.policy}
            for policy_range in comparison.ranges
        ],
    } | report_own_questions(comparison)


def report_own_questions(comparison: Comparison) -> dict[str, object]:
    """Return the gain of own questions over lists; nothing if not evaluated.

    `gains` are error costs saved, without `error_costs` shares of errors.
    """
    own = comparison.own_questions
    if own is None:
        return {}
    return {
        "own_questions": {
            "in_force": list(own.in_force),
            "leads": list(own.leads),
            "gains": list(own.gains),
            "mean_gain": own.mean_gain,
            "standard_error": own.mean_error,
        }
    }


def report_validation(validation: Validation) -> dict[str, object]:
    """Return the card's figures of a validation: sessions, and policies compared."""
    figures: dict[str, object] = {"sessions": report_sessions(validation)}
    if validation.comparison is not None:
        figures["comparison"] = report_comparison(validation.comparison)
    return figures


def report_sessions(validation: Validation) -> dict[str, object]:
    """Return figures of sessions under each budget of the curve; amounts in units.

    `lists`, `commonest` and `ended_after` come from sessions of the model itself on
    `rows` rows. `saved` compares, on held-out rows of folds, mean spend and error of
    the policy that asks and of the fixed list; None where both are the same.
    """
    curve, fixed = validation.curve, validation.fixed
    return {
        "rows": curve.n_played,
        "budgets": [
            None if budget is None else from_micros(budget) for budget in curve.budgets
        ],
        "lists": [purchase.n_lists for purchase in validation.purchases],
        "commonest": [purchase.commonest for purchase in validation.purchases],
        "ended_after": [
            list(purchase.ended_after) for purchase in validation.purchases
        ],
        "saved": [
            None
            if fixed is None or validation.spends[place] == fixed.mean_spends[place]
            else {
                "spend": validation.spends[place] / MICROS_PER_UNIT,
                "error": curve.errors_calibrated[place],
                "fixed_spend": fixed.mean_spends[place] / MICROS_PER_UNIT,
                "fixed_error": fixed.errors_calibrated[place],
            }
            for place in range(len(curve.budgets))
        ],
    }

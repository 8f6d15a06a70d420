"""What a reader of a model should know of its training."""

from collections.abc import Collection, Sequence

import numpy as np

from core.model.ensemble import Ensemble
from core.pipeline.comparison import Comparison
from core.pipeline.validation import Validated
from core.table.binned_table import BinnedTable
from core.table.prices import MICROS_PER_UNIT, from_micros
from core.training.params import BoostParams


def make_card(
    table: BinnedTable, ensemble: Ensemble, n_folds: int, seed: int
) -> dict[str, object]:
    """Facts about a training that a reader of the model should know."""
    counts = np.bincount(table.targets, minlength=len(table.classes))
    certification, told = ensemble.certification, dict[str, object]()
    if certification is not None:
        told["rows_set_aside"] = certification.n_samples
    features, used = table.catalogue.features, np.flatnonzero(ensemble.is_used)
    if table.sample_idxs.size < table.n_samples:
        told["rows_sampled"] = int(table.sample_idxs.size)
    return {
        "rows": table.n_samples,
        "rows_by_class": {
            one.label: int(count)
            for one, count in zip(table.classes, counts, strict=True)
        },
        "missing_cells": table.n_missing,
        "hypotheses": len(ensemble.hypotheses),
        "features_used": [features[idx].name for idx in used],
        "folds": n_folds,
        "seed": seed,
    } | told


def tell_choices(
    auto: Collection[str],
    params: BoostParams,
    tried: Sequence[tuple[BoostParams, float]],
) -> dict[str, object]:
    """Return the parameters that were chosen for the whole."""
    # Nothing is tried where no feature was selected.
    if not auto or not tried:
        return {}
    return {"chosen": {name: getattr(params, name) for name in sorted(auto)}}


def tell_comparison(compared: Comparison) -> dict[str, object]:
    """Return what each policy comes to under which budget, and who is kept; in units.

    `losses` are error costs, without `error_costs` shares of wrong labels.
    """

    def tell(budget: int | None) -> float | None:
        return None if budget is None else from_micros(budget)

    return {
        "budgets": [tell(budget) for budget in compared.budgets],
        "losses": {policy: list(its) for policy, its in compared.losses},
        "log_losses": {policy: list(its) for policy, its in compared.log_losses},
        "mean_spends": {
            policy: [one / MICROS_PER_UNIT for one in its]
            for policy, its in compared.spends
        },
        "kept": [
            {"up_to": tell(one.up_to), "policy": one.policy} for one in compared.ranges
        ],
    }


def tell_found(found: Validated) -> dict[str, object]:
    """Return what the card tells of a validation: policies compared, sessions."""
    told: dict[str, object] = {"sessions": tell_sessions(found)}
    if found.comparison is not None:
        told["comparison"] = tell_comparison(found.comparison)
    return told


def tell_sessions(found: Validated) -> dict[str, object]:
    """Return how sessions go under each budget of the curve; amounts in units.

    `lists` and what follows are of the model itself, played on `rows` rows. What is
    `saved` is of held-out rows of the folds: mean spend and error of who asks, and of
    the fixed list; None under budgets at which everybody is asked the fixed list.
    """
    curve, fixed = found.curve, found.fixed
    return {
        "rows": curve.n_played,
        "budgets": [None if one is None else from_micros(one) for one in curve.budgets],
        "lists": [one.n_lists for one in found.purchases],
        "commonest": [one.commonest for one in found.purchases],
        "ended_after": [list(one.ended_after) for one in found.purchases],
        "saved": [
            None
            if fixed is None or found.spends[place] == fixed.mean_spends[place]
            else {
                "spend": found.spends[place] / MICROS_PER_UNIT,
                "error": curve.errors_calibrated[place],
                "fixed_spend": fixed.mean_spends[place] / MICROS_PER_UNIT,
                "fixed_error": fixed.errors_calibrated[place],
            }
            for place in range(len(curve.budgets))
        ],
    }

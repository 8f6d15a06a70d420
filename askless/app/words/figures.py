"""Curves and predictive figures as tables: heads, rows and notes."""

from collections.abc import Sequence

import numpy as np

from askless.app.words.wording import money, number_range, percent, percent_range
from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import Estimate, Figures
from askless.core.model.model import Curve

Cells = tuple[Sequence[str], list[tuple[str, ...]]]

# By figure: how it is headed, and what it says.
MEANINGS = {
    "auroc": (
        "AUROC",
        "how often {its} has a higher chance than {rest}; 0.5 is a coin's",
    ),
    "log_loss": ("log-loss", "how surprised the chances are by what came; 0 is best"),
    "brier": ("Brier", "mean squared distance of chance and truth; 0 is best"),
    "calibration_error": (
        "calib.\nerror",
        "how far {said} lie from what came, in ten groups of rows",
    ),
    "sensitivity": ("sensi-\ntivity", "of {its}, how many are found"),
    "specificity": ("speci-\nficity", "of {rest}, how many are cleared"),
    "expected_cost": ("cost of\nerrors", "mean of `error_costs` over all rows"),
    "precision": (
        "preci-\nsion",
        "of cases from the threshold on, how many are of the rarer class",
    ),
    "recall": ("recall", "of the rarer class, how many cases are from there on"),
}
LABELLED = ("sensitivity", "specificity")
OF_RARE = ("precision", "recall")
SHARES = (*LABELLED, *OF_RARE)
# What a table says that has a threshold in place of the error's interval.
RARE_NOTE = (
    "One class is rare, so the error says little of it. threshold: the least chance of "
    "it that counts as found; where none is named, the one of best F1 on held-out rows "
    "of training, none of which is judged by a threshold that it chose. precision: how "
    "many of the found are of the class; recall: how many of the class are found. "
    "Labels are the likelier class; if one error is worse than the other, say in the "
    "spec's `error_costs` what each costs."
)
# The column of the votes' own error, and what it and its neighbour say.
VOTE_ERROR = "error of the vote"
VOTE_NOTE = (
    "error: how often the label is wrong that sessions say, decided from chances (and "
    "error costs, if any). error of the vote: how often the vote alone is wrong."
)

RELIABILITY_NOTE = (
    "Each point is a tenth of the rows, by chance; its line is the 95 % interval. "
    "On the dashed line what was said comes as often as was said."
)


def name_figure(name: str) -> str:
    """Return the heading of a figure in one line."""
    return MEANINGS[name][0].replace("-\n", "").replace("\n", " ")


def shown_figures(curve: Curve) -> list[str]:
    """Return the names of the figures that a curve has at one budget or more."""
    figures = curve.predictive or ()
    shown = [
        measure
        for measure in MEANINGS
        if any(get_estimate(figure, measure) for figure in figures)
    ]
    hidden = LABELLED if has_rare_class(curve) else ()
    return [measure for measure in shown if measure not in hidden]


def has_rare_class(curve: Curve) -> bool:
    """Return whether the figures of a curve are those of a threshold."""
    return any(figure.rare for figure in curve.predictive or ())


def get_estimate(figure: Figures, measure: str) -> Estimate | None:
    """Return a figure by its name; None where it was not measured."""
    owner = figure.rare if measure in OF_RARE else figure
    return None if owner is None else getattr(owner, measure)


def describe_estimate(estimate: Estimate | None, is_share: bool, layout: str) -> str:
    """Return a figure with its interval."""
    if estimate is None:
        return "-"
    value = percent(estimate.value) if is_share else f"{estimate.value:.3f}"
    if estimate.interval is None:
        return value
    say = percent_range if is_share else number_range
    return layout.format(value, say(*estimate.interval))


def explain_figures(
    shown: Sequence[str], ensemble: Ensemble, threshold: float | None
) -> str:
    """Return a line for each figure that says what it means."""
    if ensemble.n_outputs == 1:
        negative, positive = (repr(label.display) for label in ensemble.classes)
        words = {"its": positive, "rest": negative, "said": "chances"}
    else:
        words = {
            "its": "a class",
            "rest": "the rest (mean over the classes)",
            "said": "the labels' chances",
        }
    lines = [
        f"{name_figure(measure)}: {MEANINGS[measure][1].format(**words)}."
        for measure in shown
    ]
    if threshold is not None:
        lines.append(
            f"Labels of this table: {words['its']} from a chance of {threshold:g} on."
        )
    return "\n".join(lines)


def describe_budgets(curve: Curve) -> list[str]:
    return [
        "unlimited" if budget is None else money(budget) for budget in curve.budgets
    ]


def describe_betters(curve: Curve, unit: str) -> list[str]:
    """Return a sentence for each budget at which a smaller one does as well."""

    def name(place: int) -> str:
        budget = curve.budgets[place]
        return "No limit" if budget is None else money(budget, unit)

    def error(place: int) -> str:
        return f"{100 * curve.errors_calibrated[place]:.1f} %"

    return [
        f"{name(place)} errs more ({error(place)}) than {name(better)} "
        f"({error(better)}): a smaller budget does as well."
        for place, better in enumerate(curve.betters)
        if better is not None
    ]


def build_curve_cells(curve: Curve, unit: str) -> Cells:
    """Return the table of a curve by budget: error, AUROC, log-loss and spend.

    The vote's own error has a column only where it differs from that of the labels. Of
    a rare class there are threshold, precision and recall instead, and no interval.
    """
    head = [f"budget {unit}".strip(), "error"]
    columns = [describe_budgets(curve), list(map(to_percent, curve.errors_calibrated))]
    by_vote, is_rare = list(map(to_percent, curve.errors)), has_rare_class(curve)
    if by_vote != columns[1] and not is_rare:
        head.append(VOTE_ERROR)
        columns.append(by_vote)
    if is_rare:
        head += ["threshold", "precision", "recall"]
        columns += list_rare_columns(curve)
    else:
        head.append("95 % interval")
        columns.append(
            [f"{100 * low:.1f} to {100 * high:.1f} %" for low, high in curve.intervals]
        )
    shown = shown_figures(curve)
    for measure in ("auroc", "log_loss"):
        if measure in shown:
            head.append(name_figure(measure))
            figures = [getattr(figure, measure) for figure in curve.predictive or ()]
            columns.append(list(map(format_estimate, figures)))
    head += ["mean spend", "most spent"]
    columns.append([money(round(mean_spend, -4)) for mean_spend in curve.mean_spends])
    columns.append(list(map(money, curve.max_spends)))
    return head, list(zip(*columns, strict=True))


def list_rare_columns(curve: Curve) -> list[list[str]]:
    """Return threshold, precision and recall of the rarer class, by budget."""
    figures = curve.predictive or ()
    thresholds = [
        "-" if figure.rare is None else f"{figure.rare.threshold:.3f}"
        for figure in figures
    ]
    shares = [
        [
            describe_estimate(get_estimate(figure, measure), True, "{}")
            for figure in figures
        ]
        for measure in OF_RARE
    ]
    return [thresholds, *shares]


def format_estimate(estimate: Estimate | None) -> str:
    """Return a figure without its interval."""
    return "-" if estimate is None else f"{estimate.value:.3f}"


def to_percent(share: float) -> str:
    """Return a share in percent with one decimal."""
    return f"{100 * share:.1f} %"


def build_figure_cells(curve: Curve, unit: str, *, is_high: bool = False) -> Cells:
    """Return the table of predictive figures by budget.

    In a high one, names and figures take several lines and little width.
    """
    shown = shown_figures(curve)
    gap, layout = ("\n", "{}\n{}") if is_high else (" ", "{} ({})")
    names = (MEANINGS[name][0] if is_high else name_figure(name) for name in shown)
    rows = [
        (
            named,
            *(
                describe_estimate(
                    get_estimate(figure, measure), measure in SHARES, layout
                )
                for measure in shown
            ),
        )
        for named, figure in zip(
            describe_budgets(curve), curve.predictive or (), strict=True
        )
    ]
    return (f"budget{gap}{unit}".strip(), *names), rows


def rank_purchases(curve: Curve) -> tuple[FloatArray, list[int]]:
    """Return shares (n_features, n_budgets), and features sorted by how often asked.

    The curve must have purchases; features that are never asked are left out.
    """
    shares = np.array(curve.purchases, np.float64).T
    order = np.argsort(-shares.sum(axis=1), kind="stable")
    return shares, [int(idx) for idx in order if shares[idx].any()]


def choose_places(curve: Curve) -> list[int]:
    """Return the positions of the middle budget and of the largest."""
    last = len(curve.budgets) - 1
    return list(dict.fromkeys(((last + 1) // 2, last)))


def describe_event(ensemble: Ensemble) -> str:
    """Return the event whose chance the figures are about."""
    return ensemble.classes[1].display if ensemble.n_outputs == 1 else "the label"

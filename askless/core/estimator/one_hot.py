"""Groups for the columns that an encoder makes of one feature, such as one-hot ones."""

from collections.abc import Iterable, Mapping
from typing import Any

from askless.core.catalogue.patterns import WILDCARD, matching
from askless.core.errors import Refusal, RefusedError, nearest_hint

# In scikit-learn it stands between the name of a transformer and that of a column.
PREFIX_END = "__"
# Between the name of a column and one of its categories.
CATEGORY_START = "_"


def one_hot_groups(
    names: Iterable[str], prices: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return `groups` for the estimator: all columns made of a feature cost one price.

    Parameters
    ----------
    names : iterable of str
        Names of the encoded columns: `get_feature_names_out()` of a transformer, or the
        columns of an encoded data frame. "job_cook", "cat__job_cook" and "num__job" are
        columns of "job". Of several features that fit, it is the one of longest name:
        "job_title_cook" belongs to "job_title" where that has a price, else to "job".
    prices : mapping of str to float
        Price of each feature by its name before the encoding.

    Returns
    -------
    list of dict
        A bundle for each feature. Its members are a pattern, "job_*", where that names
        no other feature's column, so that it holds for rows with other categories too.

    Raises
    ------
    RefusedError
        For each feature with a price that no column is made of.
    """
    columns = list(map(str, names))
    members: dict[str, list[str]] = {feature: [] for feature in prices}
    for column in columns:
        fitting = [member for member in members if is_made_of(column, member)]
        if fitting:
            members[max(fitting, key=len)].append(column)
    lacking = [feature for feature, made in members.items() if not made]
    if lacking:
        raise RefusedError(
            [unknown_price_refusal(feature, columns) for feature in lacking]
        )
    return [
        {
            "name": feature,
            "members": shortest_pattern(feature, made, columns),
            "price": prices[feature],
        }
        for feature, made in members.items()
    ]


def is_made_of(column: str, feature: str) -> bool:
    """Return whether a column is a feature's, itself or one of its categories."""
    short = column.partition(PREFIX_END)[2]
    return any(
        name == feature or name.startswith(feature + CATEGORY_START)
        for name in (column, short)
    )


def shortest_pattern(feature: str, members: list[str], columns: list[str]) -> list[str]:
    """Return a pattern that names exactly these columns, or else their names."""
    start = feature + CATEGORY_START
    pattern = members[0].partition(start)[0] + start + WILDCARD
    is_exact = len(members) > 1 and matching([pattern], columns) == members
    return [pattern] if is_exact else members


def unknown_price_refusal(feature: str, columns: list[str]) -> Refusal:
    """Return the refusal of a price for which there is no column."""
    rule = "must be the name of a feature before it was encoded"
    return Refusal(f"prices[{feature}]", rule + nearest_hint(feature, columns))

"""Match the columns of a table with those that a model knows, by name."""

from collections.abc import Collection, Mapping
from typing import TypeVar

from askless.core.errors import Refusal, RefusedError, nearest_hint

# Refusals of columns that are shown.
MAX_NAMED = 5

Kept = TypeVar("Kept")


def match_names(table: Mapping[str, Kept], names: Collection[str]) -> dict[str, Kept]:
    """Return the columns of a table in the order of `names`, whatever their order.

    Some may be absent, which `askless.core.model.rows.check_rows` refuses where they
    are read. Raises `RefusedError` for columns of other names.
    """
    # Old models have names with white space around them.
    known = {name.strip(): name for name in names} | {name: name for name in names}
    unknown = [name for name in table if name not in known]
    if unknown:
        refusals = [
            Refusal(
                f"column {name}",
                f"must be one that the model knows{nearest_hint(name, names)}",
            )
            for name in unknown[:MAX_NAMED]
        ]
        if len(unknown) > MAX_NAMED:
            n_more = len(unknown) - MAX_NAMED
            refusals.append(Refusal("X", f"and {n_more} more columns of other names"))
        raise RefusedError(refusals)
    order = {name: position for position, name in enumerate(names)}
    return {name: table[name] for name in sorted(table, key=lambda n: order[known[n]])}

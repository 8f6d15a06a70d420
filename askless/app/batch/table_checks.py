"""Columns of a table that a model reads, and refusals of a whole table."""

from collections.abc import Iterator, Mapping, Sequence

from askless.app.batch.sources import ColumnChoice, RowSource
from askless.core.errors import RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.rows import (
    cell_refusals,
    mark_askable_features,
    refuse_unseen_batch,
)
from askless.core.table.columns import Column


def list_text_columns(ensemble: Ensemble) -> list[str]:
    """Return the features whose cells are read as text."""
    return [
        feature.name
        for feature in ensemble.catalogue.features
        if feature.type != "number" or feature.missing_words is not None
    ]


def refuse_unseen_rows(
    source: RowSource, ensemble: Ensemble, option: str, *, is_learnt: bool = False
) -> None:
    """Raise RefusedError for columns most of whose cells training did not see.

    `option` is how a caller takes them all the same; `is_learnt`: the model is to learn
    the rows.
    """
    needed = list_needed_columns(ensemble, source.names)
    needed = [*source.names] if is_learnt else needed
    categories = {
        name
        for feature in ensemble.catalogue.features
        if feature.type == "category"
        for name in (feature.name, feature.name.strip())
    }
    choice = ColumnChoice([name for name in needed if name in categories], [])
    numbers = range(len(source.spans)) if choice.names else ()
    parts = (source.part(number, choice).read().columns for number in numbers)
    refuse_unseen_batch(parts, ensemble, option, is_learnt=is_learnt)


def list_needed_columns(ensemble: Ensemble, names: Sequence[str]) -> list[str]:
    """Return the columns of features that a model may ask for."""
    features = ensemble.catalogue.features
    needed = mark_askable_features(ensemble)
    asked = {
        feature.name for feature, is_so in zip(features, needed, strict=True) if is_so
    }
    asked |= {name.strip() for name in asked}
    return [name for name in names if name in asked]


class WholeColumns(Mapping[str, Column]):
    """The columns of a table that a model reads; each is read when it is needed."""

    def __init__(self, source: RowSource, names: Sequence[str]) -> None:
        self.source, self.needed = source, frozenset(names)

    def __getitem__(self, name: str) -> Column:
        if name not in self.needed:
            raise KeyError(name)
        return self.source.whole([name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.source.names)

    def __len__(self) -> int:
        return len(self.source.names)


def refuse_rows(source: RowSource, ensemble: Ensemble, most: int | None) -> None:
    """Raise RefusedError with every broken rule; rows are counted from the top."""
    columns = WholeColumns(source, list_needed_columns(ensemble, source.names))
    refusals = cell_refusals(columns, ensemble, most)
    if refusals:
        raise RefusedError(refusals)

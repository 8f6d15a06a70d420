"""Make tables of closed cases: a row for each, to train on as on any other table."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Any

import pyarrow as pa

from askless.app.batch.writing import open_stream
from askless.app.documents.session.cases import describe_case, write_case
from askless.app.service.loop.cases import StoredCase
from askless.app.uploads.parsing import TableFacts
from askless.core.catalogue.catalogue import UNSEEN, Feature, FeatureType
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.table.spec import CASE_COLUMN

Cell = float | bool | str | None
#: The target's column where a model names none.
NO_TARGET = "label"
ARROW_TYPES = {"number": pa.float64, "boolean": pa.bool_, "category": pa.string}


@dataclass
class CaseColumns:
    """Cells by feature, as cases are added; their models may differ in features."""

    types: dict[str, FeatureType] = field(default_factory=dict)
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)
    documents: list[str] = field(default_factory=list)

    def add(self, case: StoredCase) -> None:
        """Add a row; raise RefusedError where models disagree about a column."""
        ensemble, n_before = case.model.ensemble, len(self.documents)
        for idx, feature in enumerate(ensemble.catalogue.features):
            self.refuse_type(feature)
            cells = self.cells.setdefault(feature.name, [])
            cells += [None] * (n_before - len(cells))
            cells.append(find_cell(case, idx))
        self.targets.setdefault(case.model.target or NO_TARGET, []).append(
            case.outcome.label
        )
        if len(self.targets) > 1:
            shown = " and ".join(self.targets)
            raise unlike_models_error(f"their models predict {shown}")
        self.documents.append(case_text(case, ensemble))

    def refuse_type(self, feature: Feature) -> None:
        kind = self.types.setdefault(feature.name, feature.type)
        if kind != feature.type:
            shown = f"{feature.name} is a {kind} in one and a {feature.type} in another"
            raise unlike_models_error(shown)

    def to_table(self) -> Any:
        """Return an arrow table: features, the target, and what was asked."""
        ((target, labels),) = self.targets.items()
        if target in self.cells:
            raise unlike_models_error(
                f"{target} is predicted by one and read by another"
            )
        n_rows = len(labels)
        columns = {
            name: pa.array(
                cells + [None] * (n_rows - len(cells)), ARROW_TYPES[self.types[name]]()
            )
            for name, cells in self.cells.items()
        }
        texts = {target: labels, CASE_COLUMN: self.documents}
        return pa.table(columns | {k: pa.array(v) for k, v in texts.items()})


def find_cell(case: StoredCase, feature_idx: int) -> Cell:
    """Return a feature's cell in a table of cases, as it was answered."""
    feature = case.model.ensemble.catalogue.features[feature_idx]
    value = case.state.values[feature_idx]
    if value != value:
        return None
    if feature.type == "category":
        if value == UNSEEN:
            return case.texts.get(feature.name)
        return feature.categories[int(value)]
    return bool(value) if feature.type == "boolean" else value


def case_text(case: StoredCase, ensemble: Ensemble) -> str:
    labels = [label.label for label in ensemble.classes]
    chances = dict(zip(labels, case.outcome.chances, strict=True))
    document = describe_case(
        case.state, ensemble.catalogue, case.outcome.predicted, chances
    )
    return write_case(document)


def unlike_models_error(why: str) -> RefusedError:
    rule = f"must be cases of one table, but {why}: name one version, as NAME@2"
    return RefusedError([Refusal("cases_of", rule)])


def make_table(cases: Iterable[StoredCase]) -> Any:
    """Return an arrow table of closed cases, in their order.

    Nothing in it identifies a case: neither the session nor what its caller knows it
    by. Raises RefusedError if there is none.
    """
    columns = CaseColumns()
    for case in cases:
        columns.add(case)
    if not columns.documents:
        rule = "must have closed cases with an outcome, known within the span"
        raise RefusedError([Refusal("cases_of", rule)])
    return columns.to_table()


def write_table(table: Any) -> tuple[IO[bytes], TableFacts]:
    """Return a table as it would be uploaded, in Parquet, and its facts."""
    stream: IO[bytes] = BytesIO()
    with open_stream(stream, 0, is_csv=False) as file:
        file.add(table)
    return stream, TableFacts(table.num_rows, tuple(table.column_names))

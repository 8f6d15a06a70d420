"""The mapping of a log of decisions: which column holds what."""

from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen
from pydantic import Field

from askless.app.documents.shape import Shape

ColumnName = Annotated[str, MinLen(1), MaxLen(200)]


class LogMapping(Shape):
    """The columns of a log, one row per call or one row per case."""

    layout: Literal["calls", "cases"]
    case: ColumnName
    decided_at: ColumnName
    decision: ColumnName | None = None
    outcome: ColumnName | None = None
    #: of a row per call
    vendor: ColumnName | None = None
    at: ColumnName | None = None
    price: ColumnName | None = None
    latency_s: ColumnName | None = None
    #: of a row per case: vendors in the order of asking, or the time of each
    order: ColumnName | None = None
    separator: Annotated[str, MinLen(1), MaxLen(10)] = ">"
    vendor_at: dict[str, ColumnName] = Field(default_factory=dict)
    #: what the log calls a vendor, and the spec's name of its group or feature
    vendors: dict[str, str] = Field(default_factory=dict)
    #: the column of a feature, where it has another name
    columns: dict[str, ColumnName] = Field(default_factory=dict)

    def column_of(self, feature: str) -> str:
        """Return the column that holds a feature."""
        return self.columns.get(feature, feature)

    @property
    def roles(self) -> dict[str, str]:
        """The column of each role that has one."""
        names = ("case", "decided_at", "decision", "outcome", "vendor", "at", "price")
        pairs = ((name, getattr(self, name)) for name in (*names, "latency_s", "order"))
        roles = {name: column for name, column in pairs if column is not None}
        return roles | {
            f"vendor_at.{vendor}": column for vendor, column in self.vendor_at.items()
        }

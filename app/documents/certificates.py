"""What rows set aside showed, as it stands in a model."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from app.documents.catalogue import Micros
from app.documents.fields import Policy
from app.documents.shape import Many, StoredShape
from core.errors import Refusal
from core.model.certificates import N_STRATA, Certification, EarlyRule, Level

# Rows and lists of a certification: far beyond what a training makes, and little enough
# for a session that weighs every rule by them.
MAX_ROWS, MAX_ITEMS = 2**16, 1000

Chance = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=MAX_ROWS)]
Opens = Annotated[Many[bool], Field(min_length=N_STRATA, max_length=N_STRATA)]
Counts = Many[
    Annotated[Many[Count], Field(min_length=2 * N_STRATA, max_length=2 * N_STRATA)]
]


class EarlyRuleShape(StoredShape):
    threshold: Chance
    opens: Opens


class LevelShape(StoredShape):
    budget: Micros | None = Field(alias="budget_micros")
    policy: Policy
    bounds: Annotated[
        Many[Micros], Field(min_length=N_STRATA - 1, max_length=N_STRATA - 1)
    ] = Field(alias="bounds_micros")
    guide: Counts
    guide_spends: Many[Micros] = Field(alias="guide_spends_micros")
    counts: Counts
    mean_spends: Many[Micros] = Field(alias="mean_spends_micros")
    mean_spend: Micros = Field(alias="mean_spend_micros")
    n_covered: Many[Count] = Field(alias="covered_rows")


class CertificationShape(StoredShape):
    n_samples: Annotated[Count, Field(ge=1)] = Field(alias="rows")
    n_guide: Count = Field(alias="guide_rows")
    rules: Annotated[Many[EarlyRuleShape], Field(min_length=1, max_length=MAX_ITEMS)]
    chances: Annotated[Many[Chance], Field(min_length=1, max_length=MAX_ITEMS)]
    levels: Annotated[Many[LevelShape], Field(min_length=1, max_length=MAX_ITEMS)]


def build_certification(shape: CertificationShape | None) -> Certification | None:
    """Return core's certification."""
    if shape is None:
        return None
    return shape.to(
        Certification,
        rules=tuple(one.to(EarlyRule) for one in shape.rules),
        levels=tuple(one.to(Level) for one in shape.levels),
    )


def check_certification(shape: CertificationShape | None) -> Iterator[Refusal]:
    """Refuse parts that don't fit one another, and more rows than there were."""
    if shape is None:
        return
    for position, one in enumerate(shape.rules):
        if not any(one.opens):
            where = f"model.certification.rules[{position}].opens"
            yield Refusal(where, "must open a stratum")
    for position, level in enumerate(shape.levels):
        where = f"model.certification.levels[{position}]"
        lists = {"guide": shape.n_guide, "counts": shape.n_samples}
        for name, n_rows in lists.items():
            counted = getattr(level, name)
            if len(counted) != len(shape.rules):
                yield Refusal(f"{where}.{name}", "must be one for each rule")
            elif any(not is_possible(one, n_rows) for one in counted):
                rule = f"must count {n_rows} rows, of which some differ"
                yield Refusal(f"{where}.{name}", rule)
        for name in ("guide_spends", "mean_spends"):
            if len(getattr(level, name)) != len(shape.rules):
                yield Refusal(f"{where}.{name}_micros", "must be one for each rule")
        is_counted = len(level.n_covered) == len(shape.chances)
        if not is_counted or max(level.n_covered) > shape.n_samples:
            rule = f"must be one for each chance, at most {shape.n_samples}"
            yield Refusal(f"{where}.covered_rows", rule)


def is_possible(counts: tuple[int, ...], n_rows: int) -> bool:
    """Whether answers add up to the rows, and no more differ than there are."""
    pairs = zip(counts[:N_STRATA], counts[N_STRATA:], strict=True)
    return sum(counts[:N_STRATA]) == n_rows and all(d <= n for n, d in pairs)

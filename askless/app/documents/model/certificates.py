"""Checks that the certificates in a model's document are consistent."""

from collections.abc import Iterator

from askless.core.errors import Refusal
from askless.core.model.certificates import N_STRATA, Certification


def check_certification(certification: Certification | None) -> Iterator[Refusal]:
    """Yield refusals of lists and counts that don't fit together."""
    if certification is None:
        return
    for position, rule in enumerate(certification.rules):
        if not any(rule.opens):
            where = f"model.certification.rules[{position}].opens"
            yield Refusal(where, "must open a stratum")
    for position, level in enumerate(certification.levels):
        where = f"model.certification.levels[{position}]"
        n_rows_by_name = {
            "guide": certification.n_guide,
            "counts": certification.n_samples,
        }
        for name, n_rows in n_rows_by_name.items():
            counts = getattr(level, name)
            if not all(is_possible(one, n_rows) for one in counts):
                expected = f"must count {n_rows} rows, of which some differ"
                yield Refusal(f"{where}.{name}", expected)
        if max(level.n_covered, default=0) > certification.n_samples:
            expected = f"must be at most {certification.n_samples}"
            yield Refusal(f"{where}.covered_rows", expected)


def is_possible(counts: tuple[int, ...], n_rows: int) -> bool:
    """Return whether strata sum to `n_rows`, and none has more differing rows."""
    pairs = zip(counts[:N_STRATA], counts[N_STRATA:], strict=True)
    return sum(counts[:N_STRATA]) == n_rows and all(d <= n for n, d in pairs)

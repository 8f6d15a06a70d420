"""What scikit-learn's conventions hand over, read as core's values or refused."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from core.arrays import FloatArray
from core.errors import Refusal, RefusedError, describe
from core.parameters import check_parameters, parameters
from core.pipeline.choosing import AUTO, AutoName
from core.pipeline.spec import check_algorithm, part_auto
from core.table.catalogue import Catalogue
from core.table.columns import scale_weights
from core.table.costs import plain
from core.table.dataset import ClassLabel, Dataset
from core.training.algorithms import ALGORITHMS
from core.training.params import BoostParams
from core.training.rules import RULES


def read_params(
    name: object, given: Mapping[str, object]
) -> tuple[BoostParams, frozenset[AutoName]]:
    """Read the parameters of training by a spec's rules, and which are "auto"."""
    refusals = []
    try:
        algorithm = check_algorithm(name)
    except ValueError as error:
        found = describe(name)
        refusals.append(Refusal("algorithm", str(error), found))
        algorithm = BoostParams().algorithm
    names = parameters(BoostParams).keys() - {"algorithm", "seed"}
    plain_given = {name: plain(given[name]) for name in names}
    fixed, auto, unknown = part_auto(algorithm, plain_given)
    values, wrong = check_parameters(BoostParams, fixed, "params")
    refusals += [*unknown, *wrong]
    if refusals:
        raise RefusedError(refusals)
    return BoostParams(algorithm=algorithm, **values), auto


def require_classes(
    algorithm: str, y: npt.NDArray[np.int64], n_classes: int, auto: frozenset[AutoName]
) -> None:
    """Refuse classes that the algorithm or "auto" can't deal with."""
    boosted = find_boosted()
    if y.ndim == 2 and algorithm not in boosted:
        rule = f"must be one of {', '.join(boosted)} for several labels at once"
        raise RefusedError([Refusal("algorithm", rule, repr(algorithm))])
    if y.ndim == 2 and auto:
        rule = "can be chosen for one class per row only"
        raise RefusedError([Refusal(f"params.{min(auto)}", rule, repr(AUTO))])
    if ALGORITHMS[algorithm].is_binary and n_classes > 2:
        # The second and third sentence are what scikit-learn's check looks for.
        rule = (
            "a cascade has two classes. Only binary classification is supported. "
            "The type of the target is multiclass."
        )
        raise RefusedError([Refusal("algorithm", rule)])


def find_boosted() -> list[str]:
    """Return the algorithms that can boost several labels at once."""
    return [name for name, its in ALGORITHMS.items() if name in RULES or its.rules]


def gather_rows(
    X: FloatArray,
    y: npt.NDArray[np.int64],
    weights: FloatArray,
    classes: tuple[ClassLabel, ...],
    catalogue: Catalogue,
) -> Dataset:
    """Return the rows of positive weight as a dataset."""
    is_weighty = scale_weights(weights) > 0
    if y.ndim == 1 and np.unique(y[is_weighty]).size < 2:
        rule = "must have two classes among the rows of positive weight"
        raise RefusedError([Refusal("y", rule, "1 class")])
    return Dataset(
        catalogue=catalogue,
        classes=classes,
        values=np.ascontiguousarray(X[is_weighty]),
        targets=y[is_weighty],
        weights=scale_weights(weights[is_weighty]),
    )


def find_positions(
    classes: list[Any], labels: list[Any], n_rows: int
) -> npt.NDArray[np.int64]:
    """Return the position of each row's class."""
    if len(labels) != n_rows:
        rule = f"must have {n_rows} classes, one for each row of X"
        raise RefusedError([Refusal("y", rule, str(len(labels)))])
    positions = {one: idx for idx, one in enumerate(classes)}
    unknown = [label for label in labels if label not in positions]
    if unknown:
        rule = f"must hold only the classes {describe(classes)}"
        raise RefusedError([Refusal("y", rule, describe(unknown[0]))])
    return np.array([positions[label] for label in labels], np.int64)


def find_streams(rows: FloatArray) -> list[int]:
    """Return each row's stream of draws: by its content, whatever its place."""
    # -0.0 is 0.0, and all NaN are one.
    plain_rows = np.where(np.isnan(rows), np.nan, rows + 0.0)
    digests = [blake2b(row.tobytes(), digest_size=8).digest() for row in plain_rows]
    return [int.from_bytes(digest) for digest in digests]


def as_dense(y: Any) -> Any:
    """Return a sparse matrix as an array."""
    return y.toarray() if hasattr(y, "toarray") else y


def read_indicators(
    y: npt.NDArray[Any], shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Read which classes each row belongs to."""
    if y.shape != shape:
        raise RefusedError([Refusal("y", f"must have the shape {shape}", str(y.shape))])
    wrong = y[~np.isin(y, (0, 1))]
    if wrong.size:
        rule = "must hold 0 and 1 only, for several labels at once"
        raise RefusedError([Refusal("y", rule, describe(wrong[0].item()))])
    return y.astype(np.int64)

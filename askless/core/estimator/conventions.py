"""Read arguments of scikit-learn's conventions as core's values, or refuse them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature, FeatureType
from askless.core.catalogue.costs import CostReader, to_python
from askless.core.catalogue.patterns import expand
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.estimator.frames import stack_columns
from askless.core.model.ensemble import Ensemble
from askless.core.parameters import check_parameters, parameters_of, to_number
from askless.core.pipeline.choosing import AUTO, AutoName
from askless.core.pipeline.spec import TrainingSpec, split_auto
from askless.core.session.aims import ONE_RULE, check_aim
from askless.core.session.state import Aim
from askless.core.table.cells import tidy_text, write_cell
from askless.core.table.check import read_features
from askless.core.table.columns import Columns, scale_weights
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.params import BoostParams, check_algorithm
from askless.core.training.rules import RULES


class TrainingRequest(NamedTuple):
    """The training that an estimator's parameters request."""

    boost: BoostParams
    #: parameters to be chosen
    auto: frozenset[AutoName]
    folds: int
    #: what stands for a missing value in every column
    missing: tuple[str, ...]
    #: the words that mean missing besides; None: the usual ones
    missing_words: tuple[str, ...] | None
    #: categories of fewer rows are joined
    rare: int
    #: by position, name or pattern
    feature_types: Mapping[Any, Any]


def read_params(name: object, given: Mapping[str, object]) -> TrainingRequest:
    """Read the parameters of training by a spec's rules, and which are "auto"."""
    refusals = []
    try:
        algorithm = check_algorithm(name)
    except ValueError as error:
        given_name = shorten(name)
        refusals.append(Refusal("algorithm", str(error), given_name))
        algorithm = BoostParams().algorithm
    names = parameters_of(BoostParams).keys() - {"algorithm", "seed"}
    plain_given = {name: to_python(given[name]) for name in names}
    fixed, auto, unknown = split_auto(algorithm, plain_given)
    values, wrong = check_parameters(BoostParams, fixed, "params")
    refusals += [*unknown, *wrong]
    folds, rare, listed = (
        to_python(given[name]) for name in ("folds", "rare", "missing")
    )
    refusals += check_parameters(TrainingSpec, {"folds": folds}, "validation")[1]
    if folds == 1:
        refusals.append(Refusal("validation.folds", "must be 0 or at least 2", "1"))
    refusals += (
        Refusal(refusal.field.removeprefix("."), refusal.rule, refusal.found)
        for refusal in check_parameters(TableSpec, {"rare": rare}, "")[1]
    )
    missing, wrong = read_marks("missing", listed)
    words, broken = read_marks("missing_words", to_python(given["missing_words"]))
    refusals += wrong + broken
    types = given["feature_types"] or {}
    if not isinstance(types, Mapping):
        rule = "must map features to types"
        refusals.append(Refusal("feature_types", rule, shorten(types)))
    if refusals:
        raise RefusedError(refusals)
    boost = BoostParams(algorithm=algorithm, **values)
    assert isinstance(folds, int), "checked"
    assert isinstance(rare, int), "checked"
    assert isinstance(types, Mapping), "checked"
    has_words = given["missing_words"] is not None
    return TrainingRequest(
        boost, auto, folds, missing, words if has_words else None, rare, types
    )


def read_marks(name: str, raw: object) -> tuple[tuple[str, ...], list[Refusal]]:
    """Return the words and numbers that stand for a missing value, as texts."""
    if raw is None:
        return (), []
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        return (), [Refusal(name, "must be a list", shorten(raw))]
    marks, refusals = [], []
    for position, value in enumerate(map(to_python, raw)):
        number = to_number(value, float)
        if isinstance(value, str) or math.isfinite(number):
            marks.append(tidy_text(write_cell(value) or ""))
        else:
            rule = "must be a word or a number"
            refusals.append(Refusal(f"{name}[{position}]", rule, shorten(value)))
    return tuple(marks), refusals


def read_seed(random_state: object, draw: Callable[[], int]) -> int:
    """Return `random_state` if it is a legal integer, refuse a wrong one; else draw."""
    given = to_python(random_state)
    if not isinstance(given, int) or isinstance(given, bool):
        return draw()
    try:
        seed: int = parameters_of(BoostParams)["seed"].check(given)
    except ValueError as error:
        raise RefusedError([Refusal("random_state", str(error), str(given))]) from None
    return seed


def aim_of_mapping(
    raw: object, ensemble: Ensemble, policy: str | None, where: str
) -> Aim | None:
    """Read an aim of sessions: a mapping of its name to a number, money in units.

    `where` names the argument in refusals; None is no aim.
    """
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        rule = f"{ONE_RULE}, with a number"
        raise RefusedError([Refusal(where, rule, shorten(raw))])
    unknown = [name for name in raw if name not in parameters_of(Aim)]
    given = {name: to_python(value) for name, value in raw.items()}
    values, refusals = check_parameters(Aim, given, where)
    refusals += [Refusal(where, ONE_RULE, shorten(name)) for name in unknown]
    if refusals:
        raise RefusedError(refusals)
    return check_aim(Aim(**values), ensemble, policy, where)


def aims_of_mappings(
    raw: object, limits: list[int | None], ensemble: Ensemble, policy: str | None
) -> tuple[list[int | None], list[Aim | None]]:
    """Return a budget for each aim, and the aims; or `limits`, and as many None."""
    if raw is None:
        return limits, [None] * len(limits)
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        raise RefusedError([Refusal("aims", "must be a list", shorten(raw))])
    if len(limits) > 1:
        count = f"{len(limits)} of them"
        raise RefusedError([Refusal("budgets", "must be one beside aims", count)])
    aims = [
        aim_of_mapping(raw_aim, ensemble, policy, f"aims[{position}]")
        for position, raw_aim in enumerate(raw)
    ]
    return limits * len(aims), aims


def read_sample_weights(raw: Any, n_rows: int) -> FloatArray:
    """Return the weights scaled to sum to 1 (None: equal ones); refuse wrong ones."""
    weights = np.ones(n_rows) if raw is None else np.asarray(raw, np.float64)
    is_right = weights.shape == (n_rows,) and bool((weights >= 0).all())
    if not is_right or not 0 < weights.max(initial=0.0) < np.inf:
        rule = f"must be {n_rows} finite numbers of at least 0, not all 0"
        raise RefusedError([Refusal("sample_weight", rule)])
    return scale_weights(weights)


def require_classes(
    algorithm: str, y: npt.NDArray[np.int64], n_classes: int, auto: frozenset[AutoName]
) -> None:
    """Raise `RefusedError` for classes that the algorithm or `auto` can't deal with."""
    boosted = list_multilabel_algorithms()
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


def list_multilabel_algorithms() -> list[str]:
    """Return the algorithms that can boost several labels at once."""
    return [
        name
        for name, algorithm in ALGORITHMS.items()
        if name in RULES or algorithm.rule
    ]


def number_row_groups(raw: Any, n_rows: int) -> IntArray | None:
    """Return a number for each row, the same for rows that belong together."""
    if raw is None:
        return None
    column = np.asarray(raw)
    if column.shape != (n_rows,):
        rule = f"must have {n_rows} values, one for each row of X"
        raise RefusedError([Refusal("groups", rule, f"the shape {column.shape}")])
    texts = [write_cell(value) for value in column]
    if None in texts:
        place = f"none in row {texts.index(None) + 1}"
        raise RefusedError([Refusal("groups", "must not be empty", place)])
    return np.unique(np.array(texts, dtype=str), return_inverse=True)[1]


class GatheredValues(NamedTuple):
    """The columns of a table as features of known types, with warnings."""

    catalogue: Catalogue
    values: FloatArray
    warnings: tuple[str, ...]


def gather_values(
    columns: Columns,
    catalogue: Catalogue,
    request: TrainingRequest,
    declared: frozenset[str] = frozenset(),
) -> GatheredValues:
    """Read columns as those of a file are read.

    A column has the type of `feature_types`, else the one that its cells suggest;
    `declared` are those that are texts by their type.
    """
    types = read_feature_types(request.feature_types, [*columns])
    listed = tuple(
        replace(feature, type=types.get(feature.name, feature.type))
        for feature in catalogue.features
    )
    table = TableSpec(
        "",
        features=listed,
        untyped=frozenset(columns) - types.keys(),
        missing=request.missing,
        missing_words=request.missing_words,
        declared=declared,
        rare=request.rare,
    )
    changed: dict[str, FloatArray] = {}

    def collect(feature: Feature, cells: FloatArray) -> None:
        if cells is not columns[feature.name]:
            changed[feature.name] = cells

    features, warnings, refusals = read_features(columns, table, listed, collect)
    if refusals:
        raise RefusedError(refusals)
    typed = replace(catalogue, features=tuple(features))
    values = stack_columns(columns, changed)
    return GatheredValues(typed, values, tuple(warnings))


def read_feature_types(
    raw: Mapping[Any, Any], names: Sequence[str]
) -> dict[str, FeatureType]:
    """Return the types of features by name; raise RefusedError for other ones."""
    reader, types = CostReader(names), {}
    for key, kind in raw.items():
        name = reader.find(key, "feature_types")
        if kind not in get_args(FeatureType):
            rule = f"must be one of {', '.join(get_args(FeatureType))}"
            reader.refuse(f"feature_types.{key}", rule, kind)
        elif name is not None:
            types[name] = kind
    if reader.refusals:
        raise RefusedError(reader.refusals)
    return expand(types, names)


def drop_weightless_rows(dataset: Dataset) -> Dataset:
    """Return the rows of positive weight; refuse them if only one class is left."""
    is_weighty = dataset.weights > 0
    targets = dataset.targets[is_weighty]
    if not dataset.is_multilabel and np.unique(targets).size < 2:
        rule = "must have two classes among the rows of positive weight"
        raise RefusedError([Refusal("y", rule, "1 class")])
    return dataset if is_weighty.all() else dataset.take(np.flatnonzero(is_weighty))


def hash_rows(rows: FloatArray) -> list[int]:
    """Return a hash of each row's values: the number of its random stream."""
    # -0.0 is 0.0, and all NaN are one.
    plain_rows = np.where(np.isnan(rows), np.nan, rows + 0.0)
    digests = [blake2b(row.tobytes(), digest_size=8).digest() for row in plain_rows]
    return [int.from_bytes(digest) for digest in digests]


def to_dense(y: Any) -> Any:
    """Return a sparse matrix as an array."""
    return y.toarray() if hasattr(y, "toarray") else y


def read_indicators(
    y: npt.NDArray[Any], shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Check a matrix of 0 and 1 that says which classes each row belongs to."""
    if y.shape != shape:
        raise RefusedError([Refusal("y", f"must have the shape {shape}", str(y.shape))])
    wrong = y[~np.isin(y, (0, 1))]
    if wrong.size:
        rule = "must hold 0 and 1 only, for several labels at once"
        raise RefusedError([Refusal("y", rule, shorten(wrong[0].item()))])
    return y.astype(np.int64)

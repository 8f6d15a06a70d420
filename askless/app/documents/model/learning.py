"""Read and write the part of a MODEL.json that learning goes on from.

Arrays are compressed bytes in base64: floats come back to the same bits, infinities
too, and the many empty places of an array take no room.
"""

import math
import sys
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval, Len

from askless.app.documents.fields import Name, Policy
from askless.app.documents.shape import Many
from askless.app.documents.stored import Stored, StoredShape, to_json_value
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import Refusal
from askless.core.model.ensemble import Calibration, Ensemble
from askless.core.model.learning_state import ARRAYS, LearningState
from askless.core.model.ranges import Count, Each, Micros, Share
from askless.core.session.policies import POLICIES
from askless.core.training.params import LabelWeights

# A number that a sum of weights may be; and a weight, far from overflow.
Sum = Annotated[float, Interval(ge=0, le=1e300)]
SumsOfRows = Annotated[Many[Sum], Len(3, 3)]
# A curve has fewer budgets.
MOST_BUDGETS = 1_000
DATA_RULE = "must be the compressed bytes of its shape, in base64"


class ArrayShape(StoredShape):
    shape: Annotated[Many[Count], Len(1, 3)]
    data: str


class LearningShape(StoredShape):
    rounds: Annotated[int, Interval(ge=1, le=100_000)]
    half_life: Annotated[int, Interval(ge=1, le=1_000_000_000)]
    tau: Share
    cost_floor_micros: Annotated[Micros, Interval(gt=0)] | None
    label_weights: LabelWeights
    seed: Annotated[int, Interval(ge=0, le=2**63 - 1)]
    weight_column: Name | None
    weight_unit: Annotated[float, Interval(gt=0, le=sys.float_info.max)]
    ignored: Many[str]
    learnt_rows: Count
    class_weights: Annotated[Many[Sum], Each("classes")]
    record: Annotated[Many[Annotated[Many[Sum], Len(6, 6)]], Len(2, 2)]
    first_priors: Many[Share]
    first_calibrations: dict[Policy, Stored[Calibration]]
    state: dict[Literal[*ARRAYS], ArrayShape]  # type: ignore[valid-type]  # at run time
    #: absent in documents written before there were any
    budgets_micros: Annotated[Many[Micros | None], Len(0, MOST_BUDGETS)] = ()
    budget_record: Many[Annotated[Many[SumsOfRows], Len(2, 2)]] = ()


def learning_to_json(learning: LearningState) -> dict[str, Any]:
    """Return a learning as JSON-able values."""
    return {
        "rounds": learning.rounds,
        "half_life": learning.half_life,
        "tau": learning.tau,
        "cost_floor_micros": learning.cost_floor,
        "label_weights": learning.label_weights,
        "seed": learning.seed,
        "weight_column": learning.weight_column,
        "weight_unit": learning.weight_unit,
        "ignored": list(learning.ignored),
        "learnt_rows": learning.n_learnt,
        "class_weights": learning.class_weights.tolist(),
        "record": learning.record.tolist(),
        "first_priors": learning.first_priors.tolist(),
        "first_calibrations": to_json_value(dict(learning.first_calibrations)),
        "state": {name: array_to_json(array) for name, array in learning.state},
        "budgets_micros": list(learning.budgets),
        "budget_record": learning.budget_record.tolist(),
    }


def array_to_json(array: np.ndarray) -> dict[str, Any]:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    data = b64encode(zlib.compress(little.tobytes()))
    return {"shape": list(array.shape), "data": data.decode("ascii")}


def check_learning(
    document: LearningShape | None, catalogue: Catalogue, n_classes: int
) -> Iterator[Refusal]:
    """Yield refusals of a learning that doesn't fit its model or contradicts itself."""
    if document is None:
        return
    # It brings all that trains, and few models go on learning.
    from askless.core.training.online.online_state import check_state, list_shapes

    shares = document.first_priors
    if len(shares) != n_classes or not math.isclose(sum(shares), 1, abs_tol=1e-6):
        yield Refusal("model.learning.first_priors", "must be one per class, sum to 1")
    if len(document.budget_record) != len(document.budgets_micros):
        rule = "must have one entry per budget"
        yield Refusal("model.learning.budget_record", rule)
    where = "model.learning.state"
    arrays: dict[str, np.ndarray] = {}
    shapes = list_shapes(catalogue, n_classes, document.rounds)
    for name, dtype in ARRAYS.items():
        array = document.state.get(name)
        if array is None:
            yield Refusal(f"{where}.{name}", "is required")
        elif not shapes[name].fits(array.shape):
            yield Refusal(f"{where}.{name}.shape", f"must be {shapes[name].rule}")
        else:
            try:
                arrays[name] = read_array(array, dtype)
            except ValueError as error:
                yield Refusal(f"{where}.{name}.data", str(error))
    if len(arrays) == len(ARRAYS):
        for name, rule in check_state(arrays, catalogue):
            yield Refusal(f"{where}.{name}", rule)


def read_array(document: ArrayShape, dtype: np.dtype) -> np.ndarray:
    """Return an array; raise ValueError for bytes that are not of its shape."""
    n_bytes = math.prod(document.shape) * dtype.itemsize
    try:
        packed = b64decode(document.data, validate=True)
        # No more is unpacked than the shape says, whatever the bytes hold.
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(packed, n_bytes + 1)
    except (NoBase64, zlib.error):
        raise ValueError(DATA_RULE) from None
    is_whole = unpacking.eof and not unpacking.unused_data
    if len(data) != n_bytes or not is_whole:
        raise ValueError(DATA_RULE)
    little = np.frombuffer(data, dtype.newbyteorder("<"))
    return little.astype(dtype).reshape(document.shape)


def build_learning(document: LearningShape) -> LearningState:
    """Return the learning of a document whose checks have passed."""
    return LearningState(
        rounds=document.rounds,
        half_life=document.half_life,
        tau=document.tau,
        cost_floor=document.cost_floor_micros,
        label_weights=document.label_weights,
        seed=document.seed,
        weight_column=document.weight_column,
        weight_unit=document.weight_unit,
        ignored=document.ignored,
        n_learnt=document.learnt_rows,
        class_weights=np.array(document.class_weights, np.float64),
        record=np.array(document.record, np.float64),
        first_priors=np.array(document.first_priors, np.float64),
        first_calibrations=tuple(
            (policy, document.first_calibrations[policy])
            for policy in POLICIES
            if policy in document.first_calibrations
        ),
        state=tuple(
            (name, read_array(document.state[name], dtype))
            for name, dtype in ARRAYS.items()
        ),
        budgets=document.budgets_micros,
        budget_record=np.array(document.budget_record, np.float64).reshape(-1, 2, 3),
    )


def check_stumps(
    learning: LearningState | None, ensemble: Ensemble
) -> Iterator[Refusal]:
    """Yield a refusal of hypotheses that are not those of the learning's state.

    Alphas are mixed anew from the state, which another machine may round otherwise.
    """
    if learning is None:
        return
    from askless.core.pipeline.online.learning_state import restore_booster

    stumps = restore_booster(learning, ensemble.catalogue).stumps()
    alphas = [alpha for _, alpha in stumps]
    is_same = tuple(stump for stump, _ in stumps) == ensemble.hypotheses
    if not is_same or not np.allclose(alphas, ensemble.alphas, rtol=1e-9, atol=1e-12):
        rule = "must be those of the learning's state"
        yield Refusal("model.hypotheses", rule)

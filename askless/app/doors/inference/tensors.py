"""Read input tensors as columns of a table, and write output tensors.

A tensor's values are in the JSON, flat or nested, or behind it as bytes: the extension
`binary_tensor_data`. Missing is NaN or null, and of text also what it is in a CSV.
"""

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askless.app.doors.inference.bodies import InputTensor
from askless.core.errors import Refusal, RefusedError
from askless.core.estimator.frames import cell_column, list_column

NUMBERS = {
    **{f"INT{8 * size}": f"<i{size}" for size in (1, 2, 4, 8)},
    **{f"UINT{8 * size}": f"<u{size}" for size in (1, 2, 4, 8)},
    **{f"FP{8 * size}": f"<f{size}" for size in (2, 4, 8)},
}
BOOL, BYTES = "BOOL", "BYTES"
DATATYPES = (*NUMBERS, BOOL, BYTES)
WORDS = {True: "true", False: "false", None: None}
LENGTH = struct.Struct("<I")
# Each type of feature has one datatype of the protocol.
DATATYPE_OF = {"number": "FP64", "boolean": BOOL, "category": BYTES}

#: A column of a table: numbers with NaN, or texts with None.
TensorColumn = npt.NDArray[Any]


class InputValues(NamedTuple):
    """The values of an input: its position in the request, and its column."""

    place: int
    tensor: InputTensor
    column: TensorColumn

    @property
    def n_rows(self) -> int:
        return self.tensor.shape[0]

    @property
    def width(self) -> int:
        return prod(self.tensor.shape[1:])


def wrong_input(place: int, field: str, rule: str) -> RefusedError:
    return RefusedError([Refusal(f"inputs[{place}].{field}", rule)])


def read_inputs(inputs: Sequence[InputTensor], rest: bytes) -> Iterator[InputValues]:
    """Yield the values of each input; `rest` are the bytes behind the JSON."""
    start = 0
    for place, tensor in enumerate(inputs):
        if tensor.datatype not in DATATYPES:
            rule = f"must be one of {', '.join(DATATYPES)}"
            raise wrong_input(place, "datatype", rule)
        size, count = tensor.parameters.binary_data_size, prod(tensor.shape)
        if size is None:
            cells = flatten_tensor(place, tensor)
            yield InputValues(
                place, tensor, read_json_cells(place, tensor.datatype, cells)
            )
            continue
        if tensor.data is not None:
            raise wrong_input(place, "data", "must be left out beside binary_data_size")
        if size > len(rest) - start:
            rule = "must not be more than the bytes that came"
            raise wrong_input(place, "parameters.binary_data_size", rule)
        part, start = rest[start : start + size], start + size
        yield InputValues(
            place, tensor, read_bytes(place, tensor.datatype, part, count)
        )
    if start != len(rest):
        rule = "must be as long as the JSON and all binary_data_size together"
        raise RefusedError([Refusal("body", rule)])


def flatten_tensor(place: int, tensor: InputTensor) -> list[Any]:
    """Return the values of a tensor in JSON, which are flat or nested as its shape."""
    data = tensor.data
    if not isinstance(data, list):
        raise wrong_input(place, "data", "must be a list, or sent as bytes")
    if len(tensor.shape) == 2 and data and isinstance(data[0], list):
        width = tensor.shape[1]
        is_even = all(isinstance(row, list) and len(row) == width for row in data)
        if not is_even or len(data) != tensor.shape[0]:
            raise wrong_input(place, "data", "must have the values that shape says")
        data = [cell for row in data for cell in row]
    if len(data) != prod(tensor.shape):
        raise wrong_input(place, "data", "must have the values that shape says")
    return data


def read_json_cells(place: int, datatype: str, cells: list[Any]) -> TensorColumn:
    if datatype in NUMBERS:
        return read_numbers(place, datatype, cells)
    kind, rule = (bool, "true or false") if datatype == BOOL else (str, "strings")
    if any(cell is not None and type(cell) is not kind for cell in cells):
        raise wrong_input(place, "data", f"must have {rule}, or null, as {datatype}")
    return to_text_column(
        [WORDS[cell] for cell in cells] if datatype == BOOL else cells
    )


def read_numbers(place: int, datatype: str, cells: list[Any]) -> TensorColumn:
    is_whole = not datatype.startswith("FP")
    for cell in cells:
        is_number = type(cell) is int or (
            type(cell) is float and (not is_whole or cell != cell or cell.is_integer())
        )
        if cell is not None and not is_number:
            rule = f"must have {'integers' if is_whole else 'numbers'}, NaN or null"
            raise wrong_input(place, "data", f"{rule}, as {datatype}")
    try:
        numbers = np.array(
            [np.nan if cell is None else cell for cell in cells], np.float64
        )
    except OverflowError:
        rule = "must have numbers that a double can hold"
        raise wrong_input(place, "data", rule) from None
    # Whole numbers that doubles can't tell apart keep their digits.
    return cell_column(f"inputs[{place}]", cells) if is_whole else numbers


def read_bytes(place: int, datatype: str, part: bytes, count: int) -> TensorColumn:
    """Return values that are sent as bytes, little-endian, as a column."""
    if datatype == BYTES:
        return to_text_column(list(split_texts(place, part, count)))
    dtype = np.dtype(NUMBERS.get(datatype, "u1"))
    if len(part) != count * dtype.itemsize:
        rule = f"must be {count * dtype.itemsize} for this shape and datatype"
        raise wrong_input(place, "parameters.binary_data_size", rule)
    numbers = np.frombuffer(part, dtype)
    if datatype != BOOL:
        return list_column(f"inputs[{place}]", numbers)
    if np.any(numbers > 1):
        raise wrong_input(place, "data", "must have the bytes 0 and 1, as BOOL")
    return to_text_column([WORDS[bool(number)] for number in numbers])


def split_texts(place: int, part: bytes, count: int) -> Iterator[str]:
    """Yield the texts of a BYTES tensor: each has its length in four bytes before."""
    start = n_texts = 0
    while start < len(part):
        end = start + LENGTH.size
        if end <= len(part):
            (length,) = LENGTH.unpack_from(part, start)
            start, end = end, end + length
        if end > len(part) or n_texts == count:
            break
        try:
            yield part[start:end].decode()
        except UnicodeDecodeError:
            raise wrong_input(place, "data", "must be text in UTF-8") from None
        start, n_texts = end, n_texts + 1
    if start != len(part) or n_texts != count:
        rule = "must have the texts that shape says, each after its length"
        raise wrong_input(place, "data", rule)


def to_text_column(cells: list[str | None]) -> TensorColumn:
    texts = np.empty(len(cells), np.object_)
    texts[:] = cells
    return texts


@dataclass(frozen=True)
class OutputTensor:
    """An output; texts or float64 values, (n_rows, ...)."""

    name: str
    values: npt.NDArray[np.float64] | list[str]
    parameters: dict[str, str]

    @property
    def is_text(self) -> bool:
        return isinstance(self.values, list)

    def head(self) -> dict[str, Any]:
        """Return the tensor's description, without its values."""
        shape = [len(self.values)] if self.is_text else [*np.shape(self.values)]
        head = {
            "name": self.name,
            "datatype": BYTES if self.is_text else "FP64",
            "shape": shape,
        }
        return head | ({"parameters": self.parameters} if self.parameters else {})

    def to_json(self) -> dict[str, Any]:
        values = self.values
        data = values if isinstance(values, list) else values.ravel().tolist()
        return self.head() | {"data": data}

    def to_bytes(self) -> tuple[dict[str, Any], bytes]:
        """Return the description with the size, and the values as bytes."""
        if isinstance(self.values, list):
            texts = [text.encode() for text in self.values]
            raw = b"".join(LENGTH.pack(len(text)) + text for text in texts)
        else:
            raw = self.values.astype("<f8").tobytes()
        parameters = {**self.parameters, "binary_data_size": len(raw)}
        return self.head() | {"parameters": parameters}, raw


def write_body(
    head: dict[str, Any], outputs: Sequence[tuple[OutputTensor, bool]]
) -> tuple[bytes, int | None]:
    """Return a response's body, and the length of its JSON if bytes come behind it.

    An output is sent as bytes where its flag is True.
    """
    described, parts = [], []
    for output, is_binary in outputs:
        if is_binary:
            described_output, raw = output.to_bytes()
            parts.append(raw)
        else:
            described_output = output.to_json()
        described.append(described_output)
    json_bytes = json.dumps(head | {"outputs": described}, ensure_ascii=False).encode()
    return json_bytes + b"".join(parts), len(json_bytes) if parts else None

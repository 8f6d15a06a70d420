"""What Schemathesis must be told: which bytes are a table, which texts are tags."""

from typing import Any

import schemathesis
from hypothesis import strategies as st

TABLE = b"age,chol,label\n" + b"".join(
    f"{20 + row},{row * 7 % 11},{row % 2}\n".encode() for row in range(40)
)
schemathesis.openapi.format("binary", st.sampled_from([TABLE, b"", b"a,b\n1\n"]))
# From the pattern of tags it makes a bare 0, which the pattern forbids.
TAGS = st.sampled_from(["*", '"5"', 'W/"5"', '"5", W/"a"'])
schemathesis.openapi.format("tags", TAGS)


@schemathesis.hook
def before_load_schema(_context: Any, document: Any) -> None:
    """Name the format of tags; send no key of a retry.

    It would send one key with many requests. All but the first are refused then, and
    rightly so, whatever else is wrong with them. `test_retries.py` is about keys.
    """
    for methods in document["paths"].values():
        for operation in methods.values():
            kept = []
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in ("if-match", "if-none-match"):
                    parameter["schema"]["format"] = "tags"
                if parameter["name"] != "Idempotency-Key":
                    kept.append(parameter)
            operation["parameters"] = kept

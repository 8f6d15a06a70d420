"""The JSON shapes, each once: spec, model file, session state, checkpoint.

What comes in is trusted with nothing: ranges stand at the fields, every index is
checked.
"""

from app.documents.files import (
    check_writable,
    load_model,
    load_spec,
    model_text,
    read_model,
    write_whole,
)

__all__ = [
    "check_writable",
    "load_model",
    "load_spec",
    "model_text",
    "read_model",
    "write_whole",
]

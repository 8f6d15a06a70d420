"""JSON documents on disk: specs and models, read whole and written whole."""

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

from core.codec import model_from_json, model_to_json
from core.errors import Refusal, RefusedError
from core.specs import TrainingSpec, read_spec
from core.types import Model


def read_json(path: Path, *, exact: bool = False) -> Any:
    """Parse a JSON file; `exact` keeps decimals as `Decimal`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return json.loads(text, parse_float=Decimal if exact else None)
    except (OSError, UnicodeDecodeError) as error:
        rule = "must be a readable UTF-8 file"
        found = getattr(error, "strerror", None) or type(error).__name__
        raise RefusedError([Refusal(str(path), rule, found)]) from None
    except (json.JSONDecodeError, RecursionError) as error:
        found = str(error)
        raise RefusedError([Refusal(str(path), "must be JSON", found)]) from None


def load_spec(path: Path) -> TrainingSpec:
    return read_spec(read_json(path, exact=True))


def load_model(path: Path) -> Model:
    return read_model(read_json(path))


def read_model(raw: object) -> Model:
    """Read a model that sessions can use."""
    model = model_from_json(raw)
    if model.ensemble.is_multilabel:
        rule = "must be false: a session predicts one class"
        raise RefusedError([Refusal("model.is_multilabel", rule)])
    return model


def model_text(model: Model) -> str:
    return json.dumps(model_to_json(model), ensure_ascii=False, indent=1) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is either the old one or the new one, never half."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        rule = "must be writable"
        raise RefusedError([Refusal(str(path), rule, error.strerror or "")]) from None

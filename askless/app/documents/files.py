"""Read and write JSON files: specs, models, prices."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from askless.app.documents.model.model import model_from_json, model_to_json
from askless.app.documents.shape import read_shape, to_refused_error
from askless.app.documents.text import parse_json, parse_spec
from askless.core.catalogue.price_lists import PriceList
from askless.core.errors import Refusal, RefusedError, nearest_hint
from askless.core.model.model import Model

if TYPE_CHECKING:
    from askless.core.pipeline.spec import TrainingSpec


def read_text(path: Path) -> str:
    """Return a file's text; raise RefusedError if it can't be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        rule = "must be a readable UTF-8 file"
        reason = getattr(error, "strerror", None) or type(error).__name__
        if isinstance(error, FileNotFoundError):
            rule += nearest_hint(path.name, list_names(path))
        raise RefusedError([Refusal(str(path), rule, reason)]) from None


def list_names(path: Path) -> list[str]:
    """Return the names of the files beside a path; none if they can't be listed."""
    try:
        return [
            file.name for file in path.parent.iterdir() if file.suffix == path.suffix
        ]
    except OSError:
        return []


def load_spec(path: Path) -> "TrainingSpec":
    # Loaded where it is needed: commands on a model read no spec.
    from askless.app.documents.spec.spec import read_spec

    return read_spec(load_raw_spec(path))


def load_raw_spec(path: Path) -> dict[str, Any]:
    """Parse a spec; its rules are checked later, together with the table."""
    return parse_spec(read_text(path), str(path))


def load_prices(path: Path) -> PriceList:
    # Loaded where it is needed: its schema takes long to build.
    from askless.app.documents.prices import PriceListWish

    raw = parse_json(read_text(path), str(path))
    return read_shape(PriceListWish, raw, "prices").build("prices")


def load_model(path: Path) -> Model:
    return read_model(parse_json(read_text(path), str(path)))


def read_model(raw: object) -> Model:
    """Read a model's document; refuse a multilabel model, which sessions can't use."""
    model = model_from_json(raw)
    if model.ensemble.is_multilabel:
        rule = "must be false: a session predicts one class"
        raise RefusedError([Refusal("model.is_multilabel", rule)])
    return model


def model_text(model: Model) -> str:
    """Return a model's document as text; refuse one that could not be read again."""
    try:
        raw = model_to_json(model)
        read_model(raw)
    except (ValidationError, RefusedError) as error:
        refusal = (
            to_refused_error(error, "model")
            if isinstance(error, ValidationError)
            else error
        )
        raise RefusedError(
            Refusal(
                broken.field, f"{broken.rule}; such a model is not kept", broken.found
            )
            for broken in refusal.refusals
        ) from None
    return json.dumps(raw, ensure_ascii=False, indent=1) + "\n"


def check_writable(path: Path, where: str) -> None:
    """Refuse a path that can't be written to, before anything is computed."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        rule = "its folder must exist, and be writable"
        raise RefusedError([Refusal(where, rule, str(path.parent))])
    if path.is_dir():
        raise RefusedError([Refusal(where, "must be a file", f"the folder {path}")])


def replace_file(path: Path, content: str | bytes) -> None:
    """Replace a file atomically."""
    raw = content.encode() if isinstance(content, str) else content
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(raw)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        rule = "must be writable"
        raise RefusedError([Refusal(str(path), rule, error.strerror or "")]) from None

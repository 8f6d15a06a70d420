"""Models as they are after they were written and read again."""

import json
from typing import Any

from askless.app.documents.model.model import model_from_json, model_to_json
from askless.core.model.model import Model


def document_of(model: Model) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(model_to_json(model)))
    return document


def through_json(model: Model) -> Model:
    return model_from_json(document_of(model))

"""Models and states as they are after they were written and read again."""

import json
from typing import Any

from askless.app.documents.model.model import model_from_json, model_to_json
from askless.app.documents.session.state import (
    build_document,
    build_state,
    read_state,
)
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.model import Model
from askless.core.session.state import State


def document_of(model: Model) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(model_to_json(model)))
    return document


def through_json(model: Model) -> Model:
    return model_from_json(document_of(model))


def state_to_json(state: State, catalogue: Catalogue) -> dict[str, Any]:
    return build_document(state, catalogue, {}).model_dump()


def state_from_json(raw: object, catalogue: Catalogue) -> State:
    return build_state(read_state(raw), catalogue)

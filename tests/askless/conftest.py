"""A real server process, with a client of it and a model."""

import json
from collections.abc import Iterator

import pytest

from askless.client import Client
from askless.stored_models import StoredModel
from tests.app.clinic import clinic, model_json
from tests.app.serving import serving


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Client]:
    with Client(address) as made:
        yield made


@pytest.fixture(scope="module")
def model(client: Client) -> StoredModel:
    document = json.dumps(model_json(clinic(), "clinic"))
    return client.import_model(document.encode(), as_version=True)

"""Doors that are closed have no address and cost nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

SERVE = """
import sys
from pathlib import Path
from fastapi.testclient import TestClient
from askless.app.main import create_app
from askless.app.settings.settings import Settings

app = create_app(Settings(home=Path(sys.argv[1])), is_local=True)
with TestClient(app, base_url="http://127.0.0.1") as client:
    assert client.get("/livez").status_code == 200
loaded = {one.partition(".")[0] for one in sys.modules}
of_doors = {"mcp", "mcp_types", "sse_starlette", "jwt", "mlflow", "pandas"}
of_doors |= {"authlib", "joserfc", "fhir", "tritonclient"}
print(sorted(loaded & of_doors))
ours = ("askless.app.doors", "askless.mlflow")
print([one for one in sys.modules if one.startswith(ours)])
"""


@pytest.mark.parametrize("engine_name", ["sqlite"])
@pytest.mark.parametrize("path", ["/v2", "/mcp", "/fhir/metadata", "/cds-services"])
def test_door_that_is_closed_has_no_address(client: TestClient, path: str) -> None:
    for response in (client.get(path), client.post(path, json={})):
        assert response.status_code == 404
        assert response.headers["content-type"] == "application/problem+json"


# It starts a process that serves.
@pytest.mark.full
def test_service_without_doors_imports_none(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVE, str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert told.splitlines() == ["[]", "[]"]

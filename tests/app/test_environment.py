"""Settings that make no sense are refused by name, before anything is started."""

import json
import os
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from askless.app.settings.environment import list_installed_doors, read_settings
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.core.errors import RefusedError


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without a setting but the folder."""
    for name in os.environ:
        if name.startswith(("ASKLESS_", "OTEL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ASKLESS_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("ASKLESS_MAX_UPLAOD_BYTES", "1", "the nearest is 'ASKLESS_MAX_UPLOAD_BYTES'"),
        ("ASKLESS_COLOUR", "red", "must be a setting"),
        ("askless_drainn_s", "1", "the nearest is 'ASKLESS_DRAIN_S'"),
        ("ASKLESS_DRAIN_S", "soon", "must be a number; found 'soon'"),
        ("ASKLESS_HEARTBEAT_TIMEOUT_S", "0", "must be above 0"),
        ("ASKLESS_DRAIN_S", "nan", "must be a finite number"),
        ("ASKLESS_SESSION_TTL_S", "1e300", "must be at most"),
        ("ASKLESS_MAX_ATTEMPTS", "1.5", "must be an integer"),
        ("ASKLESS_DATABASE_URL", "mysql://u:SECRET@h/d", "postgresql:// or sqlite:///"),
        ("ASKLESS_DATABASE_URL", "SECRET", "postgresql:// or sqlite:///"),
        ("ASKLESS_TELEMETRY", "true", "needs OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("ASKLESS_BLOBS", "cloud://u:SECRET@bucket", "fsspec"),
        ("ASKLESS_ORIGINS", '["https://a.org", "*"]', "such as https://app.example"),
        ("ASKLESS_ORIGINS", '["null"]', "such as https://app.example"),
        ("ASKLESS_ORIGINS", '["a.org"]', "such as https://app.example"),
        ("ASKLESS_ORIGINS", '["https://a.org/"]', "such as https://app.example"),
        ("ASKLESS_ORIGINS", '["https://A.org"]', "such as https://app.example"),
        ("ASKLESS_ORIGINS", '["https://u@a.org"]', "such as https://app.example"),
        ("ASKLESS_HOSTS", '["*"]', "such as api.example.org"),
        ("ASKLESS_HOSTS", '["a.org", "b.org:80"]', "such as api.example.org"),
        ("ASKLESS_HOSTS", '["https://a.org"]', "such as api.example.org"),
        ("ASKLESS_HOSTS", '[""]', "such as api.example.org"),
        ("ASKLESS_PROVIDER_HOSTS", '["https://api.example"]', "without a scheme"),
        ("ASKLESS_PROVIDER_HOSTS", '["a.org", "b.org:443"]', "found 'b.org:443'"),
        ("ASKLESS_PROVIDER_HOSTS", '["*"]', "such as api.example"),
        ("ASKLESS_DOORS", '["telex"]', "must be one of inference, mcp"),
        ("ASKLESS_DOORS", "mcp", 'must be JSON, such as ["one", "other"]'),
        (
            "ASKLESS_CDS_CLIENTS",
            '{"https://ehr.example": {"jwks": "https://ehr.example/jwks.json"}}',
            "needs ASKLESS_ADDRESS",
        ),
        ("ASKLESS_DATASET_PLACES", '["/srv/tables"]', "such as s3://bucket"),
        ("ASKLESS_DATASET_PLACES", '["file:///"]', "such as s3://bucket"),
        ("ASKLESS_DATASET_PLACES", '["s3://"]', "such as s3://bucket"),
        ("ASKLESS_DATASET_PLACES", '["file:///a/../b"]', "such as s3://bucket"),
        ("ASKLESS_DATASET_PLACES", '["s3://b?region=x"]', "such as s3://bucket"),
        ("ASKLESS_DATASET_PLACES", '["file:///.."]', "such as s3://bucket"),
        ("ASKLESS_DATASET_PLACES", '["https://a.org/t"]', "such as s3://bucket"),
        ("ASKLESS_CLUSTER", "scheduler", "such as tls://scheduler:8786"),
        ("ASKLESS_CLUSTER", "tls://scheduler", "such as tls://scheduler:8786"),
        ("ASKLESS_CLUSTER", "tls://scheduler:port", "such as tls://scheduler:8786"),
        ("ASKLESS_CLUSTER", "http://127.0.0.1:80", "such as tls://scheduler:8786"),
        ("ASKLESS_CLUSTER", "tcp://scheduler:8786", "must be tls:// beyond this"),
        ("ASKLESS_OIDC_ISSUER", "http://login.example.org", "must"),
        ("ASKLESS_OIDC_ISSUER", "login.example.org", "must"),
        ("ASKLESS_OIDC_SCOPE", "profile", "must"),
        ("ASKLESS_OIDC_GROUPS", "staff", "must be JSON"),
    ],
)
def test_setting_that_makes_no_sense_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, rule: str
) -> None:
    monkeypatch.setenv(name, text)

    with pytest.raises(RefusedError) as caught:
        read_settings()

    refusal = caught.value.refusals[-1]
    assert refusal.field == name
    assert rule in str(refusal)
    assert "SECRET" not in str(refusal)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ASKLESS_DATABASE_URL", ""),
        ("ASKLESS_DATABASE_URL", "postgres://u:p@h/d"),
        ("ASKLESS_BLOBS", "memory://uploads"),
        ("ASKLESS_ORIGINS", '["https://a.org", "http://[::1]:8080", "app://x"]'),
        ("ASKLESS_HOSTS", '["a.org", "API.b.org", "10.0.0.1", "::2"]'),
        ("ASKLESS_DATASET_PLACES", '["s3://b", "file:///srv/t.1/", "gs://b/x"]'),
        ("ASKLESS_PROVIDER_HOSTS", '["api.example", "127.0.0.1:9000", "[::1]:1"]'),
        ("ASKLESS_SERVICE_HOST", "10.0.0.1"),
        ("ASKLESS_API_PORT_8000_TCP_ADDR", "10.0.0.1"),
        ("ASKLESS_PORT", "tcp://10.0.0.1:8000"),
    ],
)
def test_setting_that_is_right_or_not_ours_is_taken(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.setenv(name, text)

    assert read_settings().drain_s == 0.0


@pytest.mark.parametrize(
    ("name", "text", "field", "rule"),
    [
        ("OIDC_GROUPS", '{"a": {"role": "boss"}}', "a.role", "must be one of"),
        ("OIDC_GROUPS", '{"a": {"tenant": "b"}}', "a.role", "is required"),
        ("OIDC_GROUPS", '{"a": {"role": "admin", "x": 1}}', "a.x", "is no field"),
        ("SMART_SERVERS", '{"a": {"x": "SECRET"}}', "a.x", "is no"),
        ("SMART_SERVERS", '{"a": {"fhir": "http://a.org/r4"}}', "a.fhir", "must"),
        ("SMART_SERVERS", '{"a": {"fhir": "https://u@a.org"}}', "a.fhir", "must"),
        ("SMART_SERVERS", '{"A b": {}}', "A b.[key]", "must"),
    ],
)
def test_field_of_a_setting_that_makes_no_sense_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, field: str, rule: str
) -> None:
    monkeypatch.setenv(f"ASKLESS_{name}", text)

    with pytest.raises(RefusedError) as caught:
        read_settings()

    found = {refusal.field: refusal.rule for refusal in caught.value.refusals}
    assert rule in found[f"ASKLESS_{name}.{field}"]
    assert "SECRET" not in str(caught.value)


SIGNING_IN = {
    "ASKLESS_ADDRESS": "https://askless.example.org",
    "ASKLESS_OIDC_ISSUER": "https://login.example.org",
    "ASKLESS_OIDC_CLIENT_ID": "askless",
    "ASKLESS_OIDC_GROUPS": '{"staff": {"role": "clinician"}}',
    "ASKLESS_SMART_SERVERS": '{"a": {"fhir": "https://a.org/r4", "client_id": "x"}}',
}


@pytest.mark.parametrize(
    ("without", "field", "rule"),
    [
        ("", "", ""),
        ("ASKLESS_ADDRESS", "ASKLESS_OIDC_ISSUER", "needs ASKLESS_ADDRESS"),
        ("ASKLESS_ADDRESS", "ASKLESS_SMART_SERVERS", "needs ASKLESS_ADDRESS"),
        ("ASKLESS_OIDC_CLIENT_ID", "ASKLESS_OIDC_CLIENT_ID", "must be set"),
        ("ASKLESS_OIDC_GROUPS", "ASKLESS_OIDC_GROUPS", "must let somebody in"),
    ],
)
def test_signing_in_elsewhere_needs_all_its_settings(
    monkeypatch: pytest.MonkeyPatch, without: str, field: str, rule: str
) -> None:
    for name, text in SIGNING_IN.items():
        if name != without:
            monkeypatch.setenv(name, text)
    if not without:
        assert read_settings().must_ask(is_local=True)
        return

    with pytest.raises(RefusedError) as caught:
        read_settings()

    found = {refusal.field: refusal.rule for refusal in caught.value.refusals}
    assert rule in found[field]


@pytest.mark.parametrize("tenant", ["", "a\u200bb", "x" * 201])
def test_tenants_of_settings_are_names(
    monkeypatch: pytest.MonkeyPatch, tenant: str
) -> None:
    for name, text in SIGNING_IN.items():
        monkeypatch.setenv(name, text)
    groups = {"staff": {"role": "admin", "tenant": tenant}}
    monkeypatch.setenv("ASKLESS_OIDC_GROUPS", json.dumps(groups))

    with pytest.raises(RefusedError, match="ASKLESS_OIDC_GROUPS: must name tenants"):
        read_settings()


@pytest.mark.parametrize("client_id", ["askless", "https://askless.example.org/mcp"])
def test_audience_of_id_tokens_is_none_of_access_tokens(
    monkeypatch: pytest.MonkeyPatch, client_id: str
) -> None:
    for name, text in SIGNING_IN.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("ASKLESS_OIDC_CLIENT_ID", client_id)
    if client_id == "askless":
        monkeypatch.setenv("ASKLESS_OIDC_AUDIENCE", client_id)

    with pytest.raises(RefusedError, match="ASKLESS_OIDC_AUDIENCE: must not be"):
        read_settings()


def test_signing_in_without_its_extra_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, text in SIGNING_IN.items():
        monkeypatch.setenv(name, text)
    # As if the package were not installed.
    monkeypatch.setitem(sys.modules, "authlib", None)

    with pytest.raises(RefusedError, match=r"pip install 'askless\[server,oidc\]'"):
        read_settings()


def test_door_without_its_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLESS_DOORS", '["mcp"]')
    # As if the package were not installed.
    monkeypatch.setitem(sys.modules, "mcp", None)

    with pytest.raises(RefusedError, match=r"pip install 'askless\[server,mcp\]'"):
        read_settings()


def test_doors_of_the_demo_are_those_whose_packages_are_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As if the package were not installed.
    monkeypatch.setitem(sys.modules, "mcp", None)

    assert "inference" in list_installed_doors()
    assert "mcp" not in list_installed_doors()


def test_command_refuses_all_at_once_with_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    monkeypatch.setenv("ASKLESS_DRAIN_S", "-1")
    monkeypatch.setenv("ASKLESS_DRAINS", "3")

    finished = run("migrate")

    assert finished.code == 2
    assert [line.split(":")[0] for line in finished.err.splitlines()] == [
        "refused ASKLESS_DRAINS",
        "refused ASKLESS_DRAIN_S",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ASKLESS_HOME", "/dev/null/x"),
        ("ASKLESS_DATABASE_URL", "postgresql://u:SECRET@127.0.0.1:1/none"),
    ],
)
def test_place_that_is_not_there_is_refused_by_its_setting(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any], name: str, text: str
) -> None:
    monkeypatch.setenv(name, text)

    finished = run("migrate")

    assert finished.code == 2
    assert finished.err.startswith(f"refused {name}: must ")
    assert "SECRET" not in finished.err


def rights(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): oct(path.stat().st_mode & 0o777)
        for path in (folder, *folder.rglob("*"))
    }


def test_files_are_for_their_user_alone_and_those_of_before_too(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    home = tmp_path / "home"
    (home / "uploads").mkdir(parents=True)
    (home / "uploads" / "old").write_text("a\n1\n")
    for path, mode in ((home, 0o755), (home / "uploads", 0o777)):
        path.chmod(mode)
    umask = os.umask(0o022)
    os.umask(umask)

    assert run("migrate").code == 0

    assert rights(home) == {
        ".": "0o700",
        "askless.db": "0o600",
        "uploads": "0o700",
        "uploads/old": "0o600",
    }
    assert os.umask(umask) == umask


@pytest.mark.parametrize("name", ["a?b", "c#d", "100%", "a%20b", "a b", "a::b", "ä;&"])
def test_folder_of_any_name_holds_database_and_uploads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any], name: str
) -> None:
    home = tmp_path / name
    monkeypatch.setenv("ASKLESS_HOME", str(home))

    assert run("keys", "create", "mine").code == 0
    Blobs(Settings(home=home).blobs_url).write("table", BytesIO(b"a"))

    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert rights(home)["askless.db"] == "0o600"
    assert (home / "uploads" / "table").read_bytes() == b"a"


def test_folder_that_holds_other_files_stays_as_it_is(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("mine")
    for path, mode in ((home, 0o755), (home / "letter.txt", 0o644)):
        path.chmod(mode)

    run("migrate")

    assert rights(home) == {
        ".": "0o755",
        "letter.txt": "0o644",
        "askless.db": "0o600",
    }

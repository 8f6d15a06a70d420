"""Secrets are read by name, hosts are listed with their port."""

from pathlib import Path

import pytest

from askless.app.settings.environment import read_settings
from askless.app.settings.hosts import is_listed, is_listed_form
from askless.app.settings.secrets import MOST_BYTES, SecretError, read_secret
from askless.core.errors import RefusedError


@pytest.mark.parametrize("text", ["abc", "abc\n", "abc\r\n"])
def test_a_secret_has_no_line_end(tmp_path: Path, text: str) -> None:
    (tmp_path / "KEY").write_bytes(text.encode())

    assert read_secret(tmp_path, "KEY") == "abc"


@pytest.mark.parametrize("name", ["", ".", "..", "../KEY", "a/b", "a\\b", "NONE", "D"])
def test_what_is_no_secret_is_named_and_nothing_else(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "secrets"
    (folder / "D").mkdir(parents=True)
    (tmp_path / "KEY").write_text("abc")

    with pytest.raises(SecretError) as caught:
        read_secret(folder, name)

    assert str(caught.value) == f"there is no secret {name}"


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff", b"a" * (MOST_BYTES + 1)])
def test_a_file_that_holds_no_secret_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "KEY").write_bytes(content)

    with pytest.raises(SecretError):
        read_secret(tmp_path, "KEY")


def test_a_folder_that_is_none_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKLESS_HOME", str(tmp_path))
    monkeypatch.setenv("ASKLESS_SECRETS", str(tmp_path / "none"))

    with pytest.raises(RefusedError, match="ASKLESS_SECRETS: must be a folder"):
        read_settings()


def test_without_a_folder_there_is_no_secret() -> None:
    with pytest.raises(SecretError):
        read_secret(None, "KEY")


def test_a_listed_host_allows_one_port() -> None:
    hosts = ["API.example", "127.0.0.1:9000", "[::1]:9000"]

    listed = ["api.example", "127.0.0.1:9000", "[::1]:9000"]
    others = ["api.example:8443", "127.0.0.1", "127.0.0.1:90", "example", ""]

    assert [host for host in listed if not is_listed(host, hosts)] == []
    assert [host for host in others if is_listed(host, hosts)] == []


def test_what_a_list_can_hold() -> None:
    good = ["api.example", "localhost:1", "10.0.0.1", "[::1]", "[fe80::1]:8080"]
    bad = [
        "",
        "*",
        "https://a",
        "a/b",
        "a:80",
        "a:443",
        "a:",
        "a:0",
        "::1",
        "a b",
        "a.",
    ]

    assert [host for host in good if not is_listed_form(host)] == []
    assert [host for host in bad if is_listed_form(host)] == []

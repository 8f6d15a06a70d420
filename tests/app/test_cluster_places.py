"""Clusters that are not safe to go to, or whose files don't fit, are refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from askless.app.settings import places
from askless.app.settings.places import ClusterPlace
from askless.core.errors import RefusedError


def write_certificates(folder: Path) -> ClusterPlace:
    # Loading Dask takes as long as many tests.
    from tests.app import dask_clusters

    return dask_clusters.write_certificates(folder)


@pytest.fixture
def place(tmp_path: Path) -> ClusterPlace:
    return write_certificates(tmp_path)


def refusals_of(place: ClusterPlace) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        place.check()
    return [str(refusal) for refusal in refused.value.refusals]


def test_certificates_that_fit_are_taken(place: ClusterPlace) -> None:
    place.check()


def test_tcp_is_taken_on_this_machine_without_files() -> None:
    ClusterPlace("tcp://127.0.0.1:8786").check()


def test_files_that_are_not_named_are_refused() -> None:
    assert refusals_of(ClusterPlace("tls://scheduler:8786")) == [
        f"ASKLESS_CLUSTER_{name}: must name a file for a cluster by tls://"
        for name in ("CA", "CERT", "KEY")
    ]


def test_file_that_is_not_there_is_refused(place: ClusterPlace) -> None:
    gone = Path("/nowhere/ca.pem")

    assert refusals_of(replace(place, ca=gone)) == [
        "ASKLESS_CLUSTER_CA: must be a file; found '/nowhere/ca.pem'"
    ]


def test_authority_that_is_none_is_refused(place: ClusterPlace) -> None:
    (refusal,) = refusals_of(replace(place, ca=place.key))

    rule = "must hold certificates of authorities, as PEM"
    assert refusal.startswith(f"ASKLESS_CLUSTER_CA: {rule}; found ")


def test_key_of_another_certificate_is_refused(
    place: ClusterPlace, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = write_certificates(tmp_path / "other")

    (refusal,) = refusals_of(replace(place, key=other.key))

    rule = "must be a certificate as PEM, ASKLESS_CLUSTER_KEY its key"
    assert refusal.startswith(f"ASKLESS_CLUSTER_CERT: {rule}; found ")


def test_engine_that_is_not_installed_is_refused(
    place: ClusterPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "find_spec", lambda _: None)

    assert refusals_of(place) == [
        "ASKLESS_CLUSTER: needs the engine: pip install 'askless[server,cluster]'"
    ]

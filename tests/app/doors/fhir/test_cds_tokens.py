"""Forged tokens and broken JWK Sets, written without a library of tokens."""

import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from fastapi.testclient import TestClient

from askless.app.doors.cds.door import ClientGuard
from askless.app.settings.doors import CdsClient
from askless.app.settings.settings import Settings
from tests.app.clinic import Json, Make
from tests.app.doors.fhir.hooks import PATH, coded, hook
from tests.app.doors.oidc.jwk_sets import JwkSet, serving_jwk_set
from tests.kept import Applications

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
DOORS = ["cds"]

ISSUER = "https://ehr.example"
KEY = ec.generate_private_key(ec.SECP384R1())
PEM = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
SIZE = 48


def encode(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()


def number(value: int) -> bytes:
    return value.to_bytes(SIZE)


def jwk() -> Json:
    point = KEY.public_key().public_numbers()
    return {
        **{"kty": "EC", "crv": "P-384", "kid": "one", "use": "sig", "alg": "ES384"},
        **{"x": encode(number(point.x)), "y": encode(number(point.y))},
    }


def claims(**more: Any) -> Json:
    now = int(time.time())
    said = {
        **{"iss": ISSUER, "aud": f"http://askless.test{PATH}", "jti": str(now)},
        **{"iat": now, "exp": now + 300},
    }
    return said | more


def token(alg: Any = "ES384", said: Any = None, **header: Any) -> str:
    """A token that is signed rightly, by the algorithm that its header names."""
    head = {"typ": "JWT", "kid": "one", "alg": alg} | header
    parts = [head, claims() if said is None else said]
    text = ".".join(encode(json.dumps(part).encode()) for part in parts)
    if alg == "HS256":
        signature = hmac.digest(PEM, text.encode(), "sha256")
    elif alg == "ES384":
        pair = decode_dss_signature(KEY.sign(text.encode(), ec.ECDSA(hashes.SHA384())))
        signature = b"".join(map(number, pair))
    else:
        signature = b""
    return f"{text}.{encode(signature)}"


def bearer(path: str) -> dict[str, str]:
    """The header of a right token for an address."""
    said = claims(aud=f"http://askless.test{path}", jti=str(uuid4()))
    return {"Authorization": f"Bearer {token(said=said, jku='http://127.0.0.1:1/x')}"}


def without(claim: str) -> str:
    """A token that lacks a claim."""
    return token(said={name: item for name, item in claims().items() if name != claim})


def unsigned(header: bytes, said: bytes) -> str:
    return ".".join(map(encode, (header, said, b"x")))


DEEP = b'{"iss": ' + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.fixture(scope="module")
def served() -> Iterator[JwkSet]:
    with serving_jwk_set(json.dumps({"keys": [jwk()]})) as made:
        yield made


@pytest.fixture
def jwks(served: JwkSet) -> str:
    """The address of the right JWK Set."""
    served.renew()
    return served.url


@pytest.fixture
def guarded(
    settings: Settings, jwks: str, applications: Applications, monkeypatch: Any
) -> Iterator[TestClient]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    clients = {ISSUER: CdsClient(jwks=jwks, tenant="clinic")}
    change = {"cds_clients": clients}
    app = applications.find(settings.model_copy(update=change), is_local=False)
    app.state.cds_guard = ClientGuard(clients)
    with applications.client(app, "http://askless.test") as made:
        yield made


@pytest.fixture
def sessions(guarded: TestClient, key: Make) -> Any:
    """Puts a model with codes; counts the sessions of its tenant."""
    ours = key(tenant="clinic")
    guarded.post("/models", json=coded(), headers=ours).raise_for_status()
    return lambda: len(guarded.get("/predict", headers=ours).json()["items"])


def ask(client: TestClient, text: str) -> Any:
    headers = {"Authorization": f"Bearer {text}"}
    return client.post(PATH, json=hook(), headers=headers)


def test_right_token_is_taken(guarded: TestClient, sessions: Any) -> None:
    assert ask(guarded, token()).status_code == 200
    assert sessions() == 1


OTHER = "http://askless.test/cds-services/other.patient-view"
FORGED = [
    pytest.param(lambda: token("none"), id="unsigned"),
    pytest.param(lambda: token("None"), id="unsigned, in other letters"),
    pytest.param(lambda: token("HS256"), id="public key as a secret"),
    pytest.param(lambda: token(["ES384"]), id="algorithm is a list"),
    pytest.param(lambda: token(kid="two"), id="key that is not there"),
    pytest.param(lambda: token(kid=7), id="key's name is a number"),
    pytest.param(lambda: token(kid="../one"), id="key's name is a path"),
    pytest.param(lambda: token(crit=["x"], x=1), id="critical header"),
    pytest.param(lambda: token()[:-8] + "AAAAAAAA", id="signature changed"),
    pytest.param(lambda: token(said=claims(iss=[ISSUER])), id="issuer in a list"),
    pytest.param(lambda: token(said=claims(iss={"a": 1})), id="issuer is an object"),
    pytest.param(lambda: token(said=claims(iss=None)), id="issuer is null"),
    pytest.param(lambda: token(said=claims(iss="\ud800")), id="issuer is half"),
    pytest.param(lambda: token(said=claims(exp="soon")), id="expiry is no time"),
    pytest.param(lambda: token(said=claims(exp=1)), id="expired"),
    pytest.param(lambda: token(said=claims(exp=10**400)), id="expiry is no double"),
    pytest.param(lambda: token(said=claims(iat=-(10**400))), id="issued never"),
    pytest.param(lambda: token(said=claims(iat=2**40)), id="issued later"),
    pytest.param(lambda: token(said=claims(exp=None)), id="expiry is null"),
    pytest.param(lambda: token(said=claims(nbf=2**40)), id="not yet"),
    pytest.param(lambda: token(said=claims(aud="http://askless.test")), id="audience"),
    pytest.param(lambda: token(said=claims(aud=[])), id="no audience"),
    pytest.param(lambda: unsigned(b"{}", DEEP), id="claims nest deep"),
    pytest.param(lambda: unsigned(DEEP, b"{}"), id="header nests deep"),
    pytest.param(lambda: unsigned(b"\xff", b"\xff"), id="bytes of no text"),
    pytest.param(lambda: token(said=[]), id="claims are a list"),
    pytest.param(lambda: token(said="x"), id="claims are a text"),
    pytest.param(lambda: token(said=claims(iss="https://x")), id="issuer unknown"),
    pytest.param(lambda: token(said=claims(aud=OTHER)), id="audience is another"),
    *(
        pytest.param(partial(without, claim), id=f"no {claim}")
        for claim in ("exp", "iat", "jti", "aud", "iss")
    ),
    *(
        pytest.param(lambda text=text: text, id=text)
        for text in ("x", "a.b.c", "askl_x")
    ),
]


def test_forged_tokens_are_refused(guarded: TestClient, sessions: Any) -> None:
    for forge in FORGED:
        response = ask(guarded, forge.values[0]())

        assert response.status_code == 401, (forge.id, response.text)
        assert response.headers["www-authenticate"], forge.id
    assert sessions() == 0


BROKEN = [
    (500, b"{}"),
    (404, b""),
    (200, b""),
    (200, b"<html>"),
    (200, b"[" * 100_000),
    (200, b"\xff"),
    (200, b"[]"),
    (200, b"7"),
    (200, b"null"),
    (200, b"{}"),
    (200, b'{"keys": 7}'),
    (200, b'{"keys": [7]}'),
    (200, b'{"keys": []}'),
    (200, b'{"keys": [{"kty": "EC", "kid": "one"}]}'),
    (200, b'{"keys": [{"kty": "oct", "kid": "one", "k": "AAAA"}]}'),
]


def test_broken_jwk_set_opens_nothing(
    guarded: TestClient, sessions: Any, served: JwkSet, jwks: str
) -> None:
    clients = {ISSUER: CdsClient(jwks=jwks, tenant="clinic")}
    for status, body in BROKEN:
        served.status, served.content = status, body
        # As if nothing had been fetched.
        guarded.app.state.cds_guard = ClientGuard(clients)  # type: ignore[attr-defined]

        response = ask(guarded, token())

        assert response.status_code in (401, 503), response.text
        assert "Traceback" not in response.text
    assert sessions() == 0


def test_token_of_a_known_client_reaches_its_tenant_alone(
    guarded: TestClient, key: Make
) -> None:
    ours, theirs = key(tenant="clinic"), key(tenant="theirs")
    for headers in (ours, theirs):
        guarded.post("/models", json=coded(), headers=headers).raise_for_status()

    response = guarded.post(PATH, json=hook(), headers=bearer(PATH))

    assert response.status_code == 200, response.text
    assert len(guarded.get("/predict", headers=ours).json()["items"]) == 1
    assert guarded.get("/predict", headers=theirs).json()["items"] == []
    listed = guarded.get("/cds-services", headers=bearer("/cds-services"))
    assert len(listed.json()["services"]) == 2
    card = {"card": response.json()["cards"][0]["uuid"], "outcome": "overridden"}
    wrong = guarded.post(f"{PATH}/feedback", json={"feedback": [card]}, headers=theirs)
    assert wrong.status_code == 404


def test_token_opens_its_address_once_and_no_other(
    guarded: TestClient, key: Make
) -> None:
    key(tenant="clinic")
    headers = bearer("/cds-services")

    answers = [guarded.get("/cds-services", headers=headers) for _ in range(2)]
    other = guarded.get("/predict", headers=bearer("/predict"))

    assert [answer.status_code for answer in (*answers, other)] == [200, 401, 401]


def test_call_without_a_token_or_a_tenant_is_refused(guarded: TestClient) -> None:
    odd = {"Authorization": b"Bearer \xff"}

    assert guarded.get("/cds-services").status_code == 401
    assert guarded.post(PATH, json=hook()).status_code == 401
    assert guarded.post(PATH, json=hook(), headers=odd).status_code == 401
    assert guarded.post(PATH, json=hook(), headers=bearer(PATH)).status_code == 401


@pytest.mark.parametrize("jwks", ["http://127.0.0.1:1/jwks.json"])
def test_jwk_set_that_is_away_is_said_to_be_for_now(guarded: TestClient) -> None:
    response = ask(guarded, token())

    assert response.status_code == 503
    assert response.headers["retry-after"]

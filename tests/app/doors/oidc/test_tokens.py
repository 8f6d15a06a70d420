"""Tokens of an issuer whose JWK Set is slow, away or odd."""

import json
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import HTTPException

from askless.app.doors.sign_in import tokens
from askless.app.doors.sign_in.tokens import Issuer
from tests.app.doors.oidc.jwk_sets import JwkSet, serving_jwk_set

NAME, US = "https://login.example.org", "https://askless.example.org/mcp"
KEY = ec.generate_private_key(ec.SECP256R1())
CLAIMS = {"iss": NAME, "aud": US, "exp": 4e9, "iat": 1e9, "sub": "ada"}


@pytest.fixture
def jwks(monkeypatch: pytest.MonkeyPatch) -> Iterator[JwkSet]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key()))
    keys = [public | {"kid": "one", "use": "sig"}]
    with serving_jwk_set(json.dumps({"keys": keys})) as served:
        yield served


def sign(kid: str = "one", **claims: Any) -> str:
    return jwt.encode(CLAIMS | claims, KEY, algorithm="ES256", headers={"kid": kid})


def test_what_is_away_is_not_asked_again_at_once(
    jwks: JwkSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = Issuer(NAME, jwks.url)
    jwks.status = 500
    for _ in range(5):
        with pytest.raises(HTTPException) as caught:
            issuer.read(sign(), US, [])
        assert caught.value.status_code == 503
    n_asked = jwks.n_asked
    jwks.status = 200
    # As if half a minute had passed.
    monkeypatch.setattr(issuer.keys, "away_until", 0.0)

    assert n_asked == 1
    assert issuer.read(sign(), US, [])["sub"] == "ada"


def test_strange_keys_keep_nobody_out_whose_key_is_known(
    jwks: JwkSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = Issuer(NAME, jwks.url)
    issuer.read(sign(), US, [])
    monkeypatch.setattr(issuer.keys, "cooldown_duration", 0)
    jwks.status = 500
    for kid in ("two", "three"):
        with pytest.raises(HTTPException):
            issuer.read(sign(kid), US, [])

    assert issuer.read(sign(), US, [])["sub"] == "ada"
    assert jwks.n_asked == 2
    assert tokens.AWAY_S > 0

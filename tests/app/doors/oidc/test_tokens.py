"""Tokens of an issuer whose JWK Set is slow, away or odd."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import anyio
import jwt
import pytest
from anyio import to_thread
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import HTTPException

from askless.app.doors.sign_in import tokens
from askless.app.doors.sign_in.tokens import Issuer
from askless.app.errors import UnknownKeyError
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


def read(issuer: Issuer, token: str) -> Any:
    return anyio.run(issuer.read, token, US, [])


def test_what_is_away_is_not_asked_again_at_once(jwks: JwkSet) -> None:
    issuer = Issuer(NAME, jwks.url)
    jwks.status = 500
    for _ in range(5):
        with pytest.raises(HTTPException) as caught:
            read(issuer, sign())
        assert caught.value.status_code == 503
    n_asked = jwks.n_asked
    jwks.status = 200
    # As if half a minute had passed.
    issuer.keys.away_until = 0.0

    assert n_asked == 1
    assert read(issuer, sign())["sub"] == "ada"


def test_strange_keys_keep_nobody_out_whose_key_is_known(jwks: JwkSet) -> None:
    issuer = Issuer(NAME, jwks.url)
    read(issuer, sign())
    with pytest.raises(UnknownKeyError):
        read(issuer, sign("two"))
    n_asked = jwks.n_asked
    # As if half a minute had passed, and the server were away.
    issuer.keys.fetched_at -= tokens.RENEW_S + 1
    jwks.status = 500
    for kid in ("two", "three"):
        with pytest.raises(HTTPException):
            read(issuer, sign(kid))

    assert read(issuer, sign())["sub"] == "ada"
    assert (n_asked, jwks.n_asked) == (1, 2)


def test_keys_stay_in_use_for_a_while(jwks: JwkSet) -> None:
    issuer = Issuer(NAME, jwks.url)
    read(issuer, sign())
    jwks.status = 500
    issuer.keys.fetched_at -= tokens.FRESH_S + 1

    assert read(issuer, sign())["sub"] == "ada"
    issuer.keys.fetched_at -= tokens.LASTS_S
    with pytest.raises(HTTPException):
        read(issuer, sign())


def test_a_new_key_is_known_once_it_is_time_to_look(jwks: JwkSet) -> None:
    issuer = Issuer(NAME, jwks.url)
    read(issuer, sign())
    jwks.content = jwks.content.replace(b'"one"', b'"two"')
    issuer.keys.fetched_at -= tokens.RENEW_S + 1

    assert read(issuer, sign("two"))["sub"] == "ada"
    with pytest.raises(UnknownKeyError):
        read(issuer, sign())


@pytest.mark.parametrize("kid", [["one"], {}, 7, None])
def test_a_key_has_a_text_as_its_name(jwks: JwkSet, kid: Any) -> None:
    parts = sign().split(".")
    head = json.dumps({"alg": "ES256", "kid": kid}).encode()
    parts[0] = urlsafe_b64encode(head).decode().rstrip("=")

    with pytest.raises(UnknownKeyError):
        read(Issuer(NAME, jwks.url), ".".join(parts))


def test_a_set_is_fetched_once_however_many_wait(jwks: JwkSet) -> None:
    issuer = Issuer(NAME, jwks.url)
    jwks.may_go_on.clear()
    n_done = 0

    async def ask() -> None:
        nonlocal n_done
        await issuer.read(sign(), US, [])
        n_done += 1

    async def ask_many() -> int:
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(ask)
            while not jwks.n_asked:
                await anyio.sleep(0.01)
            # Waiting takes no thread, of which there are forty.
            n_busy = to_thread.current_default_thread_limiter().borrowed_tokens
            jwks.may_go_on.set()
        return n_busy

    assert anyio.run(ask_many) == 0
    assert (n_done, jwks.n_asked) == (60, 1)


def test_who_has_a_key_does_not_wait_for_a_new_set(jwks: JwkSet) -> None:
    issuer = Issuer(NAME, jwks.url)
    read(issuer, sign())
    issuer.keys.fetched_at -= tokens.FRESH_S + 1
    jwks.may_go_on.clear()

    async def ask_while_it_is_fetched() -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(issuer.read, sign(), US, [])
            while jwks.n_asked < 2:
                await anyio.sleep(0.01)
            claims = await issuer.read(sign(), US, [])
            jwks.may_go_on.set()
        return claims

    assert anyio.run(ask_while_it_is_fetched)["sub"] == "ada"


def test_a_set_is_small_quick_and_where_it_was_said_to_be(
    jwks: JwkSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = jwks.content
    monkeypatch.setattr(tokens, "WHOLE_S", 0.2)
    try:
        for change in ("large", "slow", "elsewhere"):
            jwks.renew()
            if change == "large":
                jwks.content = right + b" " * tokens.MOST_BYTES
            elif change == "slow":
                jwks.may_go_on.clear()
            else:
                jwks.status, jwks.headers = 302, {"Location": jwks.url}
            with pytest.raises(HTTPException) as caught:
                read(Issuer(NAME, jwks.url), sign())
            assert (change, caught.value.status_code) == (change, 503)
            jwks.may_go_on.set()
    finally:
        jwks.renew()

    assert read(Issuer(NAME, jwks.url), sign())["sub"] == "ada"

"""Tokens of an issuer whose JWK Set is slow, away or odd."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import HTTPException

from askless.app.doors.sign_in import tokens
from askless.app.doors.sign_in.tokens import Issuer
from askless.app.errors import UnknownKeyError

NAME, US = "https://login.example.org", "https://askless.example.org/mcp"
KEY = ec.generate_private_key(ec.SECP256R1())
CLAIMS = {"iss": NAME, "aud": US, "exp": 4e9, "iat": 1e9, "sub": "ada"}


class Jwks:
    """A JWK Set on loopback: what it says, and how often it was asked."""

    def __init__(self) -> None:
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key()))
        self.content = json.dumps({"keys": [public | {"kid": "one", "use": "sig"}]})
        self.status = 200
        self.n_asked = 0
        self.url = ""


@pytest.fixture
def jwks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jwks]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Jwks()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.n_asked += 1
            self.send_response(made.status)
            self.send_header("Content-Length", str(len(made.content)))
            self.end_headers()
            self.wfile.write(made.content.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/jwks"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def sign(kid: str = "one", **claims: Any) -> str:
    return jwt.encode(CLAIMS | claims, KEY, algorithm="ES256", headers={"kid": kid})


def test_a_token_is_read(jwks: Jwks) -> None:
    assert Issuer(NAME, jwks.url).read(sign(), US, ["sub"])["sub"] == "ada"


@pytest.mark.parametrize(
    "claims",
    [
        *({"exp": 1e9}, {"exp": "soon"}, {"exp": 10**400}, {"iat": -(10**400)}),
        *({"iat": 3e9}, {"aud": "other"}, {"iss": "other"}, {"sub": None}),
    ],
)
def test_odd_claims_are_refused(jwks: Jwks, claims: dict[str, Any]) -> None:
    with pytest.raises(UnknownKeyError):
        Issuer(NAME, jwks.url).read(sign(**claims), US, ["sub", "iat"])


@pytest.mark.parametrize("content", ["", "[]", '{"keys": []}', "[" * 100_000, "x"])
def test_a_set_that_is_none_is_away(jwks: Jwks, content: str) -> None:
    jwks.content = content

    with pytest.raises((HTTPException, UnknownKeyError)):
        Issuer(NAME, jwks.url).read(sign(), US, [])


def test_what_is_away_is_not_asked_again_at_once(
    jwks: Jwks, monkeypatch: pytest.MonkeyPatch
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
    jwks: Jwks, monkeypatch: pytest.MonkeyPatch
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

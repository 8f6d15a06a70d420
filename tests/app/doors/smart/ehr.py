"""A record system of the tests: its authorization server, and its FHIR.

It checks each step of the launch as the specification (SMART App Launch 2.2) has it,
and keeps what it was asked. What a test puts into `lies` it says instead of the truth.
"""

import json
import socket
import sys
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, RedirectResponse

Json = dict[str, Any]
CLIENT, SECRET = "askless", "of the clinic"
PATIENT = "p-1"


def observation(code: str, value: float, unit: str, at: str, **more: Any) -> Json:
    return {
        "resourceType": "Observation",
        "status": "final",
        "subject": {"reference": f"Patient/{PATIENT}"},
        "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
        "effectiveDateTime": at,
        "valueQuantity": {"value": value, "unit": unit},
        **more,
    }


class Ehr:
    """One record system on loopback, with one client and one patient."""

    def __init__(self, url: str, callback: str) -> None:
        self.url = url
        self.base = f"{url}/fhir"
        self.callback = callback
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.forget()

    def forget(self) -> None:
        """Know one patient and nothing that was asked."""
        #: codes that were not used yet, with what they were asked for
        self.codes: dict[str, Json] = {}
        self.launches: set[str] = set()
        self.token = token_urlsafe()
        self.observations: list[Json] = []
        #: what was asked of its FHIR
        self.asked: list[str] = []
        self.lies: Json = {}
        #: what happens while the patient is fetched, and is answered
        self.during_patient: Callable[[], Json] | None = None

    def begin(self) -> dict[str, str]:
        """Return what the record system opens our address with."""
        launch = token_urlsafe(8)
        self.launches.add(launch)
        return {"iss": self.base, "launch": launch}

    def configuration(self) -> Json:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/jwks",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "capabilities": ["launch-ehr", "client-confidential-symmetric"],
            "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": ["ES256", "none"],
        } | self.lies.get("configuration", {})

    def jwks(self) -> Any:
        if "jwks" in self.lies:
            return self.lies["jwks"]
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [public | {"kid": "one", "use": "sig", "alg": "ES256"}]}

    def authorize(self, query: Json) -> str:
        """Return where the browser goes; raise HTTPException for a wrong request."""
        wanted = {
            "response_type": "code",
            "client_id": CLIENT,
            "redirect_uri": self.callback,
            "aud": self.base,
            "code_challenge_method": "S256",
        }
        wrong = [name for name, value in wanted.items() if query.get(name) != value]
        if wrong or query.get("launch") not in self.launches or not query.get("state"):
            raise HTTPException(400, f"wrong: {wrong}")
        if not {"launch", "openid", "fhirUser"} <= set(query["scope"].split()):
            raise HTTPException(400, "wrong scope")
        if "error" in self.lies:
            said = {"error": self.lies["error"], "state": query["state"]}
            return f"{self.callback}?{urlencode(said)}"
        self.launches.remove(query["launch"])
        code = token_urlsafe()
        self.codes[code] = query
        return f"{self.callback}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: Json, authorization: str) -> Json:
        """Return the tokens of a code, which is used up."""
        if authorization != f"{CLIENT}:{SECRET}":
            raise HTTPException(401, "invalid_client")
        query = self.codes.pop(form.get("code", ""), None)
        digest = sha256(form.get("code_verifier", "").encode()).digest()
        challenge = urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            query is None
            or query["code_challenge"] != challenge
            or form.get("redirect_uri") != self.callback
        ):
            raise HTTPException(400, "invalid_grant")
        return {
            "access_token": self.token,
            "token_type": "Bearer",
            "expires_in": 300,
            "scope": query["scope"],
            "patient": PATIENT,
            "id_token": self.sign(query),
        } | self.lies.get("token", {})

    def sign(self, query: Json) -> str:
        now = datetime.now(UTC)
        claims = {
            "iss": self.url,
            "sub": "dr-7",
            "aud": CLIENT,
            "iat": now,
            "exp": now + timedelta(minutes=5),
            "nonce": query.get("nonce"),
            "name": "Dr. Seven",
            "fhirUser": f"{self.base}/Practitioner/7",
        } | self.lies.get("claims", {})
        key, algorithm = self.lies.get("signing", (self.key, "ES256"))
        return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "one"})


def make_app(ehr: Ehr) -> FastAPI:
    app = FastAPI()

    @app.get("/fhir/.well-known/smart-configuration")
    def configuration() -> Any:
        return ehr.configuration()

    @app.get("/jwks")
    def jwks() -> Any:
        return ehr.jwks()

    @app.get("/authorize")
    def authorize(request: Request) -> Any:
        return RedirectResponse(ehr.authorize(dict(request.query_params)), 302)

    @app.post("/token")
    async def token(request: Request) -> Any:
        raw = request.headers.get("authorization", "").removeprefix("Basic ")
        form = {name: str(value) for name, value in (await request.form()).items()}
        return ehr.exchange(form, b64decode(raw).decode())

    @app.get("/fhir/{path:path}")
    def read(path: str, request: Request) -> Any:
        if request.headers.get("authorization") != f"Bearer {ehr.token}":
            raise HTTPException(401)
        ehr.asked.append(f"{path}?{request.url.query}")
        if path in ehr.lies:
            return JSONResponse(*ehr.lies[path])
        if path == f"Patient/{PATIENT}":
            if ehr.during_patient is not None:
                return ehr.during_patient()
            birth = {"birthDate": "1963-02-01", "gender": "male"}
            return {"resourceType": "Patient", "id": PATIENT, **birth}
        entries = [{"resource": observation} for observation in ehr.observations]
        return {"resourceType": "Bundle", "type": "searchset", "entry": entries}

    return app


@contextmanager
def running(callback: str) -> Iterator[Ehr]:
    """Serve a record system on loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    ehr = Ehr(f"http://127.0.0.1:{listener.getsockname()[1]}", callback)
    server = uvicorn.Server(uvicorn.Config(make_app(ehr), log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield ehr
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def main() -> None:
    """Serve a record system until Ctrl-C: PORT, and the SITE that it launches."""
    port, site = int(sys.argv[1]), sys.argv[2]
    ehr = Ehr(f"http://127.0.0.1:{port}", f"{site}/ui/smart/clinic/callback")
    at = datetime.now(UTC).isoformat()
    ehr.observations = [observation("2093-3", 250, "mg/dL", at)]
    address = f"{site}/ui/smart/clinic/launch/heart-cleveland"
    print(f"Open {address}?{urlencode(ehr.begin())}")  # noqa: T201
    uvicorn.run(make_app(ehr), port=port, log_level="warning")


if __name__ == "__main__":
    main()

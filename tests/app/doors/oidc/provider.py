"""Runs the identity provider of the tests, and signs people in at it as a browser does.

`provider.mjs` is the provider, npm's `oidc-provider` the library that it is made of.
"""

import re
import shutil
import socket
import subprocess
from base64 import urlsafe_b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx
import pytest

from askless.app.settings.settings import Settings

HERE = Path(__file__).resolve().parent
PACKAGE = "oidc-provider@9.13.3"
SITE = "http://askless.test"
#: groups of people.json; nobody who is only in `everybody` may do anything
GROUPS = {
    "heart": {"tenant": "cardiology", "role": "clinician"},
    "it": {"role": "admin"},
}
FORM = re.compile(r'<form[^>]*action="([^"]+)"')
PROMPT = re.compile(r'name="prompt" value="(\w+)"')
MOST_STEPS = 12


class Provider:
    """A provider on loopback that knows one site as its client."""

    def __init__(self, folder: Path, site: str = SITE) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.site = site
        command = ["node", str(folder / "provider.mjs"), str(port), site]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def settings_of(self, settings: Settings, **more: object) -> Settings:
        """Return settings by which people sign in at this provider."""
        read = Settings.model_validate(
            {
                "address": self.site,
                "oidc_issuer": self.url,
                "oidc_client_id": "askless",
                "oidc_client_secret": "kept-by-the-service",
                "oidc_groups": GROUPS,
                **more,
            }
        )
        changed = {name: getattr(read, name) for name in read.model_fields_set}
        return settings.model_copy(update=changed)

    def token_of(self, name: str, resource: str) -> dict[str, str]:
        """Return the tokens that an agent of a person gets for a resource."""
        back = "http://127.0.0.1/back"
        verifier = "v" * 43
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode()
        asked = {"response_type": "code", "redirect_uri": back, "resource": resource}
        asked |= {"scope": "openid", "code_challenge_method": "S256"}
        asked |= {"client_id": "agent", "code_challenge": challenge.rstrip("=")}
        came = self.sign_in(f"{self.url}/auth?{urlencode(asked)}", name, back)
        code = parse_qs(urlsplit(came).query)["code"][0]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back}
        form |= {"client_id": "agent", "code_verifier": verifier, "resource": resource}
        response = httpx.post(f"{self.url}/token", data=form, trust_env=False)
        tokens: dict[str, str] = response.raise_for_status().json()
        return tokens

    def sign_in(self, address: str, name: str, back: str) -> str:
        """Go through the provider's pages from an address; return where it leads back.

        Someone who is called `nobody` presses Cancel.
        """
        with httpx.Client(trust_env=False) as browser:
            for _ in range(MOST_STEPS):
                response = browser.get(address)
                if response.status_code == 200:
                    response = answer(browser, response, name)
                address = urljoin(address, response.headers["location"])
                if address.startswith(back):
                    return address
        raise AssertionError(f"the provider did not lead back from {address}")


def answer(browser: httpx.Client, page: httpx.Response, name: str) -> httpx.Response:
    """Fill in the form of a page: who one is, or that one agrees."""
    if name == "nobody":
        cancel = re.search(r'href="([^"]+/abort)"', page.text)
        assert cancel is not None, page.text
        return browser.get(urljoin(str(page.url), unescape(cancel[1])))
    action, prompt = FORM.search(page.text), PROMPT.search(page.text)
    assert action is not None, page.text
    assert prompt is not None, page.text
    url = urljoin(str(page.url), unescape(action[1]))
    return browser.post(
        url, data={"prompt": prompt[1], "login": name, "password": "any"}
    )


def install(folder: Path) -> Path:
    """Install the library into a folder, beside the provider; skip without npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    for name in ("provider.mjs", "people.json"):
        shutil.copy(HERE / name, folder / name)
    command = [npm, "install", "--no-save", "--no-package-lock", "--silent", PACKAGE]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, timeout=180, check=False
    )
    if done.returncode:
        pytest.skip("npm's registry does not give oidc-provider")
    return folder


def host_of(url: str) -> str:
    return urlsplit(url).netloc

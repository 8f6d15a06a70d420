"""A vendor for `make compose-test`, in a container of our image.

It sells what the demo's vendors know, takes two seconds for it, asks for a secret, and
prints the idempotency key of each request as it comes.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from askless.app.demo.leads import list_shown

PORT = 9009
ANSWERS_IN_S = 2.0
LEADS = {lead.domain: lead for lead in list_shown()}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        sys.stdout.write(f"asked {self.headers['Idempotency-Key']}\n")
        sys.stdout.flush()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(ANSWERS_IN_S)
        vendor = urlsplit(self.path).path.rpartition("/")[2]
        body = json.dumps({"company": LEADS[asked["domain"]].answers[vendor]}).encode()
        is_known = self.headers["Authorization"] == "Bearer not-a-real-key"
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("", PORT), Handler).serve_forever()

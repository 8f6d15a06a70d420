"""One server process, of the code that its path begins with; run as a script.

`served.py serve` migrates, serves what ASKLESS_… names, and prints its port;
`served.py bare` does so for the bare handler; `served.py work` is a worker;
`served.py model` prints the demo's model, which the code trains. It imports what
today's code and the code of b31d553 both have.
"""

import os
import socket
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(job: str) -> None:
    if job == "model":
        sys.stdout.write(train())
        return
    import uvicorn

    try:
        from askless.app.settings.settings import Settings
    except ImportError:
        from askless.app.settings import Settings
    settings = Settings()
    if job == "work":
        from askless.app.worker import run

        run(settings)
        return
    if job == "bare":
        from benchmarks.service.bare import create_bare

        app = create_bare(settings.url)
    else:
        from askless.app.main import create_app
        from askless.app.store.database.migrate import migrate

        migrate(settings.url)
        from inspect import signature

        try:
            from askless.app.server import spare_collections
        except ImportError:
            pass
        else:
            spare_collections()
        is_new = "is_local" in signature(create_app).parameters
        app = create_app(settings, **({"is_local": True} if is_new else {}))
    # With the protocol named, asyncio switches off Nagle's algorithm on what it
    # accepts; without it every answer waits 40 ms for a delayed acknowledgement.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as found:
        found.bind(("127.0.0.1", 0))
        found.listen(512)
        print(found.getsockname()[1], flush=True)
        quiet = {"log_config": None, "access_log": False, "server_header": False}
        uvicorn.Server(uvicorn.Config(app, **quiet)).run([found])


def train() -> str:
    """Train the demo's model; its document."""
    from askless.app.terminal.demo import demo_training, load_demo

    try:
        from askless.app.documents.files import model_text
    except ImportError:
        from askless.app.documents import model_text
    training = demo_training(*load_demo())
    while True:
        try:
            next(training)
        except StopIteration as end:
            return model_text(end.value)


if __name__ == "__main__":
    main(sys.argv[1])

"""Commands of the service: demo, serve, worker, migrate, compile-kernels."""

import errno
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Annotated

import typer
from sqlalchemy.exc import OperationalError

from askless.app import logs
from askless.app.cli.options import Host, Port, output
from askless.app.cli.serving import demo
from askless.app.cli.serving.keys import open_engine
from askless.app.processes.child import Child, fork_context
from askless.app.processes.ports import USUAL, bind_free_port, bind_port, port_taken
from askless.app.processes.supervised import supervise
from askless.app.records import DEFAULT_TENANT
from askless.app.service import keys
from askless.app.settings.environment import list_installed_doors, read_settings
from askless.app.settings.home import keep_files_private
from askless.app.settings.hosts import is_loopback
from askless.app.settings.settings import DEMO_NOTE, Settings
from askless.app.store.database.engine import transaction
from askless.app.terminal.demo import run_demo
from askless.core import kernels
from askless.core.errors import Refusal, RefusedError
from askless.core.warm import warm_up

# Address at which `serve` listens by default.
ADDRESS = f"http://127.0.0.1:{USUAL}"
CHILDREN: dict[str, Sequence[str]] = {
    name: (sys.executable, "-m", "askless.app.cli", name, "--with-parent")
    for name in ("worker", "buyer")
}


WithParent = Annotated[
    bool, typer.Option("--with-parent", help="End when standard input does.")
]


def show_demo(
    serve: Annotated[bool, typer.Option(help="Serve the API afterwards.")] = True,
    host: Host = "127.0.0.1",
    port: Port = None,
) -> None:
    bound = bind(host, port) if serve else None
    with open_settings() as settings:
        migrate_database(settings)
        # The worker compiles the kernels that only trainings on many rows use.
        with compile_beside(many_rows=False):
            model = run_demo(output)
        with open_engine(settings) as engine:
            demo.store_trained(settings, engine, DEFAULT_TENANT, model)
        if bound is not None:
            enqueue_others(settings)
            shown = {
                "note": settings.note or DEMO_NOTE,
                "doors": settings.doors or list_installed_doors(),
            }
            served = settings.model_copy(update=shown)
            served, command = demo.open_vendors(served, DEFAULT_TENANT)
            children = CHILDREN | {"vendors": command}
            run_server(served, bound, children=children, with_case=True)


def enqueue_others(settings: Settings) -> None:
    """Enqueue the other trainings of the demo."""
    with open_engine(settings) as engine:
        begun = demo.enqueue_missing_trainings(settings, engine, DEFAULT_TENANT)
        if begun:
            output.print(f"The service now trains {' and '.join(begun)}, too.")


def serve_api(
    host: Host = "127.0.0.1",
    port: Port = None,
    worker: Annotated[
        bool, typer.Option(help="Run a worker and a buyer beside the API.")
    ] = True,
) -> None:
    with bind(host, port) as bound, open_settings() as settings:
        if settings.is_embedded:
            prepare_database(settings)
        else:
            check_database(settings)
        children: dict[str, Sequence[str]] = {**CHILDREN} if worker else {}
        if settings.demo and not settings.is_embedded:
            settings, children["vendors"] = demo.allow_vendors(settings)
        elif settings.demo and worker:
            tenant_id = demo.get_tenant_id(settings)
            settings, children["vendors"] = demo.open_vendors(settings, tenant_id)
        run_server(settings, bound, children=children)


def run_worker(with_parent: WithParent = False) -> None:
    from askless.app import worker

    with open_settings() as settings:
        worker.run(settings, sys.stdin.fileno() if with_parent else None)


def run_buyer(with_parent: WithParent = False) -> None:
    from askless.app import buyer

    with open_settings() as settings, ExitStack() as stack:
        parent = sys.stdin.fileno() if with_parent else None
        # A parent has the vendors, and has let them be called.
        if settings.demo and not settings.is_embedded and parent is None:
            settings, command = demo.allow_vendors(settings)
            logs.configure_logging()
            stack.enter_context(supervise("vendors", command))
            demo.wait_for_vendors()
        buyer.carry_out_runs(settings, parent)


def migrate() -> None:
    with open_settings() as settings:
        prepare_database(settings)
        output.print("the database is up to date")
        if settings.demo:
            for line in demo.list_demo_lines(settings, settings.address or ADDRESS):
                output.print(line)


def compile_kernels() -> None:
    with compile_beside(many_rows=True):
        warm_up(panels_first=True)
    output.print("the kernels are compiled")


@contextmanager
def open_settings() -> Iterator[Settings]:
    """Open the settings; files written in the block are readable by this user only."""
    settings = read_settings()
    with keep_files_private(settings):
        yield settings


def bind(host: str, port: int | None) -> socket.socket:
    """Bind the port of an option; without one the usual, or the next free one."""
    try:
        if port is not None:
            return bind_port(host, port)
        bound = bind_free_port(host)
    except OSError as error:
        received = f"{host}:{USUAL if port is None else port}: {error.strerror}"
        is_elsewhere = isinstance(error, socket.gaierror) or (
            error.errno == errno.EADDRNOTAVAIL
        )
        wrong = ("--host", "must be an address of this machine")
        taken = ("--port", "must be free")
        broken = wrong if is_elsewhere else taken
        raise RefusedError([Refusal(*broken, received)]) from None
    number = bound.getsockname()[1]
    if number != USUAL:
        output.print(port_taken(number))
    return bound


def prepare_database(settings: Settings) -> None:
    migrate_database(settings)
    if settings.demo:
        demo.seed_demo(settings)


def migrate_database(settings: Settings) -> None:
    from askless.app.service import operations

    try:
        operations.migrate(settings.url)
    except OperationalError as error:
        name = (
            "ASKLESS_HOME" if settings.database_url is None else "ASKLESS_DATABASE_URL"
        )
        reason = str(error.orig).splitlines()[0]
        rule = "must lead to a database that answers"
        raise RefusedError([Refusal(name, rule, reason)]) from None


def check_database(settings: Settings) -> None:
    """Refuse a schema that is unknown. A database that is away comes back later."""
    from askless.app.service import operations

    with open_engine(settings) as engine, suppress(OperationalError):
        operations.refuse_other_schema(engine)


def run_server(
    settings: Settings,
    bound: socket.socket,
    *,
    children: Mapping[str, Sequence[str]],
    with_case: bool = False,
) -> None:
    """Serve, and print the address once requests are answered.

    `with_case`: prepare a first case of the default tenant, and print its address too.
    """
    from askless.app.server import serve

    if settings.must_ask(is_local=is_loopback(bound.getsockname()[0])):
        show_first_key(settings)
    address = settings.address or address_of(bound)

    lines = [f"Open {address} in a browser (the API: /docs). Stop: Ctrl+C"]
    if settings.demo:
        lines += demo.list_demo_lines(settings, address)
    elif with_case:
        with open_engine(settings) as engine:
            lines += demo.list_case_lines(settings, engine, DEFAULT_TENANT, address)

    def tell() -> None:
        """Print the addresses: once requests are answered, below all log lines."""
        for line in lines:
            output.print(line)
        sys.stdout.flush()

    logs.configure_logging()
    serve(settings, bound, children=children, tell=tell)


def address_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://{host}:{port}"


def show_first_key(settings: Settings) -> None:
    """Make and print a key at the first start of a database that has none."""
    with open_engine(settings) as engine, transaction(engine, DEFAULT_TENANT) as db:
        new_key = keys.make_first_key(db, datetime.now(UTC))
    if new_key is not None:
        output.print("The first key, shown this once; askless keys create makes more:")
        typer.echo(new_key.token)


@contextmanager
def compile_beside(*, many_rows: bool) -> Iterator[None]:
    """Let a child compile all kernels, once the block has to compile one.

    A first start spends most of its time compiling, which takes one core. What either
    process has compiled, the other one loads. The block's end waits for the child.
    `many_rows` as in `askless.core.warm.warm_up`.
    """
    children: list[Child] = []

    def start_child() -> None:
        children.append(Child.start(fork_context(compile_all), compile_all, many_rows))

    with kernels.watch_compiling(start_child):
        try:
            yield
            for child in children:
                child.process.join()
        finally:
            for child in children:
                child.end()


def compile_all(channel: Connection, many_rows: bool) -> None:
    """Compile or load every kernel in the child, those of tables first."""
    del channel
    warm_up(many_rows=many_rows)

"""Stands between a client and a server, and breaks what it is told to break."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

CHUNK = 1 << 16


class Proxy:
    """Passes on what comes, but for one answer, if it is told to act instead."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        #: what is done, once, when the next answer begins, which nobody gets then
        self.act: Callable[[], None] | None = None
        #: set when a request has been passed on
        self.has_request = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.threads: list[threading.Thread] = []
        self.sockets: list[socket.socket] = []
        self.thread.start()

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self.listener.accept()
                server = socket.create_connection(self.target)
                self.sockets += [caller, server]
                for way in (self.send_requests, self.send_answers):
                    thread = threading.Thread(
                        target=way, args=(caller, server), daemon=True
                    )
                    thread.start()
                    self.threads.append(thread)

    def send_requests(self, caller: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while part := caller.recv(CHUNK):
                server.sendall(part)
                self.has_request.set()
        hang_up(server)

    def send_answers(self, caller: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while part := server.recv(CHUNK):
                act, self.act = self.act, None
                if act is not None:
                    act()
                    break
                caller.sendall(part)
        hang_up(caller)
        hang_up(server)

    def close(self) -> None:
        # Closing alone would not wake the thread that accepts.
        hang_up(self.listener)
        self.listener.close()
        self.thread.join(10)
        for opened in self.sockets:
            hang_up(opened)
        for thread in self.threads:
            thread.join(10)
        for opened in self.sockets:
            opened.close()


def hang_up(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)

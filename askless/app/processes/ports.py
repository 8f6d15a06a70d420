"""Bind a port of this machine.

`make demo` runs this file before anything is installed, so it imports the standard
library alone.
"""

import errno
import socket
import sys

HOST, USUAL = "127.0.0.1", 8000
# Ports after the usual one that may be taken instead.
N_NEXT = 100


def bind_port(host: str, port: int) -> socket.socket:
    """Bind a port before anything is started: a taken one is noticed at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small answers without delay.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(2048)
    except OSError:
        bound.close()
        raise
    return bound


def bind_free_port(host: str) -> socket.socket:
    """Bind the usual port; where it is taken, the next free one."""
    for port in range(USUAL, USUAL + N_NEXT):
        try:
            return bind_port(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return bind_port(host, 0)


def port_taken(port: int) -> str:
    return f"Port {USUAL} is taken: it is {port} instead."


def check_port(text: str) -> int:
    """Return the exit code of looking for a port; "" means any."""
    if not text:
        with bind_free_port(HOST) as bound:
            port = bound.getsockname()[1]
        if port != USUAL:
            sys.stdout.write(f"{port_taken(port)}\n")
        return 0
    if not text.isdigit() or int(text) > 65535:
        sys.stderr.write(f"PORT must be a number from 0 to 65535, not {text}.\n")
        return 2
    try:
        bind_port(HOST, int(text)).close()
    except OSError as error:
        reason = f"Port {text} can't be used ({error.strerror})"
        sys.stderr.write(f"{reason}: name another, such as PORT=9000.\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(check_port(sys.argv[1] if len(sys.argv) > 1 else ""))

"""Runs inside the sandbox: carries connections from its loopback to the gate's socket.

Started as ``python3 -I -S -c <this text> SOCKET PORT`` by the system's Python, so it uses the standard
library only and must not import anything of ours. Once it listens it goes to the background, and the
program that was waited for ends.
"""

import os
import socket
import sys
import threading


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()


def _carry(client: socket.socket, path: str) -> None:
    gate = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        gate.connect(path)
    except OSError:
        client.close()
        return
    threading.Thread(target=_copy, args=(client, gate), daemon=True).start()
    _copy(gate, client)


def _serve(listener: socket.socket, path: str) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_carry, args=(client, path), daemon=True).start()


def main(path: str, port: int) -> None:
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    if os.fork():
        return
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    _serve(listener, path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

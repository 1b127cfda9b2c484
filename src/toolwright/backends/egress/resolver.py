"""The system's resolver, asked once for each connection, off the event loop."""

import socket

import anyio.to_thread


async def system_resolver(host: str, port: int) -> tuple[str, ...]:
    """All addresses of ``host``, in the system's order of preference. May raise OSError.

    A literal address is returned as it is.
    """
    return await anyio.to_thread.run_sync(_look_up, host, port, abandon_on_cancel=True)


def _look_up(host: str, port: int) -> tuple[str, ...]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as problem:
        raise OSError("the name cannot be put into a DNS question") from problem
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))

"""Several sockets that listen on one port, one for each worker; the system deals connections out to them.

Linux lets a small filter choose the socket. With it no connection goes to a worker that has died and whose successor
is not there yet; without it such connections wait.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress

# Of Linux's socket.h and filter.h.
_ATTACH_FILTER = 51  # SO_ATTACH_REUSEPORT_CBPF
_LOAD, _MODULO, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x94, 0x15, 0x06
_RANDOM = 0xFFFFF000 + 56


def open_socket(family: int) -> socket.socket:
    """Return a socket for connections that send at once what they are given.

    asyncio turns Nagle's algorithm off only for sockets that name TCP as their protocol. With it, an answer whose head
    and body are sent one after the other waited 40 ms for the client's system to confirm the head.
    """
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)


def share_port(first: socket.socket, backlog: int) -> socket.socket:
    """Return another socket that listens on the same port; the same one where that is not possible."""
    option = getattr(socket, "SO_REUSEPORT", None)
    if option is None or not first.getsockopt(socket.SOL_SOCKET, option):
        return first
    other = open_socket(first.family)
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    other.setsockopt(socket.SOL_SOCKET, option, 1)
    other.bind(first.getsockname())
    other.listen(backlog)
    return other


def choose_sockets(member: socket.socket, chosen: Sequence[int]) -> None:
    """Let only some of the sockets on a port get new connections; numbers are in the order in which they listened.

    What waits for the others still waits. Where the system has no such filter nothing changes.
    """
    if sys.platform != "linux" or not chosen:
        return
    steps = [(_LOAD, 0, 0, _RANDOM), (_MODULO, 0, 0, len(chosen))]
    for number, place in enumerate(chosen):
        steps += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, place)]
    steps.append((_RETURN, 0, 0, chosen[0]))
    content = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    with suppress(OSError):
        program = struct.pack("HL", len(steps), ctypes.addressof(content))
        member.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)

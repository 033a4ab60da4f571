"""Who a client is, by its address, and how many requests it may send."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Collection

from neartag.core.errors import ParameterError

MAX_CLIENTS = 10_000  # that are counted at once: beyond that the one that was silent longest is forgotten
BURST_SECONDS = 2.0  # so many seconds' worth of requests may come at once
IPV6_PREFIX = 64  # bits: one client has all addresses of its network


def check_proxies(addresses: Collection[str]) -> None:
    """Raise ParameterError where the address of a proxy is none."""
    for address in addresses:
        try:
            ipaddress.ip_address(address)
        except ValueError as error:
            raise ParameterError(f"--trust-proxy must be the address of a proxy, not {address!r:.60}") from error


def find_client(peer: str, forwarded: bytes, proxies: Collection[str]) -> str:
    """Return the address that a request came from.

    A proxy that we trust says it in X-Forwarded-For: the last address there that is none of our proxies. What stands
    before it anybody can have written.
    """
    address = _clean(peer) or peer
    if address in proxies:
        for step in reversed(forwarded.decode("latin-1").split(",")):
            name = _clean(step)
            if name is None:
                break
            address = name
            if name not in proxies:
                break
    return _network(address)


class RateLimit:
    """So many requests a second for each client; what it did not use in the last seconds it may use at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(1.0, BURST_SECONDS * rate)
        # What each client may still send at once, and as of when.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, client: str) -> int:
        """Count a request; return after how many seconds it may come again, 0 where it may come now."""
        now = self._clock()
        left, then = self._left.pop(client, (self._most, now))
        left = min(self._most, left + self._rate * (now - then))
        allowed = left >= 1.0
        self._left[client] = (left - 1.0 if allowed else left), now
        if len(self._left) > MAX_CLIENTS:
            self._left.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1.0 - left) / self._rate))


def _clean(text: str) -> str | None:
    """Return an address without the port that some proxies add, None where it is no address."""
    name = text.strip()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    try:
        parsed = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    return address if parsed.version == 4 else str(ipaddress.ip_network((int(parsed), IPV6_PREFIX), strict=False))

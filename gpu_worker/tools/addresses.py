"""Which internet addresses are public, by a list of our own, and which host names are plain.

The standard library's `is_global` is wrong for several ranges (192.0.0.192, fec0::/10, 3fff::/20,
192.88.99.0/24, ::127.0.0.1), so the list follows IANA's special-purpose registries, strictly: what is
reserved, a tunnel, a translation, or known to be a cloud's metadata service is not public.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's wire server
            "169.254.0.0/16",  # link-local, and most clouds' metadata
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_PUBLIC_6 = IPv6Network("2000::/3")
"""Everything else is loopback, mapped, translated, local, multicast or not given out."""
_NOT_PUBLIC_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: an IPv4 address inside
            "3fff::/20",  # documentation
        ),
    )
)
_ISATAP = (0x00005EFE, 0x02005EFE)
"""Third quarter of an IPv6 address that has an IPv4 address as its last."""

_PLAIN_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_DOTTED_QUAD = re.compile(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}")
MAX_NAME = 253


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """May a stranger's tool connect there?"""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address.scope_id is not None or address not in _PUBLIC_6:
        return False
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return False
    return not any(address in network for network in _NOT_PUBLIC_6)


def parsed(text: str) -> IPv4Address | IPv6Address | None:
    """The address, if it is written the one usual way; None for names and everything odd."""
    if ":" not in text and not _DOTTED_QUAD.fullmatch(text):
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_plain_name(host: str) -> bool:
    """A lower-case ASCII host name that no resolver could take for a number.

    Trailing dots, percent signs and the decimal, octal, hexadecimal and short spellings of addresses are
    not plain; international names are when they are written in their xn-- form.
    """
    if len(host) > MAX_NAME or not _PLAIN_NAME.fullmatch(host):
        return False
    return not _NUMBER.fullmatch(host.rpartition(".")[2])

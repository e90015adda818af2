"""An authenticating proxy in front of the server: its headers say who asks.

They are believed only on connections whose client certificate is of the proxy's own authority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.net.tls.certificates import subject_of
from proreus.server.authn.certificates import UNKNOWN_AUTHORITY, is_issued_by
from proreus.server.authn.escaping import unescaped
from proreus.server.authn.options import RequestHeaderOptions
from proreus.server.authn.token_check import Rejected
from proreus.server.registry.user import User

Headers = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """``authorities``: digests of those that sign certificates of proxies."""

    options: RequestHeaderOptions
    authorities: Callable[[], frozenset[str]]

    def check(self, certificate: Mapping[str, Any], headers: Headers) -> User | Rejected | None:
        """None if the proxy names nobody."""
        if not is_issued_by(certificate, self.authorities()):
            return Rejected(UNKNOWN_AUTHORITY)
        name, _ = subject_of(certificate)
        if self.options.allowed_names and name not in self.options.allowed_names:
            return Rejected(f"x509: subject with cn={name} is not in the allowed list")
        return proxied_user(headers, self.options)

    def reads(self, header: str) -> bool:
        """Of a header in lower case."""
        options = self.options
        names = (*options.username_headers, *options.uid_headers, *options.group_headers)
        if header in [name.lower() for name in names]:
            return True
        prefixes = tuple(prefix.lower() for prefix in options.extra_headers_prefix)
        return header.startswith(prefixes)


def proxied_user(headers: Headers, options: RequestHeaderOptions) -> User | None:
    pairs = [(header.lower(), value) for header, value in headers]
    name = _first(pairs, options.username_headers)
    if not name:
        return None
    groups = [
        value
        for wanted in options.group_headers
        for header, value in pairs
        if header == wanted.lower() and value
    ]
    return User(name, tuple(groups), _first(pairs, options.uid_headers), _extra(pairs, options))


def _first(pairs: Sequence[tuple[str, str]], wanted: Sequence[str]) -> str:
    """The first value of each header counts, and the first of these that is not empty."""
    for name in wanted:
        values = [value for header, value in pairs if header == name.lower()]
        if values and values[0]:
            return values[0]
    return ""


def _extra(
    pairs: Sequence[tuple[str, str]], options: RequestHeaderOptions
) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in options.extra_headers_prefix:
        for header, value in pairs:
            if header.startswith(prefix.lower()):
                key = unescaped(header[len(prefix) :])
                extra[key] = (*extra.get(key, ()), value)
    return extra

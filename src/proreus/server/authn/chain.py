"""Credentials → User. A credential nobody accepts is refused; none at all is anonymous.

Cost: a known token is one dictionary lookup, a certificate is read once per connection.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.status import Unauthorized
from proreus.api.wire.channels import BEARER_PROTOCOL
from proreus.server.authn.certificates import user_of_certificate
from proreus.server.registry.user import ANONYMOUS, User

TokenCheck = Callable[[str], Awaitable[User | None]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request brought: "" and None where it brought nothing."""

    authorization: str = ""
    socket_protocol: str = ""
    certificate: Mapping[str, Any] | None = None


class Authentication:
    """``token_checks`` are asked in order."""

    def __init__(
        self, token_checks: Sequence[TokenCheck], lasting: Mapping[str, User] | None = None
    ) -> None:
        """``lasting``: tokens that are good for as long as the server runs."""
        self._token_checks = tuple(token_checks)
        self._remembered = {f"Bearer {token}": user for token, user in (lasting or {}).items()}

    def remembered(self, authorization: str) -> User | None:
        """Whom a header stands for whose token never expires; None: ask ``user``."""
        return self._remembered.get(authorization)

    async def user(self, credentials: Credentials) -> User:
        """Raises Unauthorized."""
        if credentials.certificate is not None:
            found = user_of_certificate(credentials.certificate)
            if found is not None:
                return found
        token = bearer_token(credentials)
        if not token:
            return ANONYMOUS
        found = await self.user_of_token(token)
        if found is None:
            raise Unauthorized.default()
        return found

    async def user_of_token(self, token: str) -> User | None:
        for check in self._token_checks:
            found = await check(token)
            if found is not None:
                return found
        return None


def bearer_token(credentials: Credentials) -> str:
    """The token, "" if the header is of another kind or there is none. Raises Unauthorized."""
    scheme, _, rest = credentials.authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.partition(" ")[0]
    offered = [name.strip() for name in credentials.socket_protocol.split(",")]
    tokens = [name for name in offered if name.startswith(BEARER_PROTOCOL)]
    if not tokens:
        return ""
    if len(tokens) > 1 or len(offered) == 1:
        # The server must choose one of the protocols, and a credential is nobody's to choose.
        raise Unauthorized.default()
    return _decoded(tokens[0].removeprefix(BEARER_PROTOCOL))


def _decoded(text: str) -> str:
    try:
        padded = text + "=" * (-len(text) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise Unauthorized.default() from error

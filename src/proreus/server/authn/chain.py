"""Credentials → User. A credential nobody accepts is refused; none at all is anonymous.

Asked in Kubernetes' order: the front proxy's headers, the client certificate, the bearer token. The
first that is good decides, whatever the others are; if none is, one that was wrong is refused.

Cost: a token of the tokens file is one dictionary lookup, a certificate is read once.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.status import Unauthorized
from proreus.api.wire.channels import BEARER_PROTOCOL
from proreus.lazy_dataclass import dataclass
from proreus.server.authn.anonymous import Anonymous
from proreus.server.authn.certificates import ClientCertificates
from proreus.server.authn.front_proxy import FrontProxy
from proreus.server.authn.metrics import Attempt, AuthenticationMetrics, LastingUser
from proreus.server.authn.token_check import Accepted, Rejected, TokenCheck
from proreus.server.registry.user import ANONYMOUS, User, as_authenticated

_INVALID = "invalid bearer token"
EXTRA_SPACE = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """What a request brought: "" and None where it brought nothing."""

    authorization: str = ""
    socket_protocol: str = ""
    certificate: Mapping[str, Any] | None = None
    headers: Iterable[tuple[str, str]] = ()
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticators:
    """``tokens`` are asked in order. ``lasting``: tokens that never expire, with their users."""

    tokens: Sequence[TokenCheck]
    certificates: ClientCertificates
    lasting: Mapping[str, User]
    front_proxy: FrontProxy | None = None


class Authentication:
    """``audiences``: whom tokens must be meant for. ``anonymous`` may be replaced at any time."""

    def __init__(
        self,
        authenticators: Authenticators,
        *,
        audiences: Sequence[str],
        anonymous: Anonymous,
        metrics: AuthenticationMetrics,
        clock: Clock,
    ) -> None:
        self.anonymous = anonymous
        self._token_checks = tuple(authenticators.tokens)
        self._certificates = authenticators.certificates
        self._front_proxy = authenticators.front_proxy
        self._audiences = tuple(audiences)
        self._metrics = metrics
        self._clock = clock
        self._remembered = {
            f"Bearer {token}": LastingUser(user) for token, user in authenticators.lasting.items()
        }
        metrics.lasting = list(self._remembered.values())

    def remembered(self, authorization: str) -> User | None:
        """The user of a header whose token never expires; None: ask ``user``."""
        found = self._remembered.get(authorization)
        if found is None:
            return None
        found.requests += 1
        return found.user

    async def user(self, credentials: Credentials) -> User:
        """Raises Unauthorized."""
        begun = self._clock.monotonic()
        found, faults = await self._identify(credentials)
        if found is None and not faults and self.anonymous.includes(credentials.path):
            found = ANONYMOUS
        if found is None:
            result = Attempt.ERROR if faults else Attempt.FAILURE
            self._metrics.observe(result, self._clock.monotonic() - begun)
            raise Unauthorized.default()
        self._metrics.observe(Attempt.SUCCESS, self._clock.monotonic() - begun, found.name)
        return found

    def names_user(self, header: str) -> bool:
        """Whether a header (in lower case) speaks of who asks, which is for nobody behind us."""
        if header.startswith(("impersonate-", "x-remote-")):
            return True
        return self._front_proxy is not None and self._front_proxy.reads(header)

    async def review(self, token: str, audiences: Sequence[str] = ()) -> Accepted | Rejected:
        """``audiences``: whom the token must be meant for; none: this server.

        Blanks around a token are dropped, as in a header.
        """
        wanted = tuple(audiences or self._audiences)
        token = header_token(f"Bearer {token}")
        if token:
            return await self._check(token, wanted)
        return Accepted(ANONYMOUS, wanted) if self.anonymous.includes("") else Rejected("")

    async def _identify(self, credentials: Credentials) -> tuple[User | None, bool]:
        """The user, and whether something that was brought is wrong."""
        faults = False
        certificate = credentials.certificate
        if certificate is not None:
            for verdict in self._by_certificate(certificate, credentials.headers):
                if isinstance(verdict, User):
                    return as_authenticated(verdict), False
                faults = faults or verdict is not None
        for token in _tokens(credentials):
            checked = await self._check(token, self._audiences) if token else None
            if isinstance(checked, Accepted):
                return checked.user, False
            faults = True
        return None, faults

    def _by_certificate(
        self, certificate: Mapping[str, Any], headers: Iterable[tuple[str, str]]
    ) -> Iterator[User | Rejected | None]:
        if self._front_proxy is not None:
            yield self._front_proxy.check(certificate, headers)
        yield self._certificates.check(certificate, self._clock.now())

    async def _check(self, token: str, audiences: Sequence[str]) -> Accepted | Rejected:
        reasons = [_INVALID]
        for check in self._token_checks:
            match await check(token, audiences):
                case Accepted(user, shared):
                    return Accepted(as_authenticated(user), shared)
                case Rejected(why):
                    reasons.append(why)
                case None:
                    pass
        return Rejected(f"[{', '.join(reasons)}]" if len(reasons) > 1 else _INVALID)


def _tokens(credentials: Credentials) -> Iterator[str]:
    """Of the header and of a browser's protocol; "" for one that cannot be read."""
    if token := header_token(credentials.authorization):
        yield token
    offered = [name.strip() for name in credentials.socket_protocol.split(",")]
    named = [name for name in offered if name.startswith(BEARER_PROTOCOL)]
    if len(named) > 1 or (named and len(offered) == 1):
        yield ""  # the server must choose a protocol, and must not choose the credential
    elif named:
        yield _decoded(named[0].removeprefix(BEARER_PROTOCOL))


def header_token(authorization: str) -> str:
    """The token, "" if the header is of another kind or there is none."""
    scheme, _, rest = authorization.strip().partition(" ")
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""


def has_extra_space(authorization: str) -> bool:
    """Whether a token is there and yet not where one is looked for."""
    scheme, _, rest = authorization.strip().partition(" ")
    return scheme.lower() == "bearer" and rest.startswith(" ")


def _decoded(text: str) -> str:
    try:
        padded = text + "=" * (-len(text) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except ValueError:
        return ""

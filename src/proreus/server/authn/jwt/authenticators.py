"""Tokens of the issuers that are configured: one check for all of them, each by its own rules.

The configuration may be replaced while the server runs. Issuers that stay keep their keys, tokens
that were found good are checked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.api.go_text import quoted
from proreus.api.values.timestamp import format_time
from proreus.server.authn.jwt.claim_mapping import ClaimsRefused, user_of
from proreus.server.authn.jwt.compact import CompactToken, parse_compact
from proreus.server.authn.jwt.config import JwtConfig
from proreus.server.authn.jwt.issuer_keys import IssuerKeys
from proreus.server.authn.jwt.keys import VerificationKey
from proreus.server.authn.jwt.signatures import is_signed
from proreus.server.authn.metrics import AuthenticationMetrics
from proreus.server.authn.remembered_tokens import SUCCESS_TTL_S, RememberedTokens
from proreus.server.authn.token_check import Rejected
from proreus.server.cel.pace import PaceExceeded, on_loop, on_thread
from proreus.server.offload import Runner
from proreus.server.registry.user import User

_EARLY_S = 60.0  # how much earlier than it says a token may be used: clocks differ
_GOOGLE, _GOOGLE_URL = "accounts.google.com", "https://accounts.google.com"


class JwtAuthenticators:
    """``run`` fetches the keys of all issuers."""

    def __init__(
        self,
        configs: Iterable[JwtConfig],
        metrics: AuthenticationMetrics,
        clock: Clock,
        lane: Runner,
    ) -> None:
        """``lane`` for expressions over claims that take long."""
        self._metrics = metrics
        self._clock = clock
        self._lane = lane
        self._changed = Gate()
        self._tasks: dict[IssuerKeys, asyncio.Task[None]] = {}
        self._by_url: dict[str, tuple[JwtConfig, IssuerKeys]] = {}
        self._remembered: RememberedTokens[User] = RememberedTokens(clock)
        self.replace(configs)

    def replace(self, configs: Iterable[JwtConfig]) -> None:
        """From now on tokens are checked by these."""
        known = {keys.issuer: keys for _, keys in self._by_url.values()}
        self._by_url = {
            config.issuer.url: (
                config,
                known.get(config.issuer) or IssuerKeys(config.issuer, self._metrics, self._clock),
            )
            for config in configs
        }
        self._remembered = RememberedTokens(self._clock)
        self._changed.open()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                self._changed.shut()
                wanted = [keys for _, keys in self._by_url.values()]
                for keys in [keys for keys in self._tasks if keys not in wanted]:
                    self._tasks.pop(keys).cancel()
                for keys in [keys for keys in wanted if keys not in self._tasks]:
                    self._tasks[keys] = group.create_task(keys.run())
                await self._changed.wait_open()

    async def check(self, token: str) -> User | Rejected | None:
        """None for what is no token of these issuers."""
        remembered = self._remembered
        key = remembered.key(token)
        if (user := remembered.get(key)) is not None:
            return user
        found = parse_compact(token)
        if found is None:
            return None
        url = _GOOGLE_URL if found.issuer == _GOOGLE else found.issuer
        responsible = self._by_url.get(url)
        if responsible is None:
            return None
        begun = self._clock.monotonic()
        verdict = await _checked(found, *responsible, self._clock.now(), self._lane)
        is_success = isinstance(verdict, User)
        self._metrics.observe_issuer(
            url, is_success=is_success, seconds=self._clock.monotonic() - begun
        )
        if isinstance(verdict, User):
            left_s = float(found.claims["exp"]) - self._clock.now()
            remembered.put(key, verdict, min(SUCCESS_TTL_S, left_s))
        return verdict


async def _checked(
    token: CompactToken, config: JwtConfig, keys: IssuerKeys, now: float, lane: Runner
) -> User | Rejected:
    if keys.keys is None:
        return Rejected("oidc: authenticator not initialized")
    why = claims_fault(token, config, now)
    if why:
        return Rejected(f"oidc: verify token: {why}")
    if not _is_signed(token, keys.keys):
        has_more = await keys.refresh()
        if not has_more or not _is_signed(token, keys.keys):
            why = "failed to verify signature: failed to verify id token signature"
            return Rejected(f"oidc: verify token: {why}")
    try:
        return user_of(config, token.claims, on_loop())
    except PaceExceeded:
        pass
    except ClaimsRefused as error:
        return Rejected(str(error))
    try:
        return await lane.run(lambda: user_of(config, token.claims, on_thread()))
    except ClaimsRefused as error:
        return Rejected(str(error))


def claims_fault(token: CompactToken, config: JwtConfig, now: float) -> str:
    """Why a token cannot be meant for us now, whoever signed it; "" if it can."""
    claims = token.claims
    audience = claims.get("aud")
    audiences = [audience] if isinstance(audience, str) else audience
    if not isinstance(audiences, list) or not all(isinstance(one, str) for one in audiences):
        audiences = []
    if not set(audiences) & set(config.audiences):
        wanted = config.audiences
        expected = f"in {_listed(sorted(wanted))}" if len(wanted) > 1 else quoted(wanted[0])
        return f"oidc: expected audience {expected} got {_listed(audiences)}"
    times = {name: claims.get(name, 0) for name in ("exp", "nbf", "iat")}
    if not all(type(value) in (int, float) for value in times.values()):
        return "oidc: failed to unmarshal claims: a time is not a number"
    expires, begins = times["exp"], times["nbf"]
    if now > expires:
        return f"oidc: token is expired (Token Expiry: {_time(expires)})"
    if begins - _EARLY_S > now:
        return f"oidc: current time {_time(now)} before the nbf (not before) time: {_time(begins)}"
    if token.algorithm not in config.algorithms:
        allowed = f"expected {_listed(config.algorithms)} got {quoted(token.algorithm)}"
        return f"oidc: id token signed with unsupported algorithm, {allowed}"
    return ""


def _is_signed(token: CompactToken, keys: Sequence[VerificationKey] | None) -> bool:
    return any(
        is_signed(token.algorithm, one.key, token.signed, token.signature)
        for one in keys or ()
        if not token.key_id or one.key_id == token.key_id
    )


def _listed(texts: Iterable[str]) -> str:
    return f"[{' '.join(map(quoted, texts))}]"


def _time(seconds: float) -> str:
    try:
        return format_time(seconds)
    except (ValueError, OverflowError, OSError):
        return str(seconds)

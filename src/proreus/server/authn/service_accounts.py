"""Tokens of service accounts: signed here, verified against the account that they name.

A token is a JSON Web Token. It is good while it has not expired and its account, and the object it
is bound to, are still the ones it was made for (``bound_objects``). That its signature is right is
remembered for some seconds; whether its objects are still there is looked up every time, so that a
token ends with them at once, where kube-apiserver takes up to ten seconds.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.authn.bound_objects import BoundObjects, BoundReference, references
from proreus.server.authn.jwt.compact import decoded, encoded, parse_compact
from proreus.server.authn.metrics import TokenUses
from proreus.server.authn.options import ServiceAccountOptions
from proreus.server.authn.remembered_tokens import SUCCESS_TTL_S, RememberedTokens
from proreus.server.authn.service_account_keys import ServiceAccountKeys
from proreus.server.authn.token_check import Accepted, Rejected
from proreus.server.registry.user import AUTHENTICATED, CREDENTIAL_ID, User

_CLAIM = "kubernetes.io"
_SKEW_S = 5  # between the clocks of servers that share a key
_BOUND_EXTRA = (("pod", "name"), ("pod", "uid"), ("node", "name"), ("node", "uid"))


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    namespace: str
    name: str
    uid: str

    @property
    def user_name(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def groups(self) -> tuple[str, ...]:
        return ("system:serviceaccounts", f"system:serviceaccounts:{self.namespace}", AUTHENTICATED)


@dataclass(frozen=True, slots=True, eq=False)
class _VerifiedToken:
    """What a token says whose signature is right. ``bound``: what it is good with."""

    claims: Mapping[str, Any]
    user: User
    bound: Sequence[BoundReference]


@dataclass(slots=True, eq=False)
class ServiceAccountTokens:
    """``options``: which issuers and audiences they have."""

    objects: BoundObjects
    clock: Clock
    keys: ServiceAccountKeys
    options: ServiceAccountOptions
    uses: TokenUses
    _verified: RememberedTokens[_VerifiedToken] = field(init=False)

    def __post_init__(self) -> None:
        self._verified = RememberedTokens(self.clock)

    async def issue(
        self,
        account: ServiceAccount,
        *,
        audiences: Sequence[str],
        expires_s: float,
        bound: Mapping[str, Mapping[str, str]] | None = None,
        warn_after_s: float | None = None,
    ) -> str:
        """``bound``: name and uid of a pod (and its node), a secret or a node, by kind.

        ``warn_after_s``: from when on it should have been replaced although it is still good.
        """
        key = await self.keys.signing()
        from proreus.server.authn.jwt.keys import key_id
        from proreus.server.authn.jwt.signatures import own_algorithm, sign

        now = int(self.clock.now())
        about: dict[str, Any] = {
            "namespace": account.namespace,
            "serviceaccount": {"name": account.name, "uid": account.uid},
            **(bound or {}),
        }
        if warn_after_s is not None:
            about["warnafter"] = int(warn_after_s)
        claims = {
            "iss": self.options.issuers[0],
            "sub": account.user_name,
            "aud": list(audiences),
            "iat": now,
            "nbf": now,
            "exp": int(expires_s),
            "jti": str(uuid.uuid4()),
            _CLAIM: about,
        }
        header = {"alg": own_algorithm(key), "kid": key_id(key.public_key())}
        signed = f"{encoded(json.encode(header))}.{encoded(json.encode(claims))}"
        return f"{signed}.{encoded(sign(key, signed.encode()))}"

    async def jwks(self) -> list[dict[str, str]]:
        """The public keys as JSON Web Keys."""
        await self.keys.signing()
        from proreus.server.authn.jwt.keys import public_jwk

        return [public_jwk(one.key) for one in self.keys.public()]

    async def check(self, token: str, audiences: Sequence[str]) -> Accepted | Rejected | None:
        """None for what is no token of ours."""
        verified = self._read(token)
        if verified is None:
            return None
        own = verified.claims.get("aud") or ()
        shared = tuple(one for one in own if one in audiences)
        if not shared:
            wrong = f"token audiences {_quoted(own)} is invalid for"
            return Rejected(f"{wrong} the target audiences {_quoted(audiences)}")
        why = self._time_fault(verified.claims) or await self.objects.fault(verified.bound)
        if why:
            return Rejected(why)
        warn_after = verified.claims[_CLAIM].get("warnafter")
        if isinstance(warn_after, int):
            if self.clock.now() > warn_after:
                self.uses.stale += 1
            else:
                self.uses.valid += 1
        return Accepted(verified.user, shared)

    def _time_fault(self, claims: Mapping[str, Any]) -> str:
        now, begins, ends = self.clock.now(), claims.get("nbf"), claims.get("exp")
        if not isinstance(begins, int) or begins - _SKEW_S > now:
            return "service account token is not valid yet"
        if not isinstance(ends, int) or now >= ends:
            return "service account token has expired"
        return ""

    def _read(self, token: str) -> _VerifiedToken | None:
        key = self._verified.key(token)
        verified = self._verified.get(key)
        if verified is None:
            claims = self._verify(token)
            verified = None if claims is None else _verified_token(claims)
            if verified is not None:
                self._verified.put(key, verified, SUCCESS_TTL_S)
        return verified

    def _verify(self, token: str) -> Mapping[str, Any] | None:
        found = parse_compact(token)
        if found is None or found.issuer not in self.options.issuers:
            return None
        candidates = self.keys.named(found.key_id)
        if not candidates:
            return None
        from proreus.server.authn.jwt.signatures import is_signed, own_algorithm

        for one in candidates:
            if found.algorithm == own_algorithm(one.key) and is_signed(
                found.algorithm, one.key, found.signed, found.signature
            ):
                return found.claims
        return None


def _verified_token(claims: Mapping[str, Any]) -> _VerifiedToken | None:
    account = _account(claims)
    if account is None:
        return None
    user = User(account.user_name, account.groups, account.uid, _extra(claims))
    return _VerifiedToken(claims, user, references(claims[_CLAIM]))


def _account(claims: Mapping[str, Any]) -> ServiceAccount | None:
    about = claims.get(_CLAIM)
    if not isinstance(about, dict) or not isinstance(about.get("serviceaccount"), dict):
        return None
    account = about["serviceaccount"]
    parts = (about.get("namespace"), account.get("name"), account.get("uid"))
    if not all(isinstance(part, str) and part and "/" not in part for part in parts):
        return None
    return ServiceAccount(str(parts[0]), str(parts[1]), str(parts[2]))


def credential_id(token: str) -> str:
    """Names a token that was just issued, without revealing it."""
    return _credential_id(json.decode(decoded(token.split(".")[1])))


def _credential_id(claims: Mapping[str, Any]) -> str:
    return f"JTI={claims.get('jti', '')}"


def _extra(claims: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {CREDENTIAL_ID: (_credential_id(claims),)}
    for kind, key in _BOUND_EXTRA:
        if value := (claims[_CLAIM].get(kind) or {}).get(key):
            extra[f"authentication.kubernetes.io/{kind}-{key}"] = (value,)
    return extra


def _quoted(texts: Sequence[str]) -> str:
    """As Go prints a list of strings."""
    return f"[{' '.join(json.encode(text).decode() for text in texts)}]"

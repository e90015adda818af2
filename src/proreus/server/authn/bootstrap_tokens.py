"""Bootstrap tokens: ``id.secret``, kept in Secrets of kube-system, for nodes that join a cluster.

They are looked up in the watch cache; none costs a read of the storage.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.values.timestamp import parse_time
from proreus.api.wire import splice
from proreus.server.registry.collection import Collection
from proreus.server.registry.user import User

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_TYPE = "bootstrap.kubernetes.io/token"


class BootstrapTokens:
    """``secrets``: all Secrets."""

    def __init__(self, secrets: Collection, clock: Clock) -> None:
        self._secrets = secrets
        self._clock = clock

    async def check(self, token: str) -> User | None:
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        found = self._secrets.cache.peek(f"kube-system/bootstrap-token-{parts[1]}")
        if found is None:
            return None
        return user_of(splice.decode_item(found.item), parts[1], parts[2], self._clock.now())


def user_of(secret: Mapping[str, Any], token_id: str, token_secret: str, now: float) -> User | None:
    """The user of a token, if the Secret of its name says that it is good."""
    if secret.get("type") != _TYPE or (secret.get("metadata") or {}).get("deletionTimestamp"):
        return None
    data = _texts(secret.get("data") or {})
    if not hmac.compare_digest(data.get("token-secret", "").encode(), token_secret.encode()):
        return None
    if data.get("token-id") != token_id or data.get("usage-bootstrap-authentication") != "true":
        return None
    if _is_expired(data.get("expiration", ""), now):
        return None
    further = data.get("auth-extra-groups", "")
    groups = set(further.split(",")) if further else set()
    if not all(map(_GROUP.fullmatch, groups)):
        return None
    return User(f"system:bootstrap:{token_id}", tuple(sorted(groups | {"system:bootstrappers"})))


def _is_expired(text: str, now: float) -> bool:
    """Who wrote something else than a time did not mean for ever."""
    if not text:
        return False
    try:
        return parse_time(text) <= now
    except ValueError:
        return True


def _texts(data: Mapping[str, Any]) -> dict[str, str]:
    """A value that is no text counts as none."""
    texts: dict[str, str] = {}
    for key, value in data.items():
        try:
            texts[key] = base64.b64decode(value).decode()
        except (binascii.Error, ValueError, TypeError):
            continue
    return texts

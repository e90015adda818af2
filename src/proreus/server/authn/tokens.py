"""Tokens that were handed out beforehand: the administrator's, and those of a tokens file.

A line of the file is ``token,user,uid[,"group,group"]``, as kube-apiserver reads it.
"""

from __future__ import annotations

import csv
import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from proreus.server.registry.user import AUTHENTICATED, User


class StaticTokens:
    """Looked up by digest, so that the time it takes tells nothing about a token."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = {_digest(token): user for token, user in users.items()}

    async def check(self, token: str) -> User | None:
        digest = _digest(token)
        for known, user in self._users.items():
            if hmac.compare_digest(known, digest):
                return user
        return None


def read_tokens_file(path: Path) -> dict[str, User]:
    with path.open(newline="") as lines:
        return parse_tokens(lines)


def parse_tokens(lines: Iterable[str]) -> dict[str, User]:
    users: dict[str, User] = {}
    for row in csv.reader(lines):
        if not row or row[0].startswith("#"):
            continue
        if len(row) < 3 or not row[0].strip():
            raise ValueError("a line of a tokens file is token,user,uid and maybe groups")
        token, name, uid = (cell.strip() for cell in row[:3])
        groups = [group.strip() for group in row[3].split(",")] if len(row) > 3 else []
        users[token] = User(name, (*filter(None, groups), AUTHENTICATED), uid)
    return users


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()

"""Static tokens: the administrator's, and those of a tokens file.

A line of the file is ``token,user,uid[,"group,group"]``, as kube-apiserver reads it.
"""

from __future__ import annotations

import csv
import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from proreus.server.registry.user import User, authenticated


class StaticTokens:
    """Looked up by digest, so that the time it takes reveals nothing about a token."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = {_digest(token): user for token, user in users.items()}

    async def check(self, token: str) -> User | None:
        digest = _digest(token)
        for known, user in self._users.items():
            if hmac.compare_digest(known, digest):
                return user
        return None


class TokensFileInvalid(ValueError):
    """What cannot be read as users and their tokens. It quotes nothing: lines hold secrets."""


def read_tokens_file(path: Path) -> dict[str, User]:
    """Raises TokensFileInvalid, OSError."""
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            return parse_tokens(lines)
    except UnicodeDecodeError as error:
        raise TokensFileInvalid(f"tokens file {path}: not a text in UTF-8") from error
    except (TokensFileInvalid, csv.Error) as error:
        raise TokensFileInvalid(f"tokens file {path}: {error}") from error


def parse_tokens(lines: Iterable[str]) -> dict[str, User]:
    """Raises TokensFileInvalid, csv.Error."""
    users: dict[str, User] = {}
    rows = csv.reader(lines)
    for row in rows:
        if not row or row[0].startswith("#"):
            continue
        if len(row) < 3 or not row[0].strip() or not row[1].strip():
            wanted = 'is not token,user,uid or token,user,uid,"group,group"'
            raise TokensFileInvalid(f"line {rows.line_num} {wanted}")
        token, name, uid = (cell.strip() for cell in row[:3])
        groups = [group.strip() for group in row[3].split(",")] if len(row) > 3 else []
        users[token] = User(name, authenticated(filter(None, groups)), uid)
    return users


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()

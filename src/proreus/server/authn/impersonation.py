"""The user that the Impersonate-* headers of a request name."""

from __future__ import annotations

from collections.abc import Iterable

from proreus.api.go_text import quoted
from proreus.api.status import BadRequest
from proreus.server.authn.escaping import unescaped
from proreus.server.registry.user import User

_EXTRA = "impersonate-extra-"


class NobodyImpersonated(BadRequest):
    """Groups or other properties of a user were asked for, and no user."""


def wanted_user(headers: Iterable[tuple[str, str]]) -> User | None:
    """None if the headers name nobody and nothing. Raises NobodyImpersonated."""
    name, uid, groups = "", "", []
    extra: dict[str, tuple[str, ...]] = {}
    for header, raw in headers:
        if header[:11].lower() != "impersonate":
            continue
        key, value = header.lower(), _text(raw)
        if key == "impersonate-user":
            name = name or value
        elif key == "impersonate-uid":
            uid = uid or value
        elif key == "impersonate-group":
            groups.append(value)
        elif key.startswith(_EXTRA):
            field = unescaped(key.removeprefix(_EXTRA))
            extra[field] = (*extra.get(field, ()), value)
    wanted = User(name, tuple(groups), uid, extra)
    if name:
        return wanted
    if uid or groups or extra:
        raise NobodyImpersonated(f"requested {_as_go(wanted)} without impersonating a user name")
    return None


def _text(value: str) -> str:
    """Bytes that are no text arrive as lone surrogates, which no answer could repeat."""
    return value.encode("utf-8", "replace").decode()


def _as_go(user: User) -> str:
    """``%#v`` of a user."""
    groups, extra = "[]string(nil)", "map[string][]string(nil)"
    if user.groups:
        groups = _texts(user.groups)
    if user.extra:
        pairs = sorted(user.extra.items())
        extra = ", ".join(f"{quoted(key)}:{_texts(values)}" for key, values in pairs)
        extra = f"map[string][]string{{{extra}}}"
    return f'&user.DefaultInfo{{Name:"", UID:{quoted(user.uid)}, Groups:{groups}, Extra:{extra}}}'


def _texts(values: Iterable[str]) -> str:
    return "[]string{" + ", ".join(map(quoted, values)) + "}"

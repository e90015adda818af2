"""The shape of storage keys: ``/registry/<resource>/[<namespace>/]<name>``.

Every key passes here before it reaches a storage, so that no name can climb out of its resource
(``..``) or stand for a whole collection (empty segment). Cost: about a microsecond a key.
"""

from __future__ import annotations

import re

from proreus.server.storage.interface import InvalidKey

ROOT = "/registry/"

# One or more segments, each preceded by a slash: not empty, not "." or "..", no NUL.
_KEY = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/\0]+)+")


def check_key(key: str) -> None:
    """Raise InvalidKey unless ``key`` can name one object."""
    if _KEY.fullmatch(key) is None or not _has_bytes(key):
        raise InvalidKey(f"invalid key {key!r}: {_reason(key)}")


def check_prefix(prefix: str) -> None:
    """Raise InvalidKey unless ``prefix`` names a collection: a key with a slash at its end.

    The slash is asked for because ``/a`` must never match ``/ab``.
    """
    if prefix[-1:] != "/":
        raise InvalidKey(f"invalid prefix {prefix!r}: it does not end with a slash")
    if _KEY.fullmatch(prefix, 0, len(prefix) - 1) is None or not _has_bytes(prefix):
        raise InvalidKey(f"invalid prefix {prefix!r}: {_reason(prefix[:-1])}")


def after(key: str) -> str:
    """The smallest start of a page that leaves ``key`` out."""
    return key + "\0"


def end_of(prefix: str) -> str:
    """The smallest string greater than every key under ``prefix``."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def resource_prefix(resource: str, root: str = ROOT) -> str:
    """``pods`` → ``/registry/pods/``; custom ones are ``<group>/<plural>``."""
    prefix = f"{root}{resource}/"
    check_prefix(prefix)
    return prefix


def _has_bytes(key: str) -> bool:
    if key.isascii():
        return True
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(key: str) -> str:
    if not key.startswith("/"):
        return "it does not start with a slash"
    if not _has_bytes(key):
        return "it is not valid Unicode"
    segments = key[1:].split("/")
    if any(segment in (".", "..") for segment in segments):
        return "a segment is '.' or '..'"
    if "" in segments:
        return "a segment is empty"
    return "it contains a NUL character"

"""Keys of a user's extra fields as headers carry them: escaped like parts of a URL."""

from __future__ import annotations

from urllib.parse import unquote

_HEX = set("0123456789abcdef")


def unescaped(key: str) -> str:
    """Of a key in lower case; one with a broken escape is taken as it is."""
    for piece in key.split("%")[1:]:
        if len(piece) < 2 or not set(piece[:2]) <= _HEX:
            return key
    return unquote(key)

"""Escaping of field names that CEL's grammar cannot spell."""

from __future__ import annotations

import re

_RESERVED = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
        "function", "if", "import", "let", "loop", "package", "namespace", "return", "var",
        "void", "while",
    }
)  # fmt: skip
_SPELLABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-/]*")
_ODD = re.compile(r"__|[.\-/]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escaped(name: str) -> str | None:
    """None for names that rules cannot reach."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _SPELLABLE.fullmatch(name):
        return None
    return _ODD.sub(lambda found: _ESCAPES[found[0]], name)


def spellings(spelled: str) -> tuple[str, ...]:
    """How an escaped name can be written: that of a reserved word as the word, too."""
    word = spelled[2:-2]
    is_word = spelled == f"__{word}__" and word in _RESERVED
    return (spelled, word) if is_word else (spelled,)


def unescaped(name: str) -> str:
    """The name behind an escaped one."""
    if name.startswith("__") and name[2:-2] in _RESERVED:
        return name[2:-2]
    for plain, spelled in _ESCAPES.items():
        if plain != "__":
            name = name.replace(spelled, plain)
    return name.replace("__underscores__", "__")

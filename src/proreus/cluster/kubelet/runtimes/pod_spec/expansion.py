"""``$(NAME)`` in commands, arguments and values (Kubernetes' expansion rules). Pure.

``$(NAME)`` becomes the variable's value and stays as it is when there is none; ``$$`` is a dollar
sign, so that ``$$(NAME)`` is never expanded. Values are not expanded again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    def replaced(found: re.Match[str]) -> str:
        if found[1]:
            return "$"
        return variables.get(found[2], found[0])

    return _REFERENCE.sub(replaced, text)


def unresolved(text: str, variables: Mapping[str, str]) -> list[str]:
    """The names that a text refers to and that have no value."""
    found = (match[2] for match in _REFERENCE.finditer(text) if not match[1])
    return [name for name in found if name not in variables]

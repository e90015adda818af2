"""Regular expressions in time linear in the text, whatever the pattern: RE2's, which is Go's kind.

Python's own can take for ever on a few dozen characters. RE2 comes with the CEL library.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from proreus.server.custom.cel.values import EvaluationError

_CONFIGURATION = "name: patterns\nextensions:\n- name: regex\n- name: optional\n"
# An escape, a class, or the start of a group that captures.
_PART = re.compile(
    r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\((?:\?P?<[^>=!]*>|(?!\?))",
    re.DOTALL,
)


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern is found anywhere in a text."""
    return bool(_run("text.matches(pattern)", text, pattern))


def find(text: str, pattern: str) -> str:
    """The first match, "" for none."""
    found = _run("regex.extract(text, pattern).orValue('')", text, _captured(pattern))
    return str(found)


def find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found: list[str] = _run("regex.extractAll(text, pattern)", text, _captured(pattern))
    return found if most < 0 else found[:most]


def _captured(pattern: str) -> str:
    """The whole pattern as its one group: the library gives groups out, if there are any."""
    return f"({_PART.sub(lambda part: '(?:' if part[0].startswith('(') else part[0], pattern)})"


def _run(expression: str, text: str, pattern: str) -> Any:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise TypeError("texts are matched")
    found = _program(expression).eval(data={"text": text, "pattern": pattern})
    if found.type().name() == "ERROR":
        raise EvaluationError(f"error parsing regexp: `{pattern}`")
    return found.plain_value()


@lru_cache(maxsize=8)
def _program(expression: str) -> Any:
    from cel_expr_python import cel

    texts = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    configuration = cel.NewEnvConfigFromYaml(_CONFIGURATION)
    return cel.NewEnv(config=configuration, variables=texts).compile(expression)

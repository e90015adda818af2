"""Every function a rule can call, by its name in CEL. All take values as they are, and all
but ``authorization`` are pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.server.cel.functions import authorization, library, lists, operators, texts, times

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **operators.TABLE,
    **texts.TABLE,
    **times.TABLE,
    **library.TABLE,
    **lists.TABLE,
    **authorization.TABLE,
}

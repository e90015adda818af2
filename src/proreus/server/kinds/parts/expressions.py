"""Expressions in CEL inside of objects: compiled when they are written, and refused if they cannot.

The engine is loaded with the first expression. Compiling takes about half a millisecond, so an
object with many of them is validated in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.api.json_types import Json
from proreus.server.cel import WITHOUT_CEL
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.offload import NeedsThread
from proreus.server.resource.rules import Validated

if TYPE_CHECKING:
    from proreus.server.cel.admission import ExpressionInvalid
    from proreus.server.cel.checker import Checker

_ON_LOOP_MAX = 32
_SELECTORS_MAX = 32
_SELECTOR_BYTES_MAX = 10 * 1024
_SELECTOR_COST_MAX = 1_000_000


def check_condition(found: Findings, at: str, text: str, *, has_params: bool) -> None:
    """A condition of admission; ``server.cel.admission`` has what it sees."""
    if not is_compilable(found, at):
        return
    from proreus.server.cel.admission import (
        ExpressionInvalid,
        admission_checker,
        compile_expression,
    )

    try:
        compile_expression(admission_checker(has_params=has_params), text)
    except ExpressionInvalid as error:
        found.append(expression_error(at, text, error))


def is_compilable(found: Findings, at: str) -> bool:
    """Whether this server has the engine."""
    from proreus.server.cel.checker import is_available

    if not is_available():
        found.forbid(at, WITHOUT_CEL)
        return False
    return True


def expression_error(at: str, text: str, error: ExpressionInvalid) -> FieldError:
    if error.is_internal:
        return FieldError(at, Reason.INTERNAL, f"Internal error: {error}")
    return field_error.invalid(at, text, str(error))


def on_thread_if_many(expressions: int, work: Callable[[], list[FieldError]]) -> Validated:
    """What ``work`` finds, at once if that takes no longer than the loop can wait."""
    return NeedsThread(work) if expressions > _ON_LOOP_MAX else work()


def check_device_selectors(found: Findings, at: str, selectors: list[Json] | None) -> None:
    if selectors and len(selectors) > _SELECTORS_MAX:
        found.at_most(at, selectors, _SELECTORS_MAX)
        return
    for where, selector in items(selectors, at):
        if (cel := selector.get("cel")) is None:
            found.require(f"{where}.cel", None)
        else:
            _check_device_selector(found, f"{where}.cel.expression", cel.get("expression") or "")


def _check_device_selector(found: Findings, at: str, text: str) -> None:
    if len(text.encode()) > _SELECTOR_BYTES_MAX:
        found.append(field_error.too_long(at, _SELECTOR_BYTES_MAX))
        return
    if not is_compilable(found, at):
        return
    from proreus.server.cel.admission import (
        ExpressionInvalid,
        checked_expression,
        refuse_unusable,
        type_text,
    )
    from proreus.server.cel.estimate import estimated_cost

    checker = _device_checker()
    try:
        node = checked_expression(checker, text)
        if (kind := type_text(node.type)) in ("bool", "dyn"):
            refuse_unusable(node)
    except ExpressionInvalid as error:
        found.append(expression_error(at, text, error))
        return
    if kind not in ("bool", "dyn"):
        found.invalid(at, text, f"must evaluate to bool or the unknown type, not {kind}")
    elif estimated_cost(node, checker.variables) > _SELECTOR_COST_MAX:
        found.forbid(at, "too complex, exceeds cost limit")


@lru_cache(maxsize=1)
def _device_checker() -> Checker:
    from proreus.server.cel.checker import Checker
    from proreus.server.cel.shapes import Field, ShapeKind, ValueShape

    amounts, longest_name, longest_value = 32, 63, 64
    value = ValueShape(ShapeKind.ANY, largest=longest_value)
    inner = ValueShape(ShapeKind.MAP, amounts, element=value)
    by_domain = ValueShape(ShapeKind.MAP, amounts, element=inner)
    fields = {
        "driver": ValueShape(ShapeKind.STRING, longest_name),
        "attributes": by_domain,
        "capacity": by_domain,
        "allowMultipleAllocations": ValueShape(ShapeKind.BOOL),
    }
    device = ValueShape(
        ShapeKind.OBJECT,
        fields={name: Field(name, shape) for name, shape in fields.items()},
        type_name="kubernetes.DRADevice",
    )
    return Checker({"device": device})

"""Which actions a webhook is asked about: expressions over the review that it would be sent.

All must be true. One that is false ends it: the webhook has no opinion. An error of any other is a
failure of the webhook, unless one is false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from proreus.api.json_types import JsonObject
from proreus.server.authz.rbac.rules import aggregated
from proreus.server.cel.admission import CALL_LIMIT, CompiledExpression, compile_expression
from proreus.server.cel.checker import Checker
from proreus.server.cel.pace import CostPace
from proreus.server.cel.shapes import Field, ShapeKind, ValueShape
from proreus.server.cel.steps import CostExceeded

_TEXT = ValueShape(ShapeKind.STRING)
_TEXTS = ValueShape(ShapeKind.LIST, element=_TEXT)
_ATTRIBUTES = ("namespace", "verb", "group", "version", "resource", "subresource", "name")


class ConditionFailed(Exception):
    """A condition could not be evaluated."""


class MatchConditions:
    """Raises ExpressionInvalid for what cannot be used."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._conditions: list[CompiledExpression] = [
            compile_expression(_checker(), text) for text in texts
        ]

    def are_met(self, spec: JsonObject, pace: CostPace) -> bool:
        """Raises ConditionFailed, PaceExceeded."""
        values = (_request(spec),)
        errors: list[str] = []
        for condition in self._conditions:
            why = ""
            try:
                outcome = condition.program.run(values, CALL_LIMIT, pace)
            except CostExceeded:
                why = "operation cancelled: actual cost limit exceeded"
            else:
                why = outcome.error
                if not why and outcome.value is not True:
                    return False
            if why:
                errors.append(
                    f"cel evaluation error: expression '{condition.text}' resulted in error: {why}"
                )
        if errors:
            raise ConditionFailed(aggregated(errors))
        return True


def _request(spec: JsonObject) -> JsonObject:
    """Texts that are empty are there; objects that are missing are not."""
    request = {"user": "", "groups": [], "uid": "", "extra": {}, **spec}
    if (attributes := request.get("resourceAttributes")) is not None:
        request["resourceAttributes"] = {**dict.fromkeys(_ATTRIBUTES, ""), **attributes}
    if (plain := request.get("nonResourceAttributes")) is not None:
        request["nonResourceAttributes"] = {"path": "", "verb": "", **plain}
    return request


def _object(name: str, fields: Mapping[str, ValueShape]) -> ValueShape:
    declared = {field: Field(field, shape) for field, shape in fields.items()}
    return ValueShape(ShapeKind.OBJECT, fields=declared, type_name=f"kubernetes.{name}")


@lru_cache(maxsize=1)
def _checker() -> Checker:
    requirement = _object(
        "SelectorRequirement", {"key": _TEXT, "operator": _TEXT, "values": _TEXTS}
    )
    requirements = ValueShape(ShapeKind.LIST, element=requirement)
    selector = {"rawSelector": _TEXT, "requirements": requirements}
    resource = _object(
        "ResourceAttributes",
        {
            **dict.fromkeys(_ATTRIBUTES, _TEXT),
            "fieldSelector": _object("FieldSelectorAttributes", selector),
            "labelSelector": _object("LabelSelectorAttributes", selector),
        },
    )
    plain = _object("NonResourceAttributes", {"path": _TEXT, "verb": _TEXT})
    spec = _object(
        "SubjectAccessReviewSpec",
        {
            "resourceAttributes": resource,
            "nonResourceAttributes": plain,
            "user": _TEXT,
            "groups": _TEXTS,
            "extra": ValueShape(ShapeKind.MAP, element=_TEXTS),
            "uid": _TEXT,
        },
    )
    return Checker({"request": spec})

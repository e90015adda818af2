"""Runs the expressions of one policy on one request, within Kubernetes' limits of cost.

An expression may cost so much, and all of a policy together so much. Variables are evaluated when
they are first asked for, and at the expense of the policy, not of the expression that asks.
"""

from __future__ import annotations

from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import Match, match_conditions
from proreus.server.admission.policies.compiled import CompiledPolicy, PolicyExpression
from proreus.server.cel.admission import CALL_LIMIT, POLICY_LIMIT, REQUEST_RESOURCE
from proreus.server.cel.pace import CostPace
from proreus.server.cel.steps import CostExceeded, LazyFields
from proreus.server.cel.values import EvaluationError

_TIRED = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_STOPPED = "operation cancelled: actual cost limit exceeded"
_NAMESPACE, _AUTHORIZERS = 2, 4  # where they stand among the values


class Unbound:
    """A variable that is declared and has no value: using it fails."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise EvaluationError(f"no such attribute(s): {self._name}")


_UNBOUND = Unbound("authorizer"), Unbound(REQUEST_RESOURCE)


class OutOfBudget(Exception):
    """The policy spent what it may; ``str(error)`` is what Kubernetes says of it."""


@dataclass(frozen=True, slots=True)
class ExpressionResult:
    """``error`` is not empty if there is no value."""

    value: Any = None
    error: str = ""


class PolicyEvaluation:
    """``values``: what all expressions see, in the order of ``admission_variables``."""

    __slots__ = ("_budget", "_pace", "_unpaid", "_values", "policy")

    def __init__(
        self, policy: CompiledPolicy, values: tuple[Any, ...], params: Any, pace: CostPace
    ) -> None:
        own: list[Any] = [params] if policy.has_params else []
        if policy.variables:
            own.append(LazyFields(self._variable))
        self.policy = policy
        self._values = (*values[:_AUTHORIZERS], *own, *values[_AUTHORIZERS:])
        self._pace = pace
        self._unpaid = 0  # what variables cost and the budget was not charged with yet
        self._budget = POLICY_LIMIT

    def match(self) -> Match:
        """Conditions see neither the namespace nor variables, and have a budget of their own."""
        values = list(self._values)
        values[_NAMESPACE] = None
        if self.policy.variables:
            del values[_AUTHORIZERS + self.policy.has_params]
        return match_conditions(self.policy.conditions, values, self._pace)

    def evaluate(self, expression: PolicyExpression) -> ExpressionResult:
        """Raises OutOfBudget."""
        return self._run(expression, self._values)

    def evaluate_message(self, expression: PolicyExpression) -> ExpressionResult:
        """Messages cannot ask the authorizer. Raises OutOfBudget."""
        return self._run(expression, self._values[:-2])

    def evaluate_annotation(self, expression: PolicyExpression) -> ExpressionResult:
        """Annotations may name the authorizer, and there is none when Kubernetes evaluates them.
        Raises OutOfBudget."""
        return self._run(expression, (*self._values[:-2], *_UNBOUND))

    def renew_budget(self) -> None:
        self._budget = POLICY_LIMIT

    def _run(self, expression: PolicyExpression, values: tuple[Any, ...]) -> ExpressionResult:
        if expression.program is None:
            return ExpressionResult(error=f"compilation error: {expression.error}")
        value, error, cost = None, _STOPPED, CALL_LIMIT
        try:
            outcome = expression.program.run(values, CALL_LIMIT, self._pace)
            value, error, cost = outcome.value, outcome.error, outcome.cost
        except CostExceeded:
            pass
        self._budget -= cost + self._unpaid
        self._unpaid = 0
        if self._budget < 0:
            raise OutOfBudget(_TIRED)
        if error:
            return ExpressionResult(
                error=f"expression '{expression.text}' resulted in error: {error}"
            )
        return ExpressionResult(value)

    def _variable(self, name: str) -> tuple[Any, int]:
        expression = self.policy.variables[name]
        if expression.program is None:
            raise _unusable(name, f"fails to compile: {expression.error}")
        try:
            outcome = expression.program.run(self._values, CALL_LIMIT, self._pace)
        except CostExceeded:
            self._unpaid += CALL_LIMIT
            raise _unusable(name, f"fails to evaluate: {_STOPPED}") from None
        self._unpaid += outcome.cost
        if outcome.error:
            raise _unusable(name, f"fails to evaluate: {outcome.error}")
        return outcome.value, 0


def _unusable(variable: str, why: str) -> EvaluationError:
    return EvaluationError(f'composited variable "{variable}" {why}')

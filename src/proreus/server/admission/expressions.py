"""Expressions of admission, run: their values, the authorizer they may ask, match conditions.

Evaluation is pure. A question to the authorizer that has no answer yet ends it, and it runs again
with the answer; the cost of questions allows only few. What takes long on the loop is repeated in a
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from proreus.api.json_types import Json, JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.request import namespace_of
from proreus.server.authz.authorizer import Action, Authorization, Decision
from proreus.server.cel.pace import CostPace, PaceExceeded, on_loop, on_thread
from proreus.server.offload import Lane
from proreus.server.registry.admission import Attributes
from proreus.server.registry.user import User

if TYPE_CHECKING:  # the engine is large, and loaded with the first expression
    from proreus.server.cel.evaluate import Program
    from proreus.server.cel.functions.authorization import CheckResult, Decide, Question

T = TypeVar("T")
_COMPILING = 6_000  # what compiling an expression takes, in units of cost
_COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class _Unanswered(Exception):
    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question


class ExpressionRunner:
    """Runs evaluations for the user of a request."""

    def __init__(self, authorization: Authorization, lane: Lane) -> None:
        self._authorization = authorization
        self._lane = lane

    async def run(self, user: User, evaluate: Callable[[Decide, CostPace], T]) -> T:
        """What ``evaluate`` returns. It may be called several times, also in a thread."""
        answers: dict[Question, CheckResult] = {}

        def ask(question: Question) -> CheckResult:
            if (known := answers.get(question)) is None:
                raise _Unanswered(question)
            return known

        while True:
            try:
                try:
                    return evaluate(ask, on_loop())
                except PaceExceeded:
                    return await self._lane.run(lambda: evaluate(ask, on_thread()))
            except _Unanswered as unanswered:
                question = unanswered.question
            answers[question] = await self._decided(user, question)

    async def _decided(self, user: User, asked: Question) -> CheckResult:
        from proreus.server.cel.functions.authorization import CheckResult

        if asked.service_account is not None:
            user = _service_account(*asked.service_account)
        action = Action(
            user=user,
            verb=asked.verb,
            group=asked.group,
            version="*" if asked.resource else "",
            resource=asked.resource,
            subresource=asked.subresource,
            namespace=asked.namespace,
            name=asked.name,
            path=asked.path,
            field_selector=asked.field_selector,
            label_selector=asked.label_selector,
        )
        verdict = await self._authorization.decided(action)
        is_allowed = verdict.decision is Decision.ALLOW
        return CheckResult(is_allowed, verdict.reason, verdict.error)


def _service_account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


def expression_values(
    attributes: Attributes,
    request: JsonObject,
    objects: tuple[JsonObject | None, JsonObject | None],
    ask: Decide,
    namespace: Any = None,
) -> tuple[Any, ...]:
    """In the order of ``admission_variables``. ``objects``: the new one and the old one."""
    from proreus.server.cel.functions.authorization import Authorizer, Question, ResourceCheck

    resource = ResourceCheck(
        ask,
        Question(
            group=attributes.resource.group,
            resource=attributes.resource.plural,
            subresource=attributes.subresource,
            namespace=namespace_of(attributes),
            name=attributes.known_name,
        ),
    )
    return (*objects, namespace, request, Authorizer(ask), resource)


class MatchCondition:
    """Compiled when it is first asked for: a configuration has up to 64 of them per webhook."""

    __slots__ = ("_error", "_has_params", "_program", "name", "text")

    def __init__(self, name: str, text: str, *, has_params: bool = False) -> None:
        self.name = name
        self.text = text
        self._has_params = has_params
        self._program: Program | None = None
        self._error = ""

    @classmethod
    def all_of(
        cls, conditions: Iterable[Json] | None, *, has_params: bool = False
    ) -> tuple[MatchCondition, ...]:
        return tuple(
            cls(one.get("name") or "", (one.get("expression") or "").strip(), has_params=has_params)
            for one in conditions or ()
        )

    def program(self, pace: CostPace) -> Program | str:
        """Or why there is none: it was stored before it became invalid."""
        if self._program is None and not self._error:
            pace.spend(_COMPILING)
            self._compile()
        return self._program or self._error

    def _compile(self) -> None:
        from proreus.server.cel.admission import (
            ExpressionInvalid,
            admission_checker,
            compile_expression,
        )

        checker = admission_checker(has_params=self._has_params)
        try:
            self._program = compile_expression(checker, self.text).program
        except ExpressionInvalid as invalid:
            self._error = f"compilation error: {invalid}"


@dataclass(frozen=True, slots=True)
class Matched:
    """Every condition holds."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """A condition does not hold, whatever happened to the others."""

    condition: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nothing is false and not everything is known; a failure policy says what that means."""

    why: str
    failures: int  # of conditions


Match = Matched | Excluded | Undecided


def match_conditions(
    conditions: Sequence[MatchCondition], values: Sequence[Any], pace: CostPace
) -> Match:
    """Raises PaceExceeded, and what asking the authorizer raises."""
    from proreus.server.cel.admission import CALL_LIMIT, CONDITIONS_LIMIT
    from proreus.server.cel.steps import CostExceeded

    left, errors, excluded = CONDITIONS_LIMIT, [], ""
    for condition in conditions:
        program = condition.program(pace)
        if isinstance(program, str):
            errors.append(program)
            continue
        try:
            outcome = program.run(values, CALL_LIMIT, pace)
            cost, value, error = outcome.cost, outcome.value, outcome.error
        except CostExceeded:
            cost, value, error = CALL_LIMIT, None, _COST_EXCEEDED
        left -= cost
        if left < 0:
            return Undecided(_OUT_OF_BUDGET, 0)
        if error:
            errors.append(f"expression '{condition.text}' resulted in error: {error}")
        elif value is False and not excluded:
            excluded = condition.name
    if excluded:
        return Excluded(excluded)
    if errors:
        return Undecided(_aggregated(errors), len(errors))
    return Matched()


def _aggregated(errors: list[str]) -> str:
    """Several errors as Kubernetes prints them."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"

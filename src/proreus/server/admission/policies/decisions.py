"""What the validations of a policy say of one request. Pure."""

from __future__ import annotations

from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import Excluded, Matched, Undecided
from proreus.server.admission.policies.compiled import (
    AuditAnnotation,
    CompiledPolicy,
    PolicyValidation,
)
from proreus.server.admission.policies.evaluation import (
    ExpressionResult,
    OutOfBudget,
    PolicyEvaluation,
)

_INVALID = "Invalid"
_MESSAGE_BYTES = 5 * 1024


@dataclass(frozen=True, slots=True)
class ValidationDecision:
    """Of one validation. ``is_error``: it could not be evaluated."""

    is_denied: bool
    is_error: bool = False
    message: str = ""
    reason: str = _INVALID


ADMITTED = ValidationDecision(is_denied=False)


@dataclass(frozen=True, slots=True)
class PolicyDecisions:
    """``annotations``: keys and values for the audit event. ``unannotated``: why others are
    missing, which is a refusal too."""

    decisions: tuple[ValidationDecision, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    unannotated: tuple[str, ...] = ()


def decide(evaluation: PolicyEvaluation, *, fails_open: bool) -> PolicyDecisions:
    """What cannot be evaluated is denied, unless the policy ``fails_open``."""
    policy = evaluation.policy

    def failed(why: str) -> ValidationDecision:
        return ValidationDecision(is_denied=not fails_open, is_error=True, message=why)

    if policy.conditions:
        match evaluation.match():
            case Excluded():
                return PolicyDecisions()
            case Undecided(why=why):
                return PolicyDecisions((failed(why),))
            case Matched():
                pass
    try:
        results = [evaluation.evaluate(one.expression) for one in policy.validations]
        messages, tired = _messages(policy, evaluation, results)
        decisions = tuple(
            failed(result.error) if result.error
            else failed(f"failed messageExpression: {tired}") if tired
            else ADMITTED if result.value is True
            else _denial(validation, message)
            for validation, result, message in zip(
                policy.validations, results, messages, strict=True
            )
        )  # fmt: skip
        evaluation.renew_budget()
        annotations = [_annotated(one, evaluation) for one in policy.annotations]
    except OutOfBudget as why:
        return PolicyDecisions((failed(str(why)),))
    return PolicyDecisions(
        decisions,
        tuple((key, one.value) for key, one in annotations if not one.error and one.value),
        () if fails_open else tuple(one.error for _, one in annotations if one.error),
    )


def _messages(
    policy: CompiledPolicy, evaluation: PolicyEvaluation, results: list[ExpressionResult]
) -> tuple[list[ExpressionResult], str]:
    """The messages by expression, made only if one is needed; or why they cannot be made."""
    none = [ExpressionResult()] * len(results)
    if all(result.error or result.value is True for result in results):
        return none, ""
    try:
        return [
            ExpressionResult() if one.message_expression is None
            else evaluation.evaluate_message(one.message_expression)
            for one in policy.validations
        ], ""  # fmt: skip
    except OutOfBudget as why:
        return none, str(why)


def _denial(validation: PolicyValidation, made: ExpressionResult) -> ValidationDecision:
    message = made.value.strip() if isinstance(made.value, str) else ""
    if "\n" in message or len(message.encode()) > _MESSAGE_BYTES:
        message = ""
    message = message or validation.message
    if not message:
        message = f"failed expression: {validation.expression.text.strip()}"
    return ValidationDecision(is_denied=True, message=message, reason=validation.reason)


def _annotated(
    annotation: AuditAnnotation, evaluation: PolicyEvaluation
) -> tuple[str, ExpressionResult]:
    result = evaluation.evaluate_annotation(annotation.value)
    if result.error:
        return annotation.key, result
    if isinstance(result.value, str):
        return annotation.key, ExpressionResult(result.value.strip())
    return annotation.key, ExpressionResult("")

"""The plugin ValidatingAdmissionPolicy: asks every policy that a write concerns, and refuses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.policies.decisions import PolicyDecisions, ValidationDecision, decide
from proreus.server.admission.policies.definition import PolicyBinding
from proreus.server.admission.policies.half import PolicyHalf
from proreus.server.admission.policies.invocations import FoundInvocations, PolicyInvocation
from proreus.server.admission.policies.metrics import (
    ALLOW,
    AUDIT,
    DENY,
    NO_ERROR,
    WARN,
    error_type,
)
from proreus.server.admission.policies.refusal import refused
from proreus.server.registry.admission import Attributes

_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413, "Unauthorized": 401}
_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
_ANNOTATION_BYTES = 10 * 1024


@dataclass(frozen=True, slots=True)
class _Denial:
    policy: str
    binding: str  # "" if the policy itself is wrong
    message: str
    reason: str = "Invalid"

    @property
    def text(self) -> str:
        bound = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{bound} denied request: {self.message}"


class ValidatingPolicies(PolicyHalf):
    """Asks all, then refuses with the first denial."""

    async def _ask(self, attributes: Attributes, found: FoundInvocations) -> None:
        denials = [
            _Denial(one.policy.name, one.binding.name if one.binding else "", one.message)
            for one in found.closed_failures
        ]
        view = self.runner.begin(attributes)
        annotations: dict[str, dict[str, None]] = {}  # values by policy and key, in their order
        for invocation in found.invocations:
            policy, began = invocation.policy, self.clock.monotonic()
            deciding = partial(decide, fails_open=policy.fails_open)
            decided = await self.runner.run(view, invocation, deciding)
            elapsed_s = self.clock.monotonic() - began
            denials += self._enforce(attributes, invocation, decided, elapsed_s)
            for key, value in decided.annotations:
                values = annotations.setdefault(f"{policy.name}/{key}", {})
                values[value.encode()[:_ANNOTATION_BYTES].decode(errors="ignore")] = None
        if attributes.annotate is not None:
            for key, values in annotations.items():
                attributes.annotate(key, ", ".join(values))
        if denials:
            first = denials[0]
            raise refused(attributes, first.text, first.reason, _CODES[first.reason])

    def _enforce(
        self,
        attributes: Attributes,
        asked: PolicyInvocation,
        found: PolicyDecisions,
        elapsed_s: float,
    ) -> Iterator[_Denial]:
        policy, binding = asked.policy.name, asked.binding.name

        def observe(action: str, decision: ValidationDecision) -> None:
            error = error_type(decision.message) if decision.is_error else NO_ERROR
            self._observe(asked, action, elapsed_s, error)

        for index, decision in enumerate(found.decisions):
            if not decision.is_denied:
                if decision.is_error:
                    observe(ALLOW, decision)
                continue
            for action in asked.binding.actions:
                if action == "Deny":
                    observe(DENY, decision)
                    yield _Denial(policy, binding, decision.message, decision.reason)
                elif action == "Audit":
                    observe(AUDIT, decision)
                    _annotate(attributes, asked.binding, index, decision)
                elif action == "Warn":
                    observe(WARN, decision)
                    what = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding}'"
                    attributes.warn(f"Validation failed for {what}: {decision.message}")
        for why in found.unannotated:
            self._observe(asked, DENY, elapsed_s, error_type(why))
            yield _Denial(policy, binding, why)


def _annotate(
    attributes: Attributes, binding: PolicyBinding, index: int, decision: ValidationDecision
) -> None:
    if attributes.annotate is None:
        return
    failure = {
        "message": decision.message,
        "policy": binding.policy,
        "binding": binding.name,
        "expressionIndex": index,
        "validationActions": list(binding.actions),
    }
    attributes.annotate(_FAILURE, json.encode([failure]).decode())

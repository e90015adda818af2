"""The plugin MutatingAdmissionPolicy: each policy changes what those before it made.

After a change the policies that want it (``reinvocationPolicy: IfNeeded``) are asked once more,
when all mutating plugins run again.
"""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.typed import TypeNode
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import Excluded, Match, Matched, Undecided
from proreus.server.admission.policies.compiled import APPLY, PolicyMutation
from proreus.server.admission.policies.evaluation import OutOfBudget, PolicyEvaluation
from proreus.server.admission.policies.half import PolicyHalf
from proreus.server.admission.policies.invocations import FoundInvocations, PolicyInvocation
from proreus.server.admission.policies.metrics import ALLOW, DENY, error_type
from proreus.server.admission.policies.patches import Unapplicable, applied, patched
from proreus.server.admission.policies.refusal import refused_plainly
from proreus.server.admission.policies.runner import RequestView
from proreus.server.admission.reinvocation import Reinvocation
from proreus.server.registry.admission import Attributes

NAME = "MutatingAdmissionPolicy"
_INVALID = "Invalid"


@dataclass(frozen=True, slots=True)
class _Failure:
    """``reason`` "": the policy or its binding is wrong, not what it made."""

    text: str
    reason: str = ""


class MutatingPolicies(PolicyHalf):
    """Asks the policies one after another, each about what those before it made."""

    async def _ask(self, attributes: Attributes, found: FoundInvocations) -> None:
        failures = [
            _Failure(_said(one.policy.name, one.binding.name if one.binding else "", one.message))
            for one in found.closed_failures
        ]
        memory = Reinvocation.begin(NAME, attributes)
        view = self.runner.begin(attributes)
        for invocation in found.invocations:
            failures += await self._ask_one(view, invocation, memory)
        if attributes.wants_reinvocation:
            memory.require()
        memory.end(attributes)
        if failures:
            raise refused_plainly(
                attributes, [failure.text for failure in failures], failures[0].reason
            )

    async def _ask_one(
        self, view: RequestView, invocation: PolicyInvocation, memory: Reinvocation
    ) -> list[_Failure]:
        """What went wrong, which may be the policy's own doing."""
        attributes, policy = view.attributes, invocation.policy
        match = await self.runner.run(view, invocation, _match)
        if isinstance(match, Undecided):
            return self._failed(invocation, match.why)
        key = _key(invocation)
        if isinstance(match, Excluded) or memory.skips(key, attributes):
            return []
        failures: list[_Failure] = []
        is_changed = False
        for mutation in policy.compiled.mutations if attributes.obj is not None else ():
            began = self.clock.monotonic()
            try:
                is_changed |= await self._mutate(view, invocation, mutation)
            except Unapplicable as why:
                elapsed_s, error = self.clock.monotonic() - began, error_type(str(why))
                self._observe(invocation, DENY, elapsed_s, error)
                failures += self._failed(invocation, str(why))
            else:
                self._observe(invocation, ALLOW, self.clock.monotonic() - began)
        if is_changed:
            memory.changed(attributes)
        if policy.is_reinvoked:
            memory.called.add(key)
        return failures

    async def _mutate(
        self, view: RequestView, invocation: PolicyInvocation, mutation: PolicyMutation
    ) -> bool:
        """Whether the object is another one now. Raises Unapplicable."""
        if mutation.expression.program is None:
            raise Unapplicable(mutation.expression.error)
        try:
            result = await self.runner.run(
                view, invocation, lambda evaluation: evaluation.evaluate(mutation.expression)
            )
        except OutOfBudget as why:
            raise Unapplicable(str(why)) from why
        if result.error:
            raise Unapplicable(result.error)
        kind = invocation.matched.kind

        def make(obj: JsonObject, node: TypeNode | None) -> JsonObject:
            if mutation.patch_type == APPLY:
                return applied(result.value, obj, node)
            return patched(result.value, obj, kind, node)

        is_changed = await self.runner.versions.change(view.attributes, kind, make)
        view.forget_objects()
        return is_changed

    def _failed(self, invocation: PolicyInvocation, why: str) -> list[_Failure]:
        if invocation.policy.fails_open:
            return []
        return [_Failure(_said(invocation.policy.name, invocation.binding.name, why), _INVALID)]


def _match(evaluation: PolicyEvaluation) -> Match:
    return evaluation.match() if evaluation.policy.conditions else Matched()


def _said(policy: str, binding: str, why: str) -> str:
    bound = f" with binding '{binding}'" if binding else ""
    return f"policy '{policy}'{bound} denied request: {why}"


def _key(invocation: PolicyInvocation) -> str:
    meta = (invocation.params or {}).get("metadata") or {}
    params = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}"
    return f"{invocation.policy.name}/{invocation.binding.name}/{params}"

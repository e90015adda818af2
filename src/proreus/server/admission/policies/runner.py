"""Puts a policy's expressions to one request: what they see of it, and where they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import ExpressionRunner, expression_values
from proreus.server.admission.policies.definition import AdmissionPolicy
from proreus.server.admission.policies.evaluation import PolicyEvaluation
from proreus.server.admission.policies.invocations import PolicyInvocation, PolicyInvocations
from proreus.server.admission.request import admission_request
from proreus.server.admission.versions import MatchedKind, ObjectVersions
from proreus.server.cel.functions.authorization import Decide
from proreus.server.cel.pace import CostPace
from proreus.server.offload import Lane
from proreus.server.registry.admission import Attributes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PolicyRunner:
    """Shared by both kinds of policies. ``compiling``: where long policies are compiled."""

    invocations: PolicyInvocations
    versions: ObjectVersions
    expressions: ExpressionRunner
    compiling: Lane

    def begin(self, attributes: Attributes) -> RequestView:
        return RequestView(attributes, self)

    async def compile(self, policy: AdmissionPolicy) -> None:
        """So that ``policy.compiled`` takes no time."""
        if not policy.compiles_quickly:
            await self.compiling.run(lambda: policy.compiled)

    async def run(
        self, view: RequestView, invocation: PolicyInvocation, work: Callable[[PolicyEvaluation], T]
    ) -> T:
        """What ``work`` makes of the policy; it may be called several times, also in a thread."""
        policy = invocation.policy
        await self.compile(policy)
        attributes, reviewed = view.attributes, await view.objects(invocation.matched)
        namespace = await view.namespace() if policy.mentions_namespace else None

        def evaluate(ask: Decide, pace: CostPace) -> T:
            values = expression_values(attributes, *reviewed, ask, namespace)
            return work(PolicyEvaluation(policy.compiled, values, invocation.params, pace))

        return await self.expressions.run(attributes.user, evaluate)


# The request, and its new and old object, in the version that a policy is about.
ReviewedRequest = tuple[JsonObject, tuple[JsonObject | None, JsonObject | None]]


class RequestView:
    """What policies see of one request, made once for each version they are about."""

    def __init__(self, attributes: Attributes, runner: PolicyRunner) -> None:
        self.attributes = attributes
        self._runner = runner
        self._reviewed: dict[MatchedKind, ReviewedRequest] = {}
        self._namespace: list[Any] = []  # when it is known

    async def namespace(self) -> Any:
        if not self._namespace:
            self._namespace.append(await self._runner.invocations.namespace(self.attributes))
        return self._namespace[0]

    async def objects(self, matched: MatchedKind) -> ReviewedRequest:
        """The request, and its objects. Raises InternalError."""
        known = self._reviewed.get(matched)
        if known is None:
            attributes, converted = self.attributes, self._runner.versions.converted
            known = self._reviewed[matched] = (
                admission_request(attributes, matched.resource, matched.kind),
                (
                    await converted(attributes, attributes.obj, matched.kind),
                    await converted(attributes, attributes.old, matched.kind),
                ),
            )
        return known

    def forget_objects(self) -> None:
        """They were changed."""
        self._reviewed.clear()

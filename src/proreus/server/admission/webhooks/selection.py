"""Whether a request concerns a webhook: rules, then selectors, then conditions.

Rules cost the least and exclude the most. What cannot be known of a webhook (its namespace is gone,
its selector cannot be read) matters only to requests that its rules match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupResource, GroupVersionResource
from proreus.api.status import Forbidden, InternalError, NotFound
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import (
    Excluded,
    ExpressionRunner,
    Undecided,
    expression_values,
    match_conditions,
)
from proreus.server.admission.matching import (
    RequestTarget,
    labels_of,
    matched_resource,
    selects_object,
)
from proreus.server.admission.plugins.lookup import find
from proreus.server.admission.request import admission_request, target_of
from proreus.server.admission.versions import MatchedKind, ObjectVersions
from proreus.server.admission.webhooks.calling import ReviewedObjects
from proreus.server.admission.webhooks.configuration import AdmissionWebhook
from proreus.server.admission.webhooks.metrics import AdmissionWebhookMetrics
from proreus.server.registry.admission import Attributes
from proreus.server.registry.collection import Collection

_NAMESPACES = GroupResource("", "namespaces")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A webhook, its number among all, and what of its rules the request is for."""

    number: int
    webhook: AdmissionWebhook
    target: RequestTarget
    resource: GroupVersionResource


@dataclass(frozen=True, slots=True)
class Invocation:
    webhook: AdmissionWebhook
    matched: MatchedKind


@dataclass(frozen=True, slots=True)
class WebhookSelection:
    """``word``: how metrics call this half of admission."""

    word: str
    namespaces: Collection
    versions: ObjectVersions
    runner: ExpressionRunner
    metrics: AdmissionWebhookMetrics
    clock: Clock

    def candidates(
        self, webhooks: Iterable[AdmissionWebhook], attributes: Attributes
    ) -> Iterator[Candidate]:
        """Those with a rule for the request."""
        target = target_of(attributes)
        equivalents = self.versions.equivalents(attributes.resource)
        for number, webhook in enumerate(webhooks):
            others = equivalents if webhook.matches_equivalents else ()
            resource = matched_resource(webhook.rules, target, others)
            if resource is not None:
                yield Candidate(number, webhook, target, resource)

    async def invocation(self, candidate: Candidate, attributes: Attributes) -> Invocation | None:
        """None if the webhook is not to be called. Raises ApiError."""
        webhook, target, resource = candidate.webhook, candidate.target, candidate.resource
        if webhook.fault:
            raise InternalError.of(webhook.fault)
        if not await self._selects_namespace(webhook, attributes, target):
            return None
        if not selects_object(webhook.objects, attributes.obj, attributes.old):
            return None
        found = Invocation(webhook, self.versions.matched(attributes, resource))
        if webhook.conditions and not await self._meets_conditions(found, attributes):
            return None
        return found

    async def reviewed(self, attributes: Attributes, matched: MatchedKind) -> ReviewedObjects:
        """Raises InternalError."""
        kind = matched.kind
        return ReviewedObjects(
            admission_request(attributes, matched.resource, kind),
            await self.versions.converted(attributes, attributes.obj, kind),
            await self.versions.converted(attributes, attributes.old, kind),
        )

    async def _selects_namespace(
        self, webhook: AdmissionWebhook, attributes: Attributes, target: RequestTarget
    ) -> bool:
        is_namespace = target.resource.resource == "namespaces"
        if webhook.namespaces.is_empty or (not target.namespace and not is_namespace):
            return True
        is_written = attributes.operation in ("CREATE", "UPDATE") and not attributes.subresource
        if is_namespace and is_written and attributes.obj is not None:
            return webhook.namespaces.matches(labels_of(attributes.obj))
        found = await find(self.namespaces, target.namespace)
        if found is None:
            raise NotFound.of(_NAMESPACES, target.namespace)
        return webhook.namespaces.matches(labels_of(found))

    async def _meets_conditions(self, found: Invocation, attributes: Attributes) -> bool:
        webhook, word, began = found.webhook, self.word, self.clock.monotonic()
        reviewed = await self.reviewed(attributes, found.matched)
        match = await self.runner.run(
            attributes.user,
            lambda ask, pace: match_conditions(
                webhook.conditions,
                expression_values(attributes, reviewed.request, reviewed.pair, ask),
                pace,
            ),
        )
        operation = attributes.operation
        self.metrics.conditions_evaluated(
            webhook.name,
            word,
            operation,
            took_s=self.clock.monotonic() - began,
            failures=match.failures if isinstance(match, Undecided) else 0,
        )
        if isinstance(match, Undecided) and not webhook.fails_open:
            name = attributes.known_name
            raise Forbidden.of(attributes.resource.group_resource, name, match.why)
        if isinstance(match, Excluded):
            self.metrics.excluded(webhook.name, word, operation)
        return not isinstance(match, Excluded | Undecided)

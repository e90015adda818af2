"""Mutating webhooks: called one after another, each on what those before it made.

After a change those that were called before and want it (``reinvocationPolicy: IfNeeded``) are
called once more, when all mutating plugins run again.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api import go_text
from proreus.api.json_types import JsonObject
from proreus.api.patch import managed_fields
from proreus.api.status import InternalError
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.reinvocation import Reinvocation
from proreus.server.admission.versions import ObjectVersions
from proreus.server.admission.webhooks.calling import WebhookCaller, WebhookFailed, annotate
from proreus.server.admission.webhooks.configuration import AdmissionWebhook
from proreus.server.admission.webhooks.following import WebhookList
from proreus.server.admission.webhooks.patching import (
    UndecodableOperations,
    patched_object,
    read_operations,
)
from proreus.server.admission.webhooks.selection import Invocation, WebhookSelection
from proreus.server.registry.admission import Attributes

NAME = "MutatingAdmissionWebhook"
_MUTATION = "mutation.webhook.admission.k8s.io/"
_PATCH = "patch.webhook.admission.k8s.io/"
_JSON_PATCH = "JSONPatch"
_DISORDER = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an "
    "outdated mutating admission controller; please fix your requests"
)


@dataclass(frozen=True, slots=True)
class MutatingWebhooks:
    """A plugin's mutating half."""

    webhooks: WebhookList
    selection: WebhookSelection
    caller: WebhookCaller
    versions: ObjectVersions

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._admit(attributes) if self.webhooks.concern(attributes) else None

    async def _admit(self, attributes: Attributes) -> None:
        memory = Reinvocation.begin(NAME, attributes)
        owners = _owners(attributes.obj)
        for candidate in self.selection.candidates(self.webhooks.ordered, attributes):
            invocation = await self.selection.invocation(candidate, attributes)
            if invocation is None:
                continue
            webhook = candidate.webhook
            if memory.skips(webhook.uid, attributes):
                continue
            if await self._call(invocation, attributes, candidate.number):
                memory.changed(attributes)
            if webhook.is_reinvoked:
                memory.called.add(webhook.uid)
        _keep_owners(attributes, owners)
        if memory.called:
            memory.end(attributes)

    async def _call(self, invocation: Invocation, attributes: Attributes, number: int) -> bool:
        """Whether the object is another one now. Raises ApiError."""
        webhook = invocation.webhook
        place = f"{_MUTATION}{_place(attributes, number)}"
        is_changed: bool | None = False
        try:
            call = self._mutate(invocation, attributes, number)
            is_changed = await self.caller.outcome(webhook, attributes.operation, call)
        finally:
            noted = _noted(webhook, mutated=bool(is_changed))
            annotate(attributes, place, noted)
        if is_changed is None:
            annotate(attributes, f"failed-open.{place}", webhook.name)
        return bool(is_changed)

    async def _mutate(self, invocation: Invocation, attributes: Attributes, number: int) -> bool:
        webhook, matched = invocation.webhook, invocation.matched
        reviewed = await self.selection.reviewed(attributes, matched)
        response = await self.caller.ask(webhook, reviewed, attributes, is_mutating=True)
        if not response.patch:
            return False
        try:
            operations = read_operations(response.patch)
        except UndecodableOperations as error:
            why = f"received undecodable patch in webhook response: {error}"
            raise WebhookFailed(webhook, why) from error
        if not operations:
            return False
        if attributes.obj is None:
            raise InternalError.of(
                f"admission webhook {go_text.quoted(webhook.name)} attempted to modify the object, "
                "which is not supported for this operation"
            )
        if response.patch_type != _JSON_PATCH:
            given = go_text.quoted(response.patch_type)
            raise WebhookFailed(webhook, f"unsupported patch type {given}")
        kind = matched.kind
        is_changed = await self.versions.change(
            attributes, kind, lambda obj, node: patched_object(obj, operations, kind, node)
        )
        if (annotate_bodies := attributes.annotate_bodies) is not None:
            noted = _noted(webhook, patch=operations, patchType=_JSON_PATCH)
            annotate_bodies(f"{_PATCH}{_place(attributes, number)}", noted)
        return is_changed


def _place(attributes: Attributes, number: int) -> str:
    return f"round_{int(attributes.is_reinvocation)}_index_{number}"


def _noted(webhook: AdmissionWebhook, **what: object) -> str:
    named = {"configuration": webhook.configuration, "webhook": webhook.name}
    return json.encode({**named, **what}).decode()


def _owners(obj: JsonObject | None) -> object:
    return None if obj is None else managed_fields.entries_of(obj)


def _keep_owners(attributes: Attributes, before: object) -> None:
    """Owners of fields that webhooks left in disorder are those from before."""
    obj = attributes.obj
    if obj is None or (after := _owners(obj)) == before:
        return
    try:
        managed_fields.decode(after)
    except managed_fields.ManagedFieldsError as error:
        obj["metadata"]["managedFields"] = before
        attributes.warn(f"{_DISORDER}: {error}")

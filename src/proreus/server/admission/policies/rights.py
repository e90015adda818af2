"""Whoever writes a policy or a binding must be allowed to read the parameters that it names.

A policy could otherwise tell what its author may not see. Kubernetes asks it after all other rules
of these kinds and answers as it does invalid objects.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api import field_error
from proreus.api.group_version import GroupVersion
from proreus.api.json_types import Json
from proreus.api.status import Invalid
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.plugins import lookup
from proreus.server.admission.policies.source import GROUP
from proreus.server.authz.authorizer import Action, Authorization
from proreus.server.registry.admission import CREATE, UPDATE, Attributes
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.user import MASTERS, User

_ALL = "*"
_POLICIES = frozenset({"validatingadmissionpolicies", "mutatingadmissionpolicies"})
_POLICIES_OF_BINDINGS = {
    "validatingadmissionpolicybindings": "validatingadmissionpolicies",
    "mutatingadmissionpolicybindings": "mutatingadmissionpolicies",
}


@dataclass(frozen=True, slots=True)
class _Readable:
    """What must be readable; ``unknown``: why it is more than the parameters."""

    group: str = _ALL
    version: str = _ALL
    resource: str = _ALL
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class PolicyParamRights:
    authorization: Authorization
    catalog: Catalog
    collections: Collections

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Invalid."""
        resource, obj = attributes.resource, attributes.obj
        if resource.group != GROUP or obj is None or attributes.subresource:
            return None
        if attributes.operation not in (CREATE, UPDATE) or MASTERS in attributes.user.groups:
            return None
        spec = obj.get("spec") or {}
        if resource.plural in _POLICIES and (kind := spec.get("paramKind")) is not None:
            before = ((attributes.old or {}).get("spec") or {}).get("paramKind")
            return None if kind == before else self._check_kind(attributes, kind)
        if resource.plural in _POLICIES_OF_BINDINGS and spec.get("paramRef") is not None:
            return self._check_reference(attributes, spec)
        return None

    async def _check_kind(self, attributes: Attributes, kind: Json) -> None:
        readable = self._readable(kind)
        if await self._may(attributes.user, "get", readable, name=_ALL, namespace=_ALL):
            return
        name, version = kind.get("kind") or "", kind.get("apiVersion") or ""
        why = (
            f'user {printed(attributes.user)} must have "get" permission on all objects of the '
            f"referenced paramKind (kind={name}, apiVersion={version})"
        )
        raise _refused(attributes, "spec.paramKind", why)

    async def _check_reference(self, attributes: Attributes, spec: Json) -> None:
        """An update too, whatever it changes: Kubernetes compares where references are kept."""
        plural = _POLICIES_OF_BINDINGS[attributes.resource.plural]
        reference, policy = spec["paramRef"], spec.get("policyName") or ""
        found = await lookup.find(self.collections.named(GROUP, "v1", plural), policy)
        readable = _Readable(unknown=f"get policy {policy}")
        if found is not None:
            kind = (found.get("spec") or {}).get("paramKind")
            readable = _Readable() if kind is None else self._readable(kind)
        name, namespace = reference.get("name") or "", reference.get("namespace") or ""
        verb = "get" if name else "list"
        if await self._may(attributes.user, verb, readable, name=name, namespace=namespace):
            return
        who = printed(attributes.user)
        if plural == "mutatingadmissionpolicies":
            # Kubernetes has the two in each other's place, and knows no other reason here.
            why = (
                f'user {verb} does not have "{who}" permission on the object referenced by paramRef'
            )
        elif readable.unknown:
            why = (
                f"unable to {readable.unknown} to determine minimum required permissions and user "
                f'{who} does not have "{verb}" permission for all groups, versions and resources'
            )
        else:
            why = (
                f'user {who} does not have "{verb}" permission on the object referenced by paramRef'
            )
        raise _refused(attributes, "spec.paramRef", why)

    def _readable(self, kind: Json) -> _Readable:
        """Objects of a kind, or all of its version if nobody serves it."""
        text, name = kind.get("apiVersion") or "", kind.get("kind") or ""
        version = GroupVersion.parse(text)
        resource = self.catalog.of_kind(version.kind(name))
        if resource is None:
            unknown = f"resolve paramKind &{{{text} {name}}}"
            return _Readable(version.group, version.version, unknown=unknown)
        return _Readable(version.group, version.version, resource.plural)

    async def _may(
        self, user: User, verb: str, readable: _Readable, *, name: str, namespace: str
    ) -> bool:
        action = Action(
            user=user,
            verb=verb,
            group=readable.group,
            version=readable.version,
            resource=readable.resource,
            namespace=namespace,
            name=name,
        )
        return await self.authorization.allows(action)


def printed(user: User) -> str:
    """As Go prints a user."""
    extra = " ".join(f"{key}:[{' '.join(user.extra[key])}]" for key in sorted(user.extra))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"


def _refused(attributes: Attributes, at: str, why: str) -> Invalid:
    error = field_error.forbidden(at, why)
    return Invalid.of(attributes.resource.group_kind, attributes.name, [error])

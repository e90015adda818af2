"""The tables of built-in kinds, compared with an independent table of the same API."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import lightkube.resources
import pytest
from lightkube.core import resource as lightkube_resource

from proreus.api.group_version import GroupVersionKind, GroupVersionResource
from proreus.server.kinds import builtin_resources
from proreus.server.resource import Resource
from tests.unit.server.kinds.creating import resource_of

_VERBS = {"post": "create", "put": "update"}
# Served by us, left out by the other table: connects, whose verbs are HTTP methods.
_CONNECTS = {"attach", "exec", "portforward", "proxy"}

POD, NODE, JOB = (
    resource_of(*kind).selectable for kind in (("", "Pod"), ("", "Node"), ("batch", "Job"))
)
CORE_EVENT = resource_of("", "Event").selectable
EVENT = resource_of("events.k8s.io", "Event").selectable


def resources() -> dict[GroupVersionResource, Resource]:
    return {found.gvr: found for found in builtin_resources()}


def oracle() -> list[tuple[str, Any, Any]]:
    found = []
    served = {(gvr.group, gvr.version) for gvr in resources()}
    for module in pkgutil.iter_modules(lightkube.resources.__path__):
        names = vars(importlib.import_module(f"lightkube.resources.{module.name}"))
        for name, cls in names.items():
            about = getattr(cls, "__dict__", {}).get("_api_info")
            if about is None:
                continue
            owner = about.parent or about.resource
            if (owner.group, owner.version) in served:
                found.append((f"{module.name}.{name}", cls, about))
    return found


@pytest.mark.parametrize(
    ("label", "cls", "about"), oracle(), ids=lambda v: v if type(v) is str else ""
)
def test_plural_scope_kind_and_verbs_are_those_of_the_api(label: str, cls: Any, about: Any) -> None:
    owner = about.parent or about.resource
    resource = resources()[GroupVersionResource(owner.group, owner.version, about.plural)]
    verbs = {_VERBS.get(verb, verb) for verb in about.verbs if not verb.startswith("global_")}
    namespaced = issubclass(
        cls,
        lightkube_resource.NamespacedResource | lightkube_resource.NamespacedSubResource,
    )
    if about.parent is None:
        if about.plural == "componentstatuses":
            verbs.discard("watch")  # the document promises it, the server refuses it
        assert (resource.kind, resource.namespaced) == (about.resource.kind, namespaced)
        assert set(resource.verbs) == verbs
    else:
        sub = resource.subresource(about.action)
        assert sub is not None
        wanted = about.resource
        assert sub.kind == GroupVersionKind(wanted.group, wanted.version, wanted.kind)
        assert set(sub.verbs) == verbs


def test_nothing_is_served_that_the_api_does_not_know() -> None:
    known = {
        (about.parent or about.resource).group + "/" + about.plural + "/" + (about.action or "")
        for _, _, about in oracle()
    }
    for found in resources().values():
        assert f"{found.group}/{found.plural}/" in known
        for sub in found.subresources:
            path = f"{found.group}/{found.plural}/{sub.name}"
            assert sub.name in _CONNECTS or path in known


def test_names_are_unique_within_a_group() -> None:
    taken: dict[tuple[str, str], str] = {}
    for found in resources().values():
        for name in {found.plural, found.names.singular, *found.names.short_names}:
            assert taken.setdefault((found.group, name), found.plural) == found.plural


def test_storage_prefixes_do_not_contain_each_other() -> None:
    prefixes = {found.prefix: found.stored_gvk for found in resources().values() if stored(found)}
    for one in prefixes:
        assert not any(one != other and one.startswith(other) for other in prefixes)


def stored(found: Resource) -> bool:
    return "watch" in found.verbs


def test_resources_that_share_a_prefix_share_the_stored_type() -> None:
    by_prefix: dict[str, set[Any]] = {}
    for found in filter(stored, resources().values()):
        by_prefix.setdefault(found.prefix, set()).add(found.stored_gvk)
    shared = {prefix for prefix in by_prefix if len(by_prefix[prefix]) > 1}
    assert not shared
    assert {"/registry/minions/", "/registry/services/specs/", "/registry/ingress/"} <= set(
        by_prefix
    )


def test_a_pod_gives_its_selectable_fields_as_text() -> None:
    fields = POD.read(
        {"spec": {"nodeName": "n", "hostNetwork": True}, "status": {"phase": "Running"}}
    )
    assert fields["spec.nodeName"] == "n"
    assert fields["spec.hostNetwork"] == "true"
    assert fields["status.phase"] == "Running"
    assert fields["status.podIP"] == ""
    assert "status.podIPs" in POD.names
    assert "status.podIPs" not in fields


def test_an_empty_object_has_every_field_empty_or_zero() -> None:
    for found in resources().values():
        fields = found.selectable.read({})
        assert set(fields.values()) <= {"", "0", "false"}


def test_counts_and_flags_are_compared_as_text() -> None:
    assert JOB.read({"status": {"succeeded": 3}}) == {"status.successful": "3"}
    assert NODE.read({"spec": {"unschedulable": True}}) == {"spec.unschedulable": "true"}


def test_both_event_resources_read_the_stored_event() -> None:
    event = {
        "involvedObject": {"kind": "Pod", "name": "a"},
        "reason": "Started",
        "reportingComponent": "kubelet",
    }
    assert CORE_EVENT.read(event) == EVENT.read(event)
    fields = EVENT.read(event)
    assert fields["source"] == "kubelet"
    assert fields[EVENT.aliases["regarding.name"]] == "a"
    assert "involvedObject.name" not in EVENT.names

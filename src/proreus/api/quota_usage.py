"""What objects count for in resource quotas, by the names that quotas use. Pure.

Admission charges it when an object is created, and the quota controller counts it again; both must
come to the same number, so it is computed here for both.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

from proreus.api.group_version import GroupResource
from proreus.api.json_types import Json
from proreus.api.pod_qos import qos_class
from proreus.api.values import quantity
from proreus.api.values.quantity import Format

Usage = dict[str, Fraction]
PODS = GroupResource("", "pods")
SERVICES = GroupResource("", "services")
CLAIMS = GroupResource("", "persistentvolumeclaims")
DEVICE_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")
# Kinds of the core group that quotas also name without ``count/``.
_PLAIN_COUNTS = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
     "persistentvolumeclaims"}
)  # fmt: skip
_SHORT_NAMES = ("cpu", "memory", "ephemeral-storage")  # they mean requests
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
_DEVICES_MAX = 32  # as many as one claim can be given, so that "all" may mean them
_COUNT, _REQUESTS = "count/", "requests."
_CLASS_RESOURCE = "deviceclass.resource.kubernetes.io/"
_OF_STORAGE_CLASSES = (
    f"{_STORAGE_CLASS}requests.storage",
    f"{_STORAGE_CLASS}persistentvolumeclaims",
)
_OF_PODS, _OF_CLAIMS = frozenset({PODS}), frozenset({CLAIMS})
_OF_DEVICE_CLAIMS = frozenset({DEVICE_CLAIMS})
_OF_BOTH = _OF_PODS | _OF_DEVICE_CLAIMS
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_MADE_FOR_POD = "resource.kubernetes.io/extended-resource-claim"
_ZERO, _ONE = Fraction(0), Fraction(1)


def counted_by(name: str) -> frozenset[GroupResource]:
    """The resources whose objects count for a quota's name; none: it is kept and means nothing."""
    if name.startswith(_COUNT):
        resource, _, group = name.removeprefix(_COUNT).partition(".")
        return frozenset({GroupResource(group, resource)})
    if name == "requests.storage" or name.endswith(_OF_STORAGE_CLASSES):
        return _OF_CLAIMS
    if name.endswith(_DEVICE_CLASS):
        return _OF_DEVICE_CLAIMS
    if "/" in name:
        extended = name.removeprefix(_REQUESTS)
        return _OF_BOTH if extended != name and _is_extended(extended) else frozenset()
    resource = name.partition(".")[0]
    return frozenset({GroupResource("", resource)}) if resource in _PLAIN_COUNTS else _OF_PODS


def _is_extended(name: str) -> bool:
    """Whether a resource of containers is neither Kubernetes' own nor without a domain; devices of
    a class may be asked for by the class's name, in Kubernetes' own domain."""
    return name.startswith(_CLASS_RESOURCE) or ("/" in name and "kubernetes.io/" not in name)


def usage_of(resource: GroupResource, obj: Json) -> Usage:
    """What one object of a resource counts for."""
    found: Usage = {f"{_COUNT}{resource}": _ONE}
    if resource == DEVICE_CLAIMS:
        return found | _device_usage(obj)
    if resource.group:
        return found
    if resource == PODS:
        return found | _pod_usage(obj)
    if resource.resource in _PLAIN_COUNTS:
        found[resource.resource] = _ONE
    if resource == SERVICES:
        found |= _service_usage(obj["spec"])
    if resource == CLAIMS:
        found |= _claim_usage(obj)
    return found


def _pod_usage(pod: Json) -> Usage:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}  # it is an object still, but needs nothing any more
    found: Usage = {"pods": _ONE}
    for name, amount in _needs(pod["spec"], "requests").items():
        if name in _SHORT_NAMES or name.startswith("hugepages-"):
            found[name] = found[f"{_REQUESTS}{name}"] = amount
        elif _is_extended(name):
            found[f"{_REQUESTS}{name}"] = amount
    for name, amount in _needs(pod["spec"], "limits").items():
        if name in _SHORT_NAMES:
            found[f"limits.{name}"] = amount
    return found


def pod_requests(spec: Json) -> Usage:
    return _needs(spec, "requests")


def _needs(spec: Json, part: str) -> Usage:
    """What the containers need, unless the pod says it for all of them, and its overhead."""
    total = needs_of_containers(spec, part) | _amounts(spec, part)
    overhead = {name: quantity.amount(v) for name, v in (spec.get("overhead") or {}).items()}
    if part == "limits":
        overhead = {name: amount for name, amount in overhead.items() if name in total}
    return _sum((total, overhead))


def needs_of_containers(spec: Json, part: str) -> Usage:
    """The larger of what all containers need together and what starting them needs at its peak.
    Init containers that restart always stay, and count with both."""
    running = _sum(_amounts(one, part) for one in spec.get("containers") or ())
    stay: Usage = {}
    peak: Usage = {}
    for container in spec.get("initContainers") or ():
        needed = _amounts(container, part)
        if container.get("restartPolicy") == "Always":
            stay = _sum((stay, needed))
            needed = {}
        peak = _most(peak, _sum((stay, needed)))
    return _most(_sum((running, stay)), peak)


def spelling(spec: Json, part: str, name: str) -> Format:
    """How the total of a resource is spelled: as the first amount that is added up."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for holder in (spec, *containers):
        text = ((holder.get("resources") or {}).get(part) or {}).get(name)
        if quantity.amount(text):
            return quantity.parse(text).format
    return Format.DECIMAL


def usage_spelling(obj: Json, name: str) -> Format:
    """The same, of what an object uses under a quota's name."""
    part, _, resource = name.rpartition("/")[2].rpartition(".")
    return spelling(obj.get("spec") or {}, part or "requests", resource)


def _amounts(holder: Json, part: str) -> Usage:
    """Of a container, or of a pod as a whole."""
    named = (holder.get("resources") or {}).get(part) or {}
    return {name: quantity.amount(value) for name, value in named.items()}


def _sum(parts: Iterable[Usage]) -> Usage:
    total: Usage = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, _ZERO) + amount
    return total


def _most(one: Usage, other: Usage) -> Usage:
    return {name: max(one.get(name, _ZERO), other.get(name, _ZERO)) for name in {**one, **other}}


def _service_usage(spec: Json) -> Usage:
    ports = spec.get("ports") or ()
    every = Fraction(len(ports))
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": every}
        case "LoadBalancer":
            given = Fraction(sum(bool(port.get("nodePort")) for port in ports))
            allocates = spec.get("allocateLoadBalancerNodePorts") is not False
            return {"services.loadbalancers": _ONE,
                    "services.nodeports": every if allocates else given}  # fmt: skip
        case _:
            return {}


def _claim_usage(claim: Json) -> Usage:
    spec, found = claim["spec"], Usage()
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    # The older annotation comes first, even where it names none.
    name = annotations.get(_CLASS_ANNOTATION, spec.get("storageClassName"))
    if name:
        found[f"{name}{_STORAGE_CLASS}persistentvolumeclaims"] = _ONE
    if asked is not None:
        allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
        amount = Fraction(ceil(max(quantity.amount(asked), quantity.amount(allocated))))
        found["requests.storage"] = amount
        if name:
            found[f"{name}{_STORAGE_CLASS}requests.storage"] = amount
    return found


def _device_usage(claim: Json) -> Usage:
    """Devices by class. Of alternatives the one that needs most counts, for each class. They count
    as the class's resource too, unless the claim was made for a pod that was charged for those."""
    requests = (claim["spec"].get("devices") or {}).get("requests") or ()
    by_class = _sum(_requested_devices(request) for request in requests)
    found = {f"{name}{_DEVICE_CLASS}": amount for name, amount in by_class.items()}
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    if annotations.get(_MADE_FOR_POD) != "true":
        for name, amount in by_class.items():
            found[f"{_REQUESTS}{_CLASS_RESOURCE}{name}"] = amount
    return found


def _requested_devices(request: Json) -> Usage:
    most: Usage = {}
    for one in request.get("firstAvailable") or [request.get("exactly") or {}]:
        takes_all = one.get("allocationMode") == "All"
        count = Fraction(_DEVICES_MAX if takes_all else one.get("count") or 0)
        most = _most(most, {one.get("deviceClassName") or "": count})
    return most


def applies_to(quota: Json, resource: GroupResource, obj: Json) -> bool:
    """Whether the quota's scopes include the object."""
    selector = quota["spec"].get("scopeSelector") or {}
    requirements = list(selector.get("matchExpressions") or ())
    scopes = quota["spec"].get("scopes") or ()
    requirements += [{"scopeName": scope, "operator": "Exists"} for scope in scopes]
    if not requirements:
        return True
    if resource == CLAIMS:
        return all(
            one.get("scopeName") == "VolumeAttributesClass"
            and any(_selects(one, name) for name in _attributes_classes(obj))
            for one in requirements
        )
    return resource == PODS and all(_in_scope(one, obj["spec"]) for one in requirements)


def _attributes_classes(claim: Json) -> set[str]:
    """Those that a claim names, has or is being changed to; "" where there is none."""
    status = claim.get("status") or {}
    named = {
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return {name for name in named if name} or {""}


def is_terminating(spec: Json) -> bool:
    """Whether a pod ends by itself after some time."""
    return spec.get("activeDeadlineSeconds") is not None


def _in_scope(requirement: Json, spec: Json) -> bool:
    match requirement.get("scopeName"):
        case "BestEffort":
            return qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return qos_class(spec) != "BestEffort"
        case "Terminating":
            return is_terminating(spec)
        case "NotTerminating":
            return not is_terminating(spec)
        case "PriorityClass":
            return _selects(requirement, spec.get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return _reaches_out(spec)
        case _:
            return False


def _selects(requirement: Json, name: str) -> bool:
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _reaches_out(spec: Json) -> bool:
    """Whether the pod asks about pods of other namespaces."""
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms = [one.get("podAffinityTerm") or {} for one in preferred]
        terms += affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        if any(one.get("namespaces") or one.get("namespaceSelector") is not None for one in terms):
            return True
    return False

"""Resource quotas: what an object uses, and whether a namespace still has it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from proreus.api.group_version import GroupResource
from proreus.api.values import quantity
from proreus.server.schema.kinds.qos import qos_class
from proreus.server.schema.policies.refused import Refused

Json = Mapping[str, Any]
JsonObject = dict[str, Any]
Usage = dict[str, Fraction]
# Kinds of the core group that quotas also name without ``count/``.
_PLAIN_COUNTS = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
     "persistentvolumeclaims"}
)  # fmt: skip
_ONE = Fraction(1)


def usage_of(resource: GroupResource, obj: Json) -> Usage:
    """What one object of a resource counts for, by quota name."""
    found: Usage = {f"count/{resource}": _ONE}
    if resource.group:
        return found
    if resource.resource in _PLAIN_COUNTS:
        found[resource.resource] = _ONE
    match resource.resource:
        case "pods":
            found |= _pod_usage(obj)
        case "services":
            found |= _service_usage(obj["spec"])
        case "persistentvolumeclaims":
            asked = ((obj["spec"].get("resources") or {}).get("requests") or {}).get("storage")
            found["requests.storage"] = quantity.amount(asked)
            if name := obj["spec"].get("storageClassName"):
                owner = f"{name}.storageclass.storage.k8s.io"
                found[f"{owner}/requests.storage"] = quantity.amount(asked)
                found[f"{owner}/persistentvolumeclaims"] = _ONE
    return found


def _pod_usage(pod: Json) -> Usage:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {"pods": Fraction(0)}
    found: Usage = {}
    for container in pod["spec"].get("containers") or ():
        resources = container.get("resources") or {}
        for part in ("requests", "limits"):
            for name, value in (resources.get(part) or {}).items():
                key = f"{part}.{name}"
                found[key] = found.get(key, Fraction(0)) + quantity.amount(value)
    for name in ("cpu", "memory", "ephemeral-storage"):
        if f"requests.{name}" in found:
            found[name] = found[f"requests.{name}"]
    return found


def _service_usage(spec: Json) -> Usage:
    ports = Fraction(len(spec.get("ports") or ()))
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": ports}
        case "LoadBalancer":
            allocates = spec.get("allocateLoadBalancerNodePorts") is not False
            return {"services.loadbalancers": _ONE, "services.nodeports": ports * allocates}
        case _:
            return {}


def applies_to(quota: Json, resource: GroupResource, obj: Json) -> bool:
    """Whether the quota's scopes include the object."""
    scopes = list(quota["spec"].get("scopes") or ())
    selector = quota["spec"].get("scopeSelector") or {}
    requirements = list(selector.get("matchExpressions") or ())
    requirements += [{"scopeName": scope, "operator": "Exists"} for scope in scopes]
    if not requirements:
        return True
    if resource != GroupResource("", "pods"):
        return False
    return all(_in_scope(requirement, obj["spec"]) for requirement in requirements)


def _in_scope(requirement: Json, spec: Json) -> bool:
    match requirement.get("scopeName"):
        case "BestEffort":
            return qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return qos_class(spec) != "BestEffort"
        case "Terminating":
            return (spec.get("activeDeadlineSeconds") or -1) >= 0
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "PriorityClass":
            name = spec.get("priorityClassName") or ""
            match requirement.get("operator"):
                case "In":
                    return name in (requirement.get("values") or ())
                case "NotIn":
                    return name not in (requirement.get("values") or ())
                case "DoesNotExist":
                    return not name
                case _:
                    return bool(name)
        case _:
            return False


def charge(quota: Json, wanted: Usage) -> JsonObject | None:
    """The quota's new ``status.used`` if ``wanted`` is granted; None if it does not concern it.

    Raises Refused if it is too much, or if nobody knows yet what is used.
    """
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    name = quota["metadata"]["name"]
    concerned = {key: amount for key, amount in sorted(wanted.items()) if key in hard}
    if not any(concerned.values()):
        return None
    if unknown := [key for key in concerned if key not in used]:
        raise Refused(f"status unknown for quota: {name}, resources: {','.join(unknown)}")
    totals = {key: quantity.amount(used[key]) + amount for key, amount in concerned.items()}
    over = [key for key, total in totals.items() if total > quantity.amount(hard[key])]
    over = [key for key in over if concerned[key] > 0]
    if over:
        raise Refused(
            f"exceeded quota: {name}, requested: {_listed(over, concerned)}, "
            f"used: {','.join(f'{key}={used[key]}' for key in over)}, "
            f"limited: {','.join(f'{key}={hard[key]}' for key in over)}"
        )
    made = dict(used)
    for key, total in totals.items():
        made[key] = quantity.from_amount(total, quantity.parse(hard[key]).format).text
    return made


def missing_resources(quota: Json, pod: Json) -> None:
    """A quota on cpu or memory wants every container to say what it needs."""
    hard = (quota.get("status") or {}).get("hard") or {}
    problems = []
    for key in sorted(hard):
        part, _, name = key.rpartition(".")
        part = part or "requests"
        if name not in ("cpu", "memory") or part not in ("requests", "limits"):
            continue
        silent = [
            container.get("name") or ""
            for container in pod["spec"].get("containers") or ()
            if name not in ((container.get("resources") or {}).get(part) or {})
        ]
        if silent:
            problems.append(f"{key} for: {','.join(silent)}")
    if problems:
        raise Refused(
            f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(problems)}"
        )


def _listed(keys: list[str], amounts: Usage) -> str:
    return ",".join(f"{key}={quantity.from_amount(amounts[key]).text}" for key in keys)

"""Resource quotas: whether a namespace still has what an object would use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.quota_usage import Usage
from proreus.api.values import quantity
from proreus.server.schema.policies.refused import Refused

Json = Mapping[str, Any]
JsonObject = dict[str, Any]


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

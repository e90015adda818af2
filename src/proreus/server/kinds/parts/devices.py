"""The devices of a slice, and the counters that they share.

What Kubernetes' types declare is checked last, in ``declared``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.device_capacities import check_request_policy
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.label_selectors import check_node_selector
from proreus.server.kinds.parts.pod_template.volumes import check_driver

_PROPERTIES_MAX, _TAINTS_MAX, _CONDITIONS_MAX = 32, 16, 4
_COUNTERS_MAX, _COUNTER_SETS_MAX, _CONSUMED_SETS_MAX = 32, 8, 2
_ID_MAX, _VALUE_MAX = 32, 64
_KEY_MAX, _COUNTER_KEY_MAX = 96, 63
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_VALUES = ("bool", "int", "string", "version")
_NUMBER = r"(0|[1-9]\d*)"
_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = r"[0-9a-zA-Z-]+"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?",
    re.ASCII,
)
_PLACES = ("nodeName", "nodeSelector", "allNodes")
_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set "
    "to true in the ResourceSlice spec"
)
_CheckValue = Callable[[str, Json], None]


def check_device(
    found: Findings, declared: Findings, at: str, device: Json, *, has_place: bool, taints: bool
) -> None:
    """``has_place``: each device says which nodes have it. ``taints``: they are new."""
    found.name(f"{at}.name", device.get("name") or "", names.dns_label)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if (count := len(attributes) + len(capacity)) > _PROPERTIES_MAX:
        why = f"the total number of attributes and capacities must not exceed {_PROPERTIES_MAX}"
        found.invalid(at, count, why)
    _check_properties(
        found,
        f"{at}.attributes",
        attributes,
        lambda where, value: _check_attribute(found, declared, where, value),
    )
    is_shared = bool(device.get("allowMultipleAllocations"))
    _check_properties(
        found,
        f"{at}.capacity",
        capacity,
        lambda where, value: check_request_policy(found, where, value, is_shared=is_shared),
    )
    if taints:
        _check_taints(found, declared, f"{at}.taints", device.get("taints") or [])
    _check_consumption(found, declared, f"{at}.consumesCounters", device)
    _check_place(found, at, device, has_place=has_place)
    _check_conditions(found, declared, at, device)


def check_counter_sets(found: Findings, declared: Findings, at: str, sets: list[Json]) -> None:
    _check_sets(found, declared, at, sets, "name", _COUNTER_SETS_MAX)


def check_taint(found: Findings, declared: Findings, at: str, taint: Json) -> None:
    """``declared`` gets what comes last."""
    found.name(f"{at}.key", taint.get("key") or "", names.qualified_name)
    if taint.get("value"):
        found.name(f"{at}.value", taint["value"], names.label_value)
    declared.required_one_of(f"{at}.effect", taint.get("effect"), _EFFECTS)


def check_toleration(found: Findings, declared: Findings, at: str, toleration: Json) -> None:
    value = toleration.get("value") or ""
    if toleration.get("key"):
        declared.name(f"{at}.key", toleration["key"], names.qualified_name)
    match operator := toleration.get("operator"):
        case "Exists":
            if value:
                found.invalid(f"{at}.value", value, "must be empty for operator `Exists`")
        case "Equal":
            found.name(f"{at}.value", value, names.label_value)
        case _:
            declared.required_one_of(f"{at}.operator", operator, ("Equal", "Exists"))
    declared.one_of(f"{at}.effect", toleration.get("effect") or None, _EFFECTS)


def _check_properties(found: Findings, at: str, given: Json, check: _CheckValue) -> None:
    for key in sorted(given):
        where = f"{at}[{_truncated(key, _KEY_MAX)}]"
        check_qualified_name(found, where, key)
        check(where, given[key] or {})


def check_qualified_name(found: Findings, at: str, name: str) -> None:
    """Names with two slashes pass, as in Kubernetes."""
    match name.split("/"):
        case [only]:
            _check_identifier(found, at, only)
        case [domain, rest]:
            if domain:
                check_driver(found, at, domain)
            else:
                found.invalid(at, "", "the domain must not be empty")
            if rest:
                _check_identifier(found, at, rest)
            else:
                found.invalid(at, "", "the name must not be empty")


def _check_identifier(found: Findings, at: str, text: str) -> None:
    _check_length(found, at, text, _ID_MAX)
    found.name(at, text, names.c_identifier)


def _check_length(found: Findings, at: str, text: str, limit: int) -> None:
    if len(text.encode()) > limit:
        found.append(field_error.too_long(at, limit))


def _check_attribute(found: Findings, declared: Findings, at: str, value: Json) -> None:
    if (text := value.get("string")) is not None:
        _check_length(found, f"{at}.string", text, _VALUE_MAX)
    if (version := value.get("version")) is not None:
        if not _VERSION.fullmatch(version):
            why = "must be a string compatible with semver.org spec 2.0.0"
            found.invalid(f"{at}.version", version, why)
        _check_length(found, f"{at}.version", version, _VALUE_MAX)
    given = [kind for kind in _VALUES if value.get(kind) is not None]
    if not given:
        declared.invalid(at, "", "exactly one value must be specified")
    elif len(given) > 1:
        why = "must specify exactly one of: " + ", ".join(f"`{kind}`" for kind in _VALUES)
        declared.invalid(at, "{" + ", ".join(given) + "}", why)


def _check_taints(found: Findings, declared: Findings, at: str, taints: list[Json]) -> None:
    if len(taints) > _TAINTS_MAX:
        found.at_most(at, taints, _TAINTS_MAX)
        return
    for where, taint in items(taints, at):
        check_taint(found, declared, where, taint)


def _check_consumption(found: Findings, declared: Findings, at: str, device: Json) -> None:
    consumed = device.get("consumesCounters") or []
    _check_sets(found, declared, at, consumed, "counterSet", _CONSUMED_SETS_MAX)


def _check_sets(
    found: Findings, declared: Findings, at: str, sets: list[Json], key: str, limit: int
) -> None:
    """Sets of counters that a slice has, or that a device takes of."""
    if len(sets) > limit:
        declared.at_most(at, sets, limit)
        return
    for where, one in items(sets, at):
        declared.required_name(f"{where}.{key}", one.get(key), names.dns_label)
        counters, place = one.get("counters") or {}, f"{where}.counters"
        if len(counters) > _COUNTERS_MAX:
            found.append(field_error.too_many(place, len(counters), _COUNTERS_MAX))
        elif found.require(place, counters):
            for counter in sorted(counters):
                shown = _truncated(counter, _COUNTER_KEY_MAX)
                found.name(f"{place}[{shown}]", counter, names.dns_label)
    for where, name, is_repeated in repeats([one.get(key) or "" for one in sets], at):
        if is_repeated:
            declared.duplicate(where, name)


def _check_place(found: Findings, at: str, device: Json, *, has_place: bool) -> None:
    if not has_place:
        if any(device.get(place) is not None for place in _PLACES):
            found.invalid(at, None, _NO_PLACE)
        return
    if (name := device.get("nodeName")) == "":
        found.invalid(f"{at}.nodeName", name, "must not be empty")
    else:
        found.name(f"{at}.nodeName", name)
    if (selector := device.get("nodeSelector")) is not None:
        check_node_selector(found, f"{at}.nodeSelector", selector)
    if device.get("allNodes") is False:
        found.invalid(f"{at}.allNodes", False, "must be either unset or set to true")
    given = [f"`{place}`" for place in _PLACES if device.get(place) not in (None, "", False)]
    if not given:
        found.require(at, None, _ONE_PLACE)
    elif len(given) > 1:
        found.invalid(at, "{" + ", ".join(given) + "}", _ONE_PLACE)


def _check_conditions(found: Findings, declared: Findings, at: str, device: Json) -> None:
    """Which conditions bind the device, and which end the attempt."""
    binding, failing = "bindingConditions", "bindingFailureConditions"
    for key in (binding, failing):
        if len(given := device.get(key) or []) > _CONDITIONS_MAX:
            declared.at_most(f"{at}.{key}", given, _CONDITIONS_MAX)
        else:
            for where, text in items(given, f"{at}.{key}"):
                found.name(where, text, names.qualified_name)
    wanted = device.get(binding) or []
    for key in (binding, failing):
        for where, text, is_repeated in repeats(device.get(key), f"{at}.{key}"):
            if is_repeated:
                found.duplicate(where, text)
            if key == failing and text in wanted:
                found.invalid(where, text, f"{failing} must not overlap with {binding}")
    for key, other in ((binding, failing), (failing, binding)):
        if not device.get(key) and device.get(other):
            found.invalid(f"{at}.{key}", device.get(key), f"{key} are required to use {other}")


def _truncated(key: str, limit: int) -> str:
    """Without the middle if it is long."""
    if len(key) <= limit:
        return key
    rest = limit - len("...")
    return f"{key[: (rest + 1) // 2]}...{key[len(key) - rest // 2 :]}"

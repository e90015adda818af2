"""When a job's pod failures count, and when some successes are enough."""

from __future__ import annotations

from proreus.api.field_error import FieldError, Reason
from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items, repeats

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_RULES_MAX = 20
_CODES_MAX = 255
_DIGITS_MAX = 10  # of an index


def check_pod_failure_policy(found: Findings, at: str, policy: Json, spec: Json) -> None:
    rules = policy.get("rules") or []
    found.at_most(f"{at}.rules", rules, _RULES_MAX)
    for where, rule in items(rules, f"{at}.rules"):
        _check_rule(found, where, rule, spec)


def _check_rule(found: Findings, at: str, rule: Json, spec: Json) -> None:
    action = rule.get("action") or ""
    if found.require(f"{at}.action", action, _quoted(_ACTIONS)):
        if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            found.invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set")
        found.one_of(f"{at}.action", action, _ACTIONS)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        _check_exit_codes(found, f"{at}.onExitCodes", codes, spec)
    found.at_most(f"{at}.onPodConditions", conditions, _RULES_MAX)
    for where, pattern in items(conditions, f"{at}.onPodConditions"):
        found.name(f"{where}.type", pattern.get("type") or "", names.qualified_name)
        found.one_of(f"{where}.status", pattern.get("status"), ("False", "True", "Unknown"))
    if codes is not None and conditions:
        _plain_invalid(
            found, at, "specifying both OnExitCodes and OnPodConditions is not supported"
        )
    elif codes is None and not conditions:
        _plain_invalid(found, at, "specifying one of OnExitCodes and OnPodConditions is required")


def _plain_invalid(found: Findings, at: str, why: str) -> None:
    """Kubernetes prints no value here: it would be the whole rule."""
    found.append(FieldError(at, Reason.INVALID, f"Invalid value: {why}"))


def _quoted(values: tuple[str, ...]) -> str:
    """A list as Go prints it."""
    return "valid values: [" + " ".join(f'"{value}"' for value in values) + "]"


def _check_exit_codes(found: Findings, at: str, codes: Json, spec: Json) -> None:
    operator, values = codes.get("operator") or "", codes.get("values") or []
    if found.require(f"{at}.operator", operator, _quoted(_OPERATORS)):
        found.one_of(f"{at}.operator", operator, _OPERATORS)
    name = codes.get("containerName")
    pod = (spec.get("template") or {}).get("spec") or {}
    known = [
        container.get("name")
        for key in ("containers", "initContainers")
        for container in pod.get(key) or ()
    ]
    if name is not None and name not in known:
        found.invalid(
            f"{at}.containerName",
            name,
            "must be one of the container or initContainer names in the pod template",
        )
    if not values:
        found.invalid(f"{at}.values", [], "at least one value is required")
    found.at_most(f"{at}.values", values, _CODES_MAX)
    for where, value, is_repeated in repeats(values, f"{at}.values"):
        if operator == "In" and value == 0:
            found.invalid(where, value, "must not be 0 for the In operator")
        if is_repeated:
            found.duplicate(where, value)
    if values != sorted(values):
        found.invalid(f"{at}.values", values, "must be ordered")


def check_success_policy(found: Findings, at: str, policy: Json, spec: Json) -> None:
    rules = policy.get("rules") or []
    if spec.get("completionMode") != "Indexed":
        printed = {
            "Rules": [
                {
                    "SucceededIndexes": rule.get("succeededIndexes"),
                    "SucceededCount": rule.get("succeededCount"),
                }
                for rule in rules
            ]
        }
        found.invalid(at, printed, "requires indexed completion mode")
        return
    found.require(
        f"{at}.rules",
        rules,
        "at least one rules must be specified when the successPolicy is specified",
    )
    found.at_most(f"{at}.rules", rules, _RULES_MAX)
    for where, rule in items(rules, f"{at}.rules"):
        _check_success_rule(found, where, rule, spec.get("completions") or 0)


def _check_success_rule(found: Findings, at: str, rule: Json, completions: int) -> None:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        found.require(
            at, None, "at least one of succeededCount or succeededIndexes must be specified"
        )
    total, place = 0, f"{at}.succeededCount"
    if indexes is not None:
        try:
            total = count_indexes(indexes, completions)
        except ValueError as problem:
            why = f"error parsing succeededIndexes: {problem}"
            found.invalid(f"{at}.succeededIndexes", indexes, why)
    found.not_negative(place, count)
    if count is not None and count > completions:
        limit = f"{completions} (the number of specified completions)"
        found.invalid(place, count, f"must be less than or equal to {limit}")
    if count is not None and indexes is not None and count > total:
        limit = f"{total} (the number of indexes in the specified succeededIndexes field)"
        found.invalid(place, count, f"must be less than or equal to {limit}")


def count_indexes(text: str, completions: int) -> int:
    """How many indexes ``1-3,5`` names. Raises ValueError with Kubernetes' reason."""
    if not text:
        return 0
    total, last = 0, -1
    for part in text.split(","):
        low, high = _interval(part, completions)
        if low <= last:
            raise ValueError(f"non-increasing order, previous: {last}, current: {low}")
        total, last = total + high - low + 1, high
    return total


def _interval(part: str, completions: int) -> tuple[int, int]:
    bounds = part.split("-")
    if len(bounds) > 2:
        raise ValueError(
            f'the fragment "{part}" violates the requirement that an index interval can have at '
            "most two parts separated by '-'"
        )
    numbers = []
    for bound in bounds:
        if not (bound.isascii() and bound.isdecimal()):
            raise ValueError(f'cannot convert string to integer for index: "{bound}"')
        if len(bound) > _DIGITS_MAX or int(bound) >= completions:
            raise ValueError(f'too large index: "{bound}"')
        numbers.append(int(bound))
    low, high = numbers[0], numbers[-1]
    if len(bounds) == 2 and low >= high:
        raise ValueError(f"non-increasing order, previous: {low}, current: {high}")
    return low, high


def first_common_index(one: str, other: str, completions: int) -> int | None:
    """The first index both texts name; intervals that do not parse are passed over."""
    left, right = _intervals(one, completions), _intervals(other, completions)
    position, place = 0, 0
    while position < len(left) and place < len(right):
        (low, high), (from_, to) = left[position], right[place]
        if low <= to and from_ <= high:
            return max(low, from_)
        if low <= from_:
            position += 1
        else:
            place += 1
    return None


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(_interval(part, completions))
        except ValueError:
            continue  # the format is refused elsewhere
    return found

"""Which requests an admission webhook or policy gets."""

from __future__ import annotations

from proreus.api.group_version import GroupResource
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.expressions import check_condition
from proreus.server.kinds.parts.findings import Findings, items

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_CONDITIONS_MAX = 64
# Reviews are questions, not objects: they pass no admission, and rules that name them do nothing.
REVIEWS = frozenset(
    GroupResource(group, name)
    for group, names_of_group in (
        ("authentication.k8s.io", ("selfsubjectreviews", "tokenreviews")),
        ("authorization.k8s.io", ("localsubjectaccessreviews", "selfsubjectaccessreviews",
                                  "selfsubjectrulesreviews", "subjectaccessreviews")),
    )
    for name in names_of_group
)  # fmt: skip


def default_rule(rule: JsonObject) -> None:
    rule.setdefault("scope", "*")


def ineffective_rules(at: str, rules: list[Json] | None) -> list[str]:
    """Warnings of rules that name reviews. A star may mean everything else."""
    return [
        f"{where}: {resource} is excluded from admission webhooks; this rule will have no effect"
        for where, rule in items(rules, at)
        for resource in _named_reviews(rule.get("apiGroups") or [], rule.get("resources") or [])
    ]


def _named_reviews(groups: list[str], resources: list[str]) -> list[GroupResource]:
    if "*" in groups or "*" in resources:
        return []
    named = dict.fromkeys(GroupResource(group, name) for group in groups for name in resources)
    return [resource for resource in named if resource in REVIEWS]


def check_rule(found: Findings, at: str, rule: Json) -> None:
    """Operations, groups, versions, resources and scope of the requests that match."""
    operations = rule.get("operations") or []
    found.require(f"{at}.operations", operations)
    if len(operations) > 1 and "*" in operations:
        why = "if '*' is present, must not specify other operations"
        found.invalid(f"{at}.operations", operations, why)
    for where, operation in items(operations, f"{at}.operations"):
        found.one_of(where, operation, _OPERATIONS)
    for key, other in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(key) or []
        found.require(f"{at}.{key}", values)
        if len(values) > 1 and "*" in values:
            found.invalid(
                f"{at}.{key}", values, f"if '*' is present, must not specify other {other}"
            )
    for where, version in items(rule.get("apiVersions"), f"{at}.apiVersions"):
        found.require(where, version)
    _check_resources(found, f"{at}.resources", rule.get("resources") or [])
    found.one_of(f"{at}.scope", rule.get("scope"), _SCOPES)


def _check_resources(found: Findings, at: str, resources: list[str]) -> None:
    found.require(at, resources)
    whole: set[str] = set()  # resources with all subresources, and subresources of all resources
    for where, name in items(resources, at):
        resource, slash, part = name.partition("/")
        found.require(where, name)
        if not slash:
            continue
        for pattern in (f"{resource}/*", f"*/{part}"):
            if pattern in whole:
                why = f"if '{pattern}' is present, must not specify {name}"
                found.invalid(where, name, why)
        if "*" in (resource, part):
            whole.add(name)
    if "*/*" in resources and len(resources) > 1:
        found.invalid(at, resources, "if '*/*' is present, must not specify other resources")
    plain = [name for name in resources if name and "/" not in name]
    if "*" in plain and plain[-1] != "*":  # only the last one is looked at, as in Kubernetes
        why = "if '*' is present, must not specify other resources without subresources"
        found.invalid(at, resources, why)


def check_match_conditions(
    found: Findings, at: str, conditions: list[Json] | None, *, has_params: bool = False
) -> None:
    seen: set[str] = set()
    found.at_most(at, conditions, _CONDITIONS_MAX)
    for where, condition in items(conditions, at):
        name = condition.get("name") or ""
        text, place = (condition.get("expression") or "").strip(), f"{where}.expression"
        if found.require(place, text):
            check_condition(found, place, text, has_params=has_params)
        if found.require(f"{where}.name", name):
            found.name(f"{where}.name", name, names.qualified_name)
            if name in seen:
                found.duplicate(f"{where}.name", name)
            seen.add(name)

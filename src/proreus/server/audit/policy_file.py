"""The policy file: YAML → ``Policy``, or one sentence that names the file and the field."""

from __future__ import annotations

from pathlib import Path

from proreus.aio.clock import Clock
from proreus.api import field_error
from proreus.api.values.names import dns_subdomain
from proreus.server.audit.policy import AuditRule, GroupResources, Level, Policy, Recording, Stage
from proreus.server.config_files.fields import ConfigFields, ConfigFileInvalid, decode_config
from proreus.server.config_files.followed_file import FollowedFile, Reloads

API_VERSION = "audit.k8s.io/v1"
_POLICY_FIELDS = frozenset({"metadata", "rules", "omitStages", "omitManagedFields"})
_RULE_FIELDS = frozenset(
    {"level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs"}
    | {"omitStages", "omitManagedFields"}
)
_GROUP_FIELDS = frozenset({"group", "resources", "resourceNames"})


def follow_policy(path: Path, reloads: Reloads, clock: Clock) -> FollowedFile[Policy]:
    """Raises ConfigFileInvalid."""
    return FollowedFile(path, "audit policy", parse_policy, reloads, clock)


def parse_policy(text: bytes) -> Policy:
    """Raises ConfigFileInvalid."""
    fields = decode_config(text, {API_VERSION}, "Policy", _POLICY_FIELDS)
    omitted = fields.choices("omitStages", Stage)
    without_managed = fields.flag("omitManagedFields") or False
    rules = [_rule(each, omitted, without_managed) for each in fields.each("rules", _RULE_FIELDS)]
    if not rules:
        fault = field_error.required("rules", "a policy has at least one rule")
        raise ConfigFileInvalid.of(fault)
    return Policy(rules)


def _rule(fields: ConfigFields, omitted: frozenset[Stage], without_managed: bool) -> AuditRule:
    managed = fields.flag("omitManagedFields")
    recording = Recording(
        fields.choice("level", Level),
        omitted | fields.choices("omitStages", Stage),
        without_managed if managed is None else managed,
    )
    rule = AuditRule(
        recording=recording,
        users=frozenset(fields.strings("users")),
        user_groups=frozenset(fields.strings("userGroups")),
        verbs=frozenset(fields.strings("verbs")),
        namespaces=frozenset(fields.strings("namespaces")),
        resources=tuple(map(_group, fields.each("resources", _GROUP_FIELDS))),
        non_resource_urls=_urls(fields),
    )
    if rule.non_resource_urls and (rule.resources or rule.namespaces):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        where = fields.path("nonResourceURLs")
        raise ConfigFileInvalid.of(field_error.invalid(where, list(rule.non_resource_urls), why))
    return rule


def _group(fields: ConfigFields) -> GroupResources:
    group = fields.string("group")
    if group not in ("", "*") and (faults := dns_subdomain(group)):
        raise ConfigFileInvalid.of(
            field_error.invalid(fields.path("group"), group, ",".join(faults))
        )
    resources, names = fields.strings("resources"), fields.strings("resourceNames")
    if names and not resources:
        why = "using resourceNames requires at least one resource"
        raise ConfigFileInvalid.of(
            field_error.invalid(fields.path("resourceNames"), list(names), why)
        )
    return GroupResources(group, resources, frozenset(names))


def _urls(fields: ConfigFields) -> tuple[str, ...]:
    urls = fields.strings("nonResourceURLs")
    for number, url in enumerate(urls):
        why = ""
        if url != "*" and not url.startswith("/"):
            why = "non-resource URL rules must begin with a '/' character"
        elif "*" in url[:-1]:
            why = "non-resource URL wildcards '*' must be the final character of the rule"
        if why:
            raise ConfigFileInvalid.of(
                field_error.invalid(fields.path(f"nonResourceURLs[{number}]"), url, why)
            )
    return urls

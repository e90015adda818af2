"""FlowSchema: which requests belong to which priority level."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, condition, name_of, number
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.flow_control import SCHEMA_KIND, check_conditions, fixed_specs
from proreus.server.resource import Cells, Generation, Lifecycle, Names, Printer, Resource, Rules

_PRECEDENCE = 1000
_PRECEDENCE_MAX = 10000
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_VERBS = frozenset({"get", "list", "create", "update", "delete", "deletecollection", "patch",
                    "watch", "proxy"})  # fmt: skip
_NAMESPACES = "each member of this list must be '*' or a DNS-1123 label; "


def _default(obj: JsonObject) -> None:
    if not obj["spec"].get("matchingPrecedence"):
        obj["spec"]["matchingPrecedence"] = _PRECEDENCE


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    name = obj["metadata"].get("name") or ""
    _check_spec(found, name, spec)
    if (fixed := fixed_specs(SCHEMA_KIND).get(name)) is not None and spec != fixed:
        found.invalid("spec", _as_go(spec), f"spec of '{name}' must equal the fixed value")
    return found


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    check_conditions(found, new)
    return found


def _check_spec(found: Findings, name: str, spec: Json) -> None:
    precedence = spec.get("matchingPrecedence") or 0
    at = "spec.matchingPrecedence"
    if precedence <= 0:
        found.invalid(at, precedence, "must be a positive value")
    if precedence > _PRECEDENCE_MAX:
        found.invalid(at, precedence, f"must not be greater than {_PRECEDENCE_MAX}")
    if precedence == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        found.invalid(at, precedence, why)
    if (method := spec.get("distinguisherMethod")) is not None:
        kinds = ("ByNamespace", "ByUser")
        if method.get("type") not in kinds:
            printed = {"Type": method.get("type") or ""}
            found.append(field_error.not_supported("spec.distinguisherMethod.type", printed, kinds))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name")
    at = "spec.priorityLevelConfiguration.name"
    if found.require(at, level, "must reference a priority level"):
        found.name(at, level)
    for where, rule in items(spec.get("rules"), "spec.rules"):
        _check_rule(found, where, rule)


def _as_go(spec: Json) -> JsonObject:
    """The fields of Kubernetes' own type, which its message prints."""
    method = spec.get("distinguisherMethod")
    level = spec.get("priorityLevelConfiguration") or {}
    return {
        "PriorityLevelConfiguration": {"Name": level.get("name") or ""},
        "MatchingPrecedence": spec.get("matchingPrecedence") or 0,
        "DistinguisherMethod": method and {"Type": method.get("type") or ""},
        "Rules": [
            {
                "Subjects": [_subject_as_go(each) for each in rule.get("subjects") or ()],
                "ResourceRules": [
                    {
                        "Verbs": each.get("verbs"),
                        "APIGroups": each.get("apiGroups"),
                        "Resources": each.get("resources"),
                        "ClusterScope": bool(each.get("clusterScope")),
                        "Namespaces": each.get("namespaces"),
                    }
                    for each in rule.get("resourceRules") or ()
                ]
                or None,
                "NonResourceRules": [
                    {"Verbs": each.get("verbs"), "NonResourceURLs": each.get("nonResourceURLs")}
                    for each in rule.get("nonResourceRules") or ()
                ]
                or None,
            }
            for rule in spec.get("rules") or ()
        ]
        or None,
    }


def _subject_as_go(subject: Json) -> JsonObject:
    found: JsonObject = {"Kind": subject.get("kind") or ""}
    for key, of in (("User", "user"), ("Group", "group"), ("ServiceAccount", "serviceAccount")):
        part = subject.get(of)
        if part is not None and key == "ServiceAccount":
            found[key] = {"Namespace": part.get("namespace"), "Name": part.get("name")}
        else:
            found[key] = part and {"Name": part.get("name")}
    return found


def _check_rule(found: Findings, at: str, rule: Json) -> None:
    subjects = rule.get("subjects")
    found.require(f"{at}.subjects", subjects, "subjects must contain at least one value")
    for where, subject in items(subjects, f"{at}.subjects"):
        _check_subject(found, where, subject)
    resource_rules, url_rules = rule.get("resourceRules"), rule.get("nonResourceRules")
    if not resource_rules and not url_rules:
        found.require(
            at, None, "at least one of resourceRules and nonResourceRules has to be non-empty"
        )
    for where, entry in items(resource_rules, f"{at}.resourceRules"):
        _check_resource_rule(found, where, entry)
    for where, entry in items(url_rules, f"{at}.nonResourceRules"):
        _check_verbs(found, f"{where}.verbs", entry.get("verbs"))
        _check_urls(found, f"{where}.nonResourceURLs", entry.get("nonResourceURLs"))


def _check_subject(found: Findings, at: str, subject: Json) -> None:
    kind = subject.get("kind") or ""
    key = _SUBJECTS.get(kind)
    if key is None:
        found.one_of(f"{at}.kind", kind, ("Group", "ServiceAccount", "User"))
        return
    part, where = subject.get(key), f"{at}.{key}"
    if part is None:
        found.require(where, None, f"{key} is required when subject kind is '{kind}'")
    else:
        found.require(f"{where}.name", part.get("name"))
    if part is not None and key == "serviceAccount":
        if part.get("name") not in (None, "", "*"):
            found.name(f"{where}.name", part["name"])
        why = "must specify namespace for service account"
        if found.require(f"{where}.namespace", part.get("namespace"), why):
            found.name(f"{where}.namespace", part["namespace"], names.dns_label)
    for other_kind, other in _SUBJECTS.items():
        if other != key and subject.get(other) is not None:
            why = f"{other} is forbidden when subject kind is not '{other_kind}'"
            found.forbid(f"{at}.{other}", why)


def _check_verbs(found: Findings, at: str, verbs: list[str] | None) -> None:
    if not found.require(at, verbs, "verbs must contain at least one value"):
        return
    if "*" in (verbs or ()):
        _check_alone(found, at, verbs, "verbs")
    elif not _VERBS.issuperset(verbs or ()):
        found.append(field_error.not_supported(at, verbs, sorted(_VERBS)))


def _check_alone(found: Findings, at: str, values: list[str] | None, others: str) -> None:
    """A wildcard may not be combined with other values."""
    if values and len(values) > 1 and "*" in values:
        found.invalid(at, values, f"if '*' is present, must not specify other {others}")


def _check_urls(found: Findings, at: str, urls: list[str] | None) -> None:
    if not found.require(at, urls, "nonResourceURLs must contain at least one value"):
        return
    _check_alone(found, at, urls, "non-resource URLs")
    for where, url in items(None if "*" in (urls or ()) else urls, at):
        if why := _fault_of_url(url):
            found.invalid(where, url, why)


def _fault_of_url(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    is_odd = stars > 1 or (stars == 1 and not url.endswith("/*"))
    return "wildcard can only do suffix matching" if is_odd else ""


def _check_resource_rule(found: Findings, at: str, rule: Json) -> None:
    _check_verbs(found, f"{at}.verbs", rule.get("verbs"))
    for key, one, others in (
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ):
        found.require(
            f"{at}.{key}", rule.get(key), f"resource rules must supply at least one {one}"
        )
        _check_alone(found, f"{at}.{key}", rule.get(key), others)
    namespaces, where = rule.get("namespaces") or [], f"{at}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        found.require(where, None, why)
    _check_alone(found, where, namespaces, "namespaces")
    for place, namespace in items(None if "*" in namespaces else namespaces, where):
        for why in names.dns_label(namespace):
            found.invalid(place, namespace, f"{_NAMESPACES}{why}")


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    dangling = condition(obj, "Dangling")
    method = spec.get("distinguisherMethod")
    return [
        name_of(obj),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        number(spec.get("matchingPrecedence")),
        method.get("type", "") if method else "<none>",
        age(obj, now),
        "?" if dangling is None else str(dangling.get("status", "")),
    ]


def _by_precedence(obj: Json) -> tuple[int, str]:
    return number((obj.get("spec") or {}).get("matchingPrecedence")), name_of(obj)


_PRINTER = Printer.of(
    _fill, "Name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age",
    "MissingPL", order=_by_precedence,
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas"),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(generation=Generation(), status_keeps_metadata=True),
        rules=Rules(default=_default, validate=_validate, validate_status=_validate_status),
        printer=_PRINTER,
    ),
)

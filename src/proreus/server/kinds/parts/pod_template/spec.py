"""Validation of pod specs, in pods and in templates alike."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.annotations import check_annotations
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.container_security import (
    check_operating_system,
    check_pod_security,
)
from proreus.server.kinds.parts.pod_template.containers import (
    check_containers,
    check_host_network,
)
from proreus.server.kinds.parts.pod_template.environment import check_file_volumes
from proreus.server.kinds.parts.pod_template.pod_annotations import (
    check_fields_match,
    check_pod_annotations,
)
from proreus.server.kinds.parts.pod_template.pod_resources import check_pod_resources
from proreus.server.kinds.parts.pod_template.scheduling import (
    check_affinity,
    check_spread,
    check_tolerations,
)
from proreus.server.kinds.parts.pod_template.volumes import check_volumes
from proreus.server.kinds.parts.pod_template.windows_options import check_host_processes
from proreus.server.kinds.parts.resources import check_overhead
from proreus.server.kinds.parts.validation_cache import POD_SPECS, cache_valid

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32_MAX = 2**31 - 1
_HOSTNAME_MAX = 64  # what the kernel holds
_NAMESERVERS_MAX = 3
_SEARCHES_MAX = 32
_SEARCH_CHARS_MAX = 2048


def check_pod_template(found: Findings, at: str, template: Json) -> None:
    check_template_metadata(found, at, template)
    spec = template.get("spec") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    check_pod_annotations(found, f"{at}.annotations", annotations, spec)
    check_pod_spec(found, f"{at}.spec", spec)
    check_fields_match(found, f"{at}.spec", annotations, spec)
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        found.forbid(f"{at}.spec.ephemeralContainers", why)


def check_template_metadata(found: Findings, at: str, template: Json) -> None:
    metadata = template.get("metadata") or {}
    found.labels(f"{at}.labels", metadata.get("labels"))
    check_annotations(found, f"{at}.annotations", metadata.get("annotations"))


def check_every_rule(found: Findings, at: str, spec: Json) -> None:
    volumes = check_volumes(found, f"{at}.volumes", spec.get("volumes"))
    _check_resource_claims(found, f"{at}.resourceClaims", spec.get("resourceClaims"))
    check_containers(found, at, spec, volumes)
    check_pod_resources(found, at, spec)
    check_host_network(found, at, spec)
    found.one_of(f"{at}.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES)
    found.one_of(f"{at}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    found.labels(f"{at}.nodeSelector", spec.get("nodeSelector"))
    check_pod_security(found, at, spec)
    check_affinity(found, f"{at}.affinity", spec.get("affinity"))
    _check_dns_config(found, at, spec)
    for where, gate in items(spec.get("readinessGates"), f"{at}.readinessGates"):
        found.name(f"{where}.conditionType", gate.get("conditionType") or "", names.qualified_name)
    _check_scheduling_gates(found, f"{at}.schedulingGates", spec.get("schedulingGates"))
    check_spread(found, f"{at}.topologySpreadConstraints", spec.get("topologySpreadConstraints"))
    check_host_processes(found, at, spec)
    _check_host_users(found, at, spec)
    _check_hostname_override(found, at, spec)
    _check_references(found, at, spec)
    check_tolerations(found, f"{at}.tolerations", spec.get("tolerations"))
    _check_host_aliases(found, f"{at}.hostAliases", spec.get("hostAliases"))
    if spec.get("priorityClassName"):
        found.name(f"{at}.priorityClassName", spec["priorityClassName"])
    found.name(f"{at}.runtimeClassName", spec.get("runtimeClassName"))
    if (preemption := spec.get("preemptionPolicy")) is not None:
        found.required_one_of(
            f"{at}.preemptionPolicy", preemption, ("PreemptLowerPriority", "Never")
        )
    if spec.get("overhead") is not None:
        check_overhead(found, f"{at}.overhead", spec["overhead"])
    check_operating_system(found, at, spec)
    check_file_volumes(found, at, spec)


_check_unless_known = cache_valid(check_every_rule, POD_SPECS)


def check_pod_spec(found: Findings, at: str, spec: Json) -> None:
    """The name of the node is checked each time: no other rule reads it."""
    check = _check_unless_known
    if (node := spec.get("nodeName")) and names.dns_subdomain(node):
        check = check_every_rule
    check(found, at, spec)


def _check_references(found: Findings, at: str, spec: Json) -> None:
    """Names of other things, and what the pod calls itself."""
    for key, rule in (
        ("serviceAccountName", names.dns_subdomain),
        ("nodeName", names.dns_subdomain),
    ):
        if spec.get(key):
            found.name(f"{at}.{key}", spec[key], rule)
    found.between(f"{at}.activeDeadlineSeconds", spec.get("activeDeadlineSeconds"), 1, _INT32_MAX)
    for key in ("hostname", "subdomain"):
        if spec.get(key):
            found.name(f"{at}.{key}", spec[key], names.dns_label)


def _check_resource_claims(found: Findings, at: str, claims: list[Json] | None) -> None:
    seen: set[str] = set()
    for where, claim in items(claims, at):
        name = claim.get("name") or ""
        direct, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if name in seen:
            found.duplicate(f"{where}.name", name)
        elif found.require(f"{where}.name", name):
            seen.add(name)
            found.name(f"{where}.name", name, names.dns_label)
        printed = {"Name": name, "ResourceClaimName": direct, "ResourceClaimTemplateName": template}
        if direct is not None and template is not None:
            why = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
            found.invalid(where, printed, why)
        elif direct is None and template is None:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            found.invalid(where, printed, why)
        found.name(f"{where}.resourceClaimName", direct)
        found.name(f"{where}.resourceClaimTemplateName", template)


def _check_dns_config(found: Findings, at: str, spec: Json) -> None:
    config, policy = spec.get("dnsConfig"), spec.get("dnsPolicy")
    at = f"{at}.dnsConfig"
    if policy == "None":
        if config is None:
            found.require(at, None, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            found.require(
                f"{at}.nameservers",
                None,
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            )
            return
    if config is None:
        return
    servers = config.get("nameservers") or []
    if len(servers) > _NAMESERVERS_MAX:
        why = f"must not have more than {_NAMESERVERS_MAX} nameservers"
        found.invalid(f"{at}.nameservers", servers, why)
    for where, server in items(servers, f"{at}.nameservers"):
        found.name(where, server, names.ip_address)
    searches = config.get("searches") or []
    if len(searches) > _SEARCHES_MAX:
        why = f"must not have more than {_SEARCHES_MAX} search paths"
        found.invalid(f"{at}.searches", searches, why)
    if len(" ".join(searches)) > _SEARCH_CHARS_MAX:
        why = (
            f"must not have more than {_SEARCH_CHARS_MAX} characters (including spaces) in the "
            "search list"
        )
        found.invalid(f"{at}.searches", searches, why)
    for where, search in items(searches, f"{at}.searches"):
        if search != ".":
            found.name(where, search.removesuffix("."), names.dns_subdomain_with_underscore)
    for where, option in items(config.get("options"), f"{at}.options"):
        found.require(where, option.get("name"), "must not be empty")


def _check_scheduling_gates(found: Findings, at: str, gates: list[Json] | None) -> None:
    seen: set[str] = set()
    for where, gate in items(gates, at):
        name = gate.get("name") or ""
        found.name(where, name, names.qualified_name)
        if name in seen:
            found.duplicate(where, name)
        seen.add(name)


def _check_host_users(found: Findings, at: str, spec: Json) -> None:
    if spec.get("hostUsers") is not False:
        return
    why = "when `hostUsers` is false"
    # Two of the three are spelled as the Go field is.
    for key, printed in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"),
                       ("hostIPC", "HostIPC")):  # fmt: skip
        if spec.get(key):
            found.forbid(f"{at}.{printed}", why)
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for where, container in items(spec.get(key), f"{at}.{key}"):
            if container.get("volumeDevices"):
                found.forbid(f"{where}.volumeDevices", why)


def _check_hostname_override(found: Findings, at: str, spec: Json) -> None:
    name, at = spec.get("hostnameOverride"), f"{at}.hostnameOverride"
    if name is None:
        return
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(key):
            found.forbid(at, f"may not be specified when {key} is true")
    if len(name) > _HOSTNAME_MAX:
        found.append(field_error.too_long(at, _HOSTNAME_MAX))
    found.name(at, name)


def _check_host_aliases(found: Findings, at: str, aliases: list[Json] | None) -> None:
    for where, alias in items(aliases, at):
        found.name(f"{where}.ip", alias.get("ip") or "", names.ip_address)
        for place, name in items(alias.get("hostnames"), f"{where}.hostnames"):
            found.name(place, name)

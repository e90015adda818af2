"""Environment variables of containers, and the pod's fields they may show."""

from __future__ import annotations

import re

from proreus.api.json_types import Json
from proreus.api.values import names, quantity
from proreus.server.kinds.parts.findings import Findings, items

ENV_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
               "metadata.uid")  # fmt: skip
RESOURCES = ("limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
             "requests.ephemeral-storage", "requests.memory")  # fmt: skip
_SELECTABLE = frozenset(
    {"metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName",
     "status.phase"}
) | frozenset(ENV_FIELDS)  # fmt: skip
_OLD_NAMES = {"spec.host": "spec.nodeName"}
_SUBSCRIPT = re.compile(r"([^\[]*)\['(.*)'\]")
_HUGE_PAGES = re.compile(r"(?:limits|requests)\.hugepages-.*")
_DIVISORS = {
    "cpu": ("1m", "1"),
    "memory": ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
}


def check_env(found: Findings, at: str, variables: list[Json] | None) -> None:
    for index, variable in enumerate(variables or ()):
        name, source = variable.get("name") or "", variable.get("valueFrom")
        problems = names.environment_variable(name)
        if not problems and source is None:
            continue  # nearly all of them: not even the path is made
        where = f"{at}[{index}]"
        if found.require(f"{where}.name", name):
            found.name(f"{where}.name", name, names.environment_variable)
        if source is not None:
            _check_value_from(found, f"{where}.valueFrom", source, variable.get("value"))


_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def _check_value_from(found: Findings, at: str, source: Json, value: str | None) -> None:
    given = [key for key in _SOURCES if source.get(key) is not None]
    if "fieldRef" in given:
        check_field_ref(found, f"{at}.fieldRef", source["fieldRef"], ENV_FIELDS)
    if "resourceFieldRef" in given:
        check_resource_ref(found, f"{at}.resourceFieldRef", source["resourceFieldRef"])
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in given:
            where, reference = f"{at}.{key}", source[key]
            found.name(f"{where}.name", reference.get("name") or "")
            if found.require(f"{where}.key", reference.get("key")):
                found.name(f"{where}.key", reference["key"], names.config_key)
    if "fileKeyRef" in given:
        _check_file_key(found, f"{at}.fileKeyRef", source["fileKeyRef"])
    if not given:
        wanted = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        found.invalid(at, "", f"must specify one of: {wanted}")
    elif value:
        found.invalid(at, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        found.invalid(at, "", "may not have more than one field specified at a time")


def _check_file_key(found: Findings, at: str, reference: Json) -> None:
    found.required_name(f"{at}.key", reference.get("key"), names.environment_variable)
    found.required_name(f"{at}.volumeName", reference.get("volumeName"), names.dns_label)
    path = reference.get("path") or ""
    if found.require(f"{at}.path", path) and ".." in path.split("/"):
        found.invalid(f"{at}.path", path, "must not contain '..'")


def check_file_volumes(found: Findings, at: str, spec: Json) -> None:
    """Files of variables are written by the pod itself, into an empty directory."""
    volumes = {volume.get("name"): volume for volume in spec.get("volumes") or ()}
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            for place, variable in enumerate(container.get("env") or ()):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if reference is None:
                    continue  # nearly all of them
                where = f"{at}.{key}[{index}].env[{place}].valueFrom.fileKeyRef.volumeName"
                name = reference.get("volumeName") or ""
                if name not in volumes:
                    found.not_found(where, name)
                elif volumes[name].get("emptyDir") is None:
                    found.invalid(where, name, "referenced volume must be of type emptyDir")


def check_field_ref(found: Findings, at: str, reference: Json, allowed: tuple[str, ...]) -> None:
    path, version = reference.get("fieldPath") or "", reference.get("apiVersion") or ""
    at_path = f"{at}.fieldPath"
    if not version:
        found.require(f"{at}.apiVersion", version)
        return
    if not found.require(at_path, path):
        return
    if fault := _fault_of_field(version, path):
        found.invalid(at_path, path, f"error converting fieldPath: {fault}")
    elif subscript := _SUBSCRIPT.fullmatch(path):
        key = subscript[2] if subscript[1] == "metadata.labels" else subscript[2].lower()
        found.name(at, key, names.qualified_name)
    else:
        found.one_of(at_path, _OLD_NAMES.get(path, path), allowed)


def _fault_of_field(version: str, path: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript := _SUBSCRIPT.fullmatch(path):
        if subscript[1] in ("metadata.labels", "metadata.annotations"):
            return ""
        return f"field label does not support subscript: {path}"
    if path in _SELECTABLE or path in _OLD_NAMES:
        return ""
    return f"field label not supported: {path}"


def check_resource_ref(
    found: Findings, at: str, reference: Json, *, in_volume: bool = False
) -> None:
    name = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        found.require(f"{at}.containerName", None)
    elif found.require(f"{at}.resource", name) and not _HUGE_PAGES.fullmatch(name):
        found.one_of(f"{at}.resource", name, RESOURCES)
    _check_divisor(found, at, name, reference.get("divisor") or "0")


def _check_divisor(found: Findings, at: str, name: str, divisor: str) -> None:
    if quantity.amount(divisor) == 0 or (name not in RESOURCES and not _HUGE_PAGES.match(name)):
        return
    kind = "cpu" if name.endswith(".cpu") else "memory"
    if divisor in _DIVISORS[kind]:
        return
    if kind == "cpu":
        why = "only divisor's values 1m and 1 are supported with the cpu resource"
    else:
        resource = name.partition(".")[2]
        resource = "hugepages" if resource.startswith("hugepages-") else resource
        resource = "local ephemeral storage" if resource == "ephemeral-storage" else resource
        why = (
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are "
            f"supported with the {resource} resource"
        )
    found.invalid(f"{at}.divisor", name, why)


def _name_or_prefix(name: str) -> list[str]:
    """Kubernetes judges these names as those that are generated from: a dash may end them."""
    is_prefix = len(name) > 1 and name.endswith("-")
    return names.dns_subdomain(f"{name[:-2]}a" if is_prefix else name)


def check_env_from(found: Findings, at: str, sources: list[Json] | None) -> None:
    for where, source in items(sources, at):
        if prefix := source.get("prefix"):
            found.name(f"{where}.prefix", prefix, names.environment_variable)
        given = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in given:
            found.required_name(f"{where}.{key}.name", source[key].get("name"), _name_or_prefix)
        if not given:
            found.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            found.invalid(at, "", "may not have more than one field specified at a time")

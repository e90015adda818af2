"""Security contexts of pods and containers, and what an operating system allows in them."""

from __future__ import annotations

import re
from typing import Any

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.mounts import check_relative_path
from proreus.server.kinds.parts.pod_template.windows_options import check_windows_options

_ID_MAX = 2**31 - 1
_SYSCTL_TEXT = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL = re.compile(_SYSCTL_TEXT, re.ASCII)
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROFILE_MAX = 4095  # the longest path of a file
_SHARED_SYSCTLS = (
    ("hostNetwork", ("net.",)),
    ("hostIPC", ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")),
)
_OPTIONAL = ("hostUsers", "shareProcessNamespace")  # false is something to say, too
_OF_SPEC = (*_OPTIONAL, "hostPID", "hostIPC")
# As Kubernetes prints its internal types: fields in their order, and what stands for no value.
_CONTEXT_FIELDS = {
    "capabilities": "Capabilities", "privileged": "Privileged",
    "seLinuxOptions": "SELinuxOptions", "windowsOptions": "WindowsOptions",
    "runAsUser": "RunAsUser", "runAsGroup": "RunAsGroup", "runAsNonRoot": "RunAsNonRoot",
    "readOnlyRootFilesystem": "ReadOnlyRootFilesystem",
    "allowPrivilegeEscalation": "AllowPrivilegeEscalation", "procMount": "ProcMount",
    "seccompProfile": "SeccompProfile", "appArmorProfile": "AppArmorProfile",
}  # fmt: skip
_PROFILE = {"type": "Type", "localhostProfile": "LocalhostProfile"}
_PART_FIELDS: dict[str, tuple[dict[str, str], str | None]] = {
    "Capabilities": ({"add": "Add", "drop": "Drop"}, None),
    "SELinuxOptions": ({"user": "User", "role": "Role", "type": "Type", "level": "Level"}, ""),
    "WindowsOptions": (
        {"gmsaCredentialSpecName": "GMSACredentialSpecName",
         "gmsaCredentialSpec": "GMSACredentialSpec", "runAsUserName": "RunAsUserName",
         "hostProcess": "HostProcess"}, None),
    "SeccompProfile": (_PROFILE, None),
    "AppArmorProfile": (_PROFILE, None),
}  # fmt: skip
_LINUX_POD = ("appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC",
              "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls",
              "shareProcessNamespace", "runAsUser", "runAsGroup", "supplementalGroups",
              "supplementalGroupsPolicy", "seLinuxChangePolicy")  # fmt: skip
_LINUX_CONTAINER = ("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
                    "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation",
                    "procMount", "runAsUser", "runAsGroup")  # fmt: skip
NOT_ON_WINDOWS = "cannot be set for a windows pod"


def check_pod_security(found: Findings, at: str, spec: Json) -> None:
    """``at`` is the pod spec's path."""
    context = spec.get("securityContext") or {}
    where = f"{at}.securityContext"
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        _check_id(found, f"{where}.{key}", context.get(key))
    for place, group in items(context.get("supplementalGroups"), f"{where}.supplementalGroups"):
        _check_id(found, place, group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        found.invalid(
            f"{at}.shareProcessNamespace",
            True,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        )
    _check_sysctls(found, f"{where}.sysctls", context.get("sysctls"), spec)
    found.one_of(
        f"{where}.fsGroupChangePolicy",
        context.get("fsGroupChangePolicy"),
        ("Always", "OnRootMismatch"),
    )
    _check_seccomp(found, f"{where}.seccompProfile", context.get("seccompProfile"))
    check_windows_options(found, f"{where}.windowsOptions", context.get("windowsOptions"))
    check_app_armor(found, f"{where}.appArmorProfile", context.get("appArmorProfile"))
    for key, allowed in (
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        found.one_of(f"{where}.{key}", context.get(key), allowed)


def check_security_context(found: Findings, at: str, context: Json | None, spec: Json) -> None:
    """Of one container; ``spec`` is its pod's."""
    if context is None:
        return
    for key in ("runAsUser", "runAsGroup"):
        _check_id(found, f"{at}.{key}", context.get(key))
    found.one_of(f"{at}.procMount", context.get("procMount"), ("Default", "Unmasked"))
    if context.get("procMount") == "Unmasked" and spec.get("hostUsers", True):
        found.invalid(f"{at}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    _check_seccomp(found, f"{at}.seccompProfile", context.get("seccompProfile"))
    _check_escalation(found, at, context)
    check_windows_options(found, f"{at}.windowsOptions", context.get("windowsOptions"))
    check_app_armor(found, f"{at}.appArmorProfile", context.get("appArmorProfile"))


def _check_escalation(found: Findings, at: str, context: Json) -> None:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    if context.get("privileged"):
        found.invalid(
            at,
            internal_context(context),
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        )
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        found.invalid(
            at,
            internal_context(context),
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        )


def internal_context(context: Json) -> dict[str, Any]:
    """The context as Kubernetes prints its internal form."""
    return {name: _internal_part(name, context.get(key)) for key, name in _CONTEXT_FIELDS.items()}


def _internal_part(name: str, value: Any) -> Any:
    fields, missing = _PART_FIELDS.get(name, ({}, None))
    if not fields or value is None:
        return value
    return {printed: value.get(key, missing) for key, printed in fields.items()}


def _check_id(found: Findings, at: str, value: int | None) -> None:
    found.between(at, value, 0, _ID_MAX)


def _check_sysctls(found: Findings, at: str, sysctls: list[Json] | None, spec: Json) -> None:
    seen: set[str] = set()
    for where, sysctl in items(sysctls, at):
        name, place = sysctl.get("name") or "", f"{where}.name"
        if found.require(place, name):
            if len(name) > 253 or not _SYSCTL.fullmatch(name):
                why = f"must have at most 253 characters and match regex {_SYSCTL_TEXT}"
                found.invalid(place, name, why)
            elif name in seen:
                found.duplicate(place, name)
        for key, prefixes in _SHARED_SYSCTLS:
            if spec.get(key) and name.replace("/", ".").startswith(prefixes):
                found.invalid(place, name, f"may not be specified when '{key}' is true")
        seen.add(name)


def _check_seccomp(found: Findings, at: str, profile: Json | None) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if found.require(f"{at}.type", kind, "type is required when seccompProfile is set"):
        found.one_of(f"{at}.type", kind, _PROFILES)
    at = f"{at}.localhostProfile"
    if kind != "Localhost":
        if local is not None:
            printed = {"Type": kind, "LocalhostProfile": local}
            found.invalid(at, printed, "can only be set when seccomp type is Localhost")
    elif local is None:
        found.require(at, local, "must be set when seccomp type is Localhost")
    else:
        check_relative_path(found, at, local)


def check_app_armor(found: Findings, at: str, profile: Json | None) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    place = f"{at}.localhostProfile"
    match kind:
        case "Localhost":
            if local and local != local.strip():
                found.invalid(place, local, "must not be padded with whitespace")
            else:
                found.require(place, local, "must be set when AppArmor type is Localhost")
            if len((local or "").encode()) > _PROFILE_MAX:
                found.append(field_error.too_long(place, _PROFILE_MAX))
        case "RuntimeDefault" | "Unconfined":
            if local is not None:
                found.invalid(place, local, "can only be set when AppArmor type is Localhost")
        case "":
            found.require(f"{at}.type", kind, "type is required when appArmorProfile is set")
        case _:
            found.one_of(f"{at}.type", kind, _PROFILES)


def check_operating_system(found: Findings, at: str, spec: Json) -> None:
    """What a pod says about its operating system rules out the other one's settings."""
    match (spec.get("os") or {}).get("name"):
        case None:
            return
        case "linux":
            _forbid_on_linux(found, at, spec)
        case "windows":
            _forbid_on_windows(found, at, spec)
        case "":
            found.require(f"{at}.os.name", "", "cannot be empty")
        case other:
            found.one_of(f"{at}.os", other, ("linux", "windows"))


def _forbid_on_linux(found: Findings, at: str, spec: Json) -> None:
    why = "windows options cannot be set for a linux pod"
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        found.forbid(f"{at}.securityContext.windowsOptions", why)
    for where, container in _containers(spec, at):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            found.forbid(f"{where}.securityContext.windowsOptions", why)


def _forbid_on_windows(found: Findings, at: str, spec: Json) -> None:
    context, where = spec.get("securityContext") or {}, f"{at}.securityContext"
    for key in _LINUX_POD:
        # Kubernetes looks at these together, though the host's are not of the context.
        place, value = (at, spec.get(key)) if key in _OF_SPEC else (where, context.get(key))
        if value is not None and (value is not False or key in _OPTIONAL):
            found.forbid(f"{place}.{key}", NOT_ON_WINDOWS)
    for where, container in _containers(spec, at):
        context = container.get("securityContext") or {}
        for key in _LINUX_CONTAINER:
            if context.get(key) is not None:
                found.forbid(f"{where}.securityContext.{key}", NOT_ON_WINDOWS)


def _containers(spec: Json, at: str) -> list[tuple[str, Json]]:
    return [
        entry
        for key in ("initContainers", "containers", "ephemeralContainers")
        for entry in items(spec.get(key), f"{at}.{key}")
    ]

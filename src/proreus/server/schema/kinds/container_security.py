"""Security contexts of pods and containers, and what an operating system allows in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from proreus.server.schema.kinds.findings import Findings, items

Json = Mapping[str, Any]
_ID_MAX = 2**31 - 1
_SYSCTL_TEXT = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL = re.compile(_SYSCTL_TEXT, re.ASCII)
_SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")
_LINUX_POD = ("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup",
              "fsGroupChangePolicy", "sysctls", "runAsUser", "runAsGroup", "supplementalGroups",
              "supplementalGroupsPolicy")  # fmt: skip
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
    for place, sysctl in items(context.get("sysctls"), f"{where}.sysctls"):
        _check_sysctl(found, f"{place}.name", sysctl.get("name") or "")
    found.unique(f"{where}.sysctls", [s.get("name") for s in context.get("sysctls") or ()])
    found.one_of(
        f"{where}.fsGroupChangePolicy",
        context.get("fsGroupChangePolicy"),
        ("Always", "OnRootMismatch"),
    )
    _check_profiles(found, where, context)
    _check_windows(found, f"{where}.windowsOptions", context.get("windowsOptions"))
    found.one_of(
        f"{where}.supplementalGroupsPolicy",
        context.get("supplementalGroupsPolicy"),
        ("Merge", "Strict"),
    )


def check_security_context(found: Findings, at: str, context: Json | None, spec: Json) -> None:
    """Of one container; ``spec`` is its pod's."""
    if context is None:
        return
    for key in ("runAsUser", "runAsGroup"):
        _check_id(found, f"{at}.{key}", context.get(key))
    found.one_of(f"{at}.procMount", context.get("procMount"), ("Default", "Unmasked"))
    if context.get("procMount") == "Unmasked" and spec.get("hostUsers", True):
        found.invalid(f"{at}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    _check_profiles(found, at, context)
    _check_escalation(found, at, context)
    _check_windows(found, f"{at}.windowsOptions", context.get("windowsOptions"))


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
    capabilities = context.get("capabilities")
    shown = ("privileged", "seLinuxOptions", "windowsOptions", "runAsUser", "runAsGroup",
             "runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "procMount",
             "seccompProfile", "appArmorProfile")  # fmt: skip
    result: dict[str, Any] = {
        "Capabilities": capabilities
        and {"Add": capabilities.get("add"), "Drop": capabilities.get("drop")}
    }
    for key in shown:
        title = key.replace("seLinux", "SELinux")
        result[title[0].upper() + title[1:]] = context.get(key)
    return result


def _check_id(found: Findings, at: str, value: int | None) -> None:
    found.between(at, value, 0, _ID_MAX)


def _check_sysctl(found: Findings, at: str, name: str) -> None:
    if found.require(at, name) and (len(name) > 253 or not _SYSCTL.fullmatch(name)):
        found.invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL_TEXT}")


def _check_profiles(found: Findings, at: str, context: Json) -> None:
    if (profile := context.get("seccompProfile")) is not None:
        _check_profile(found, f"{at}.seccompProfile", profile, "seccomp")
    if (profile := context.get("appArmorProfile")) is not None:
        _check_profile(found, f"{at}.appArmorProfile", profile, "AppArmor")


def _check_profile(found: Findings, at: str, profile: Json, system: str) -> None:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    field = at.rpartition(".")[2]
    if not kind:
        found.require(f"{at}.type", kind, f"type is required when {field} is set")
        return
    if kind == "Localhost":
        found.require(
            f"{at}.localhostProfile", local, f"must be set when {system} type is Localhost"
        )
        if local and system == "seccomp" and (local.startswith("/") or ".." in local.split("/")):
            found.invalid(f"{at}.localhostProfile", local, "must be a relative path")
    elif local is not None:
        shown: object = {"Type": kind, "LocalhostProfile": local} if system == "seccomp" else local
        found.invalid(
            f"{at}.localhostProfile", shown, f"can only be set when {system} type is Localhost"
        )
    found.one_of(f"{at}.type", kind, _SECCOMP)


def _check_windows(found: Findings, at: str, options: Json | None) -> None:
    if options is None or (name := options.get("runAsUserName")) is None:
        return
    if not name:
        found.invalid(f"{at}.runAsUserName", name, "runAsUserName cannot be an empty string")


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
            found.require(f"{at}.os.name", "")
        case other:
            found.one_of(f"{at}.os.name", other, ("linux", "windows"))


def _forbid_on_linux(found: Findings, at: str, spec: Json) -> None:
    why = "windows options cannot be set for a linux pod"
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        found.forbid(f"{at}.securityContext.windowsOptions", why)
    for where, container in _containers(spec, at):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            found.forbid(f"{where}.securityContext.windowsOptions", why)


def _forbid_on_windows(found: Findings, at: str, spec: Json) -> None:
    for key in ("hostPID", "hostIPC"):
        if spec.get(key):
            found.forbid(f"{at}.{key}", NOT_ON_WINDOWS)
    if spec.get("hostUsers") is not None:
        found.forbid(f"{at}.hostUsers", NOT_ON_WINDOWS)
    if spec.get("shareProcessNamespace") is not None:
        found.forbid(f"{at}.shareProcessNamespace", NOT_ON_WINDOWS)
    _forbid_all(found, f"{at}.securityContext", spec.get("securityContext"), _LINUX_POD)
    for where, container in _containers(spec, at):
        context = container.get("securityContext")
        _forbid_all(found, f"{where}.securityContext", context, _LINUX_CONTAINER)


def _forbid_all(found: Findings, at: str, context: Json | None, keys: tuple[str, ...]) -> None:
    for key in keys:
        if (context or {}).get(key) is not None:
            found.forbid(f"{at}.{key}", NOT_ON_WINDOWS)


def _containers(spec: Json, at: str) -> list[tuple[str, Json]]:
    return [
        entry
        for key in ("containers", "initContainers", "ephemeralContainers")
        for entry in items(spec.get(key), f"{at}.{key}")
    ]

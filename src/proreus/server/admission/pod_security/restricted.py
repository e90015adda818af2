"""The checks of the level restricted: a pod must set what hardens it."""

from __future__ import annotations

from proreus.server.admission.pod_security.baseline import seccomp_1_19
from proreus.server.admission.pod_security.violation import (
    Check,
    CheckedContainer,
    Pod,
    Violation,
    added_capabilities,
    containers_named,
    counted,
    names_where,
    quoted,
    setters_where,
)

_ADDABLE = frozenset({"NET_BIND_SERVICE"})
_VOLUMES = frozenset(
    {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
     "projected", "secret"}
)  # fmt: skip
# In the order in which Kubernetes looks for the type to name.
_RESTRICTED_VOLUMES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi",
    "glusterfs", "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile",
    "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO",
    "storageos",
)  # fmt: skip


def but_windows(check: Check) -> Check:
    """What means nothing on Windows is not asked of pods that run there."""
    return lambda pod: None if pod.is_windows else check(pod)


def but_own_users(check: Check) -> Check:
    return lambda pod: None if pod.has_own_users else check(pod)


def privilege_escalation(pod: Pod) -> Violation | None:
    names = names_where(pod, lambda c: c.security.get("allowPrivilegeEscalation") is not False)
    if not names:
        return None
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{containers_named(names)} must set securityContext.allowPrivilegeEscalation=false",
    )


def capabilities(pod: Pod) -> Violation | None:
    def keeps(container: CheckedContainer) -> bool:
        return "ALL" not in ((container.security.get("capabilities") or {}).get("drop") or ())

    details = []
    if names := names_where(pod, keeps):
        details.append(
            f'{containers_named(names)} must set securityContext.capabilities.drop=["ALL"]'
        )
    if added := added_capabilities(pod, _ADDABLE):
        details.append(added)
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def volumes(pod: Pod) -> Violation | None:
    names: list[str] = []
    kinds: set[str] = set()
    for volume in pod.spec.get("volumes") or ():
        given = {key for key, value in volume.items() if value is not None}
        if given & _VOLUMES:
            continue
        names.append(volume.get("name") or "")
        kinds.add(next((kind for kind in _RESTRICTED_VOLUMES if kind in given), "unknown"))
    if not names:
        return None
    listed = sorted(kinds)
    verb = "uses" if len(names) == 1 else "use"
    what = counted("restricted volume type", listed)
    return Violation(
        "restricted volume types",
        f"{counted('volume', names)} {quoted(names)} {verb} {what} {quoted(listed)}",
    )


def run_as_non_root(pod: Pod) -> Violation | None:
    of_pod = pod.security.get("runAsNonRoot")
    if who := setters_where(pod, lambda security: security.get("runAsNonRoot") is False):
        return Violation(
            "runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false"
        )
    silent = names_where(pod, lambda c: c.security.get("runAsNonRoot") is None)
    if of_pod or not silent:
        return None
    return Violation(
        "runAsNonRoot != true",
        f"pod or {containers_named(silent)} must set securityContext.runAsNonRoot=true",
    )


def run_as_user(pod: Pod) -> Violation | None:
    who = setters_where(pod, lambda security: security.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def seccomp(pod: Pod) -> Violation | None:
    if (bad := seccomp_1_19(pod)) is not None:
        return bad
    silent = names_where(pod, lambda c: c.security.get("seccompProfile") is None)
    if pod.security.get("seccompProfile") is not None or not silent:
        return None
    return Violation(
        "seccompProfile",
        f"pod or {containers_named(silent)} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost"',
    )

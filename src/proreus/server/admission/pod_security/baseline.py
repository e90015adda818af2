"""The checks of the level baseline: no setting that is known to break a container's isolation."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.go_text import quoted as go_quoted
from proreus.api.json_types import Json
from proreus.server.admission.pod_security.violation import (
    Check,
    CheckedContainer,
    Pod,
    Violation,
    added_capabilities,
    containers_named,
    containers_with,
    counted,
    names_where,
    profile_setters,
    quoted,
    setters_where,
)

_ADDABLE = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
     "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)  # fmt: skip
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SELINUX_1_0 = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
SELINUX_1_31 = SELINUX_1_0 | {"container_engine_t"}
SYSCTLS_1_0 = frozenset(
    {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
     "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"}
)  # fmt: skip
SYSCTLS_1_27 = SYSCTLS_1_0 | {"net.ipv4.ip_local_reserved_ports"}
SYSCTLS_1_29 = SYSCTLS_1_27 | {
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}  # fmt: skip
SYSCTLS_1_32 = SYSCTLS_1_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
SYSCTLS_1_37 = SYSCTLS_1_32 | {"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"}


def app_armor(pod: Pod) -> Violation | None:
    found, kinds = profile_setters(pod, "appArmorProfile")
    notes = sorted(
        f"{key}={go_quoted(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(_APPARMOR) and not _is_allowed_note(value)
    )
    who = " and ".join(filter(None, (found, counted("annotation", notes) if notes else "")))
    if not who:
        return None
    listed = [*kinds, *notes]
    return Violation(
        counted("forbidden AppArmor profile", listed),
        f"{who} must not set AppArmor profile type to {quoted(listed)}",
    )


def _is_allowed_note(value: str) -> bool:
    return value in ("", "runtime/default") or value.startswith("localhost/")


def capabilities(pod: Pod) -> Violation | None:
    detail = added_capabilities(pod, _ADDABLE)
    return Violation("non-default capabilities", detail) if detail else None


def host_namespaces(pod: Pod) -> Violation | None:
    shared = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(key)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_path_volumes(pod: Pod) -> Violation | None:
    volumes = pod.spec.get("volumes") or ()
    names = [one.get("name") or "" for one in volumes if one.get("hostPath") is not None]
    if not names:
        return None
    return Violation("hostPath volumes", f"{counted('volume', names)} {quoted(names)}")


def host_ports(pod: Pod) -> Violation | None:
    names, ports = containers_with(
        pod,
        lambda c: (str(p["hostPort"]) for p in c.spec.get("ports") or () if p.get("hostPort")),
    )
    if not names:
        return None
    verb = "uses" if len(names) == 1 else "use"
    listed = f"{counted('hostPort', ports)} {', '.join(ports)}"
    return Violation("hostPort", f"{containers_named(names)} {verb} {listed}")


def host_probes(pod: Pod) -> Violation | None:
    """Probes and hooks that a node would send somewhere else than to the pod."""
    found, hosts = containers_with(pod, lambda c: _hosts(c.spec))
    names = sorted(set(found))
    if not names:
        return None
    verb = "uses" if len(names) == 1 else "use"
    what = counted("probe or lifecycle host", hosts)
    return Violation(
        "probe or lifecycle host", f"{containers_named(names)} {verb} {what} {quoted(hosts)}"
    )


def _hosts(container: Json) -> Iterator[str]:
    hooks = container.get("lifecycle") or {}
    handlers = [container.get(f"{name}Probe") for name in ("liveness", "readiness", "startup")]
    for handler in (*handlers, hooks.get("postStart"), hooks.get("preStop")):
        for way in ("httpGet", "tcpSocket"):
            if host := ((handler or {}).get(way) or {}).get("host"):
                yield host


def privileged(pod: Pod) -> Violation | None:
    names = names_where(pod, lambda c: bool(c.security.get("privileged")))
    if not names:
        return None
    return Violation(
        "privileged", f"{containers_named(names)} must not set securityContext.privileged=true"
    )


def proc_mount(pod: Pod) -> Violation | None:
    names, kinds = containers_with(pod, _proc_mounts)
    if not names:
        return None
    return Violation(
        "procMount",
        f"{containers_named(names)} must not set securityContext.procMount to {quoted(kinds)}",
    )


def _proc_mounts(container: CheckedContainer) -> tuple[str, ...]:
    kind = container.security.get("procMount")
    return () if kind in (None, "Default") else (kind,)


def proc_mount_1_35(pod: Pod) -> Violation | None:
    return None if pod.has_own_users else proc_mount(pod)


def selinux(allowed: frozenset[str]) -> Check:
    def check(pod: Pod) -> Violation | None:
        kinds: set[str] = set()
        others: set[str] = set()

        def is_bad(security: Json) -> bool:
            options = security.get("seLinuxOptions") or {}
            kind = options.get("type") or ""
            if kind not in allowed:
                kinds.add(kind)
            custom = [key for key in ("user", "role") if options.get(key)]
            others.update(custom)
            return kind not in allowed or bool(custom)

        who = setters_where(pod, is_bad)
        if not who:
            return None
        listed = sorted(kinds)
        data = [f"{counted('type', listed)} {quoted(listed)}"] if listed else []
        data += [f"{key} may not be set" for key in ("user", "role") if key in others]
        return Violation(
            "seLinuxOptions",
            f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}",
        )

    return check


def seccomp_1_0(pod: Pod) -> Violation | None:
    keys = [_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{c.name}" for c in pod.containers())]
    notes = sorted(
        {
            f"{key}={go_quoted(pod.annotations[key])}"
            for key in keys
            if key in pod.annotations and not _is_seccomp_note(pod.annotations[key])
        }
    )
    if not notes:
        return None
    return Violation(
        "seccompProfile", f"forbidden {counted('annotation', notes)} {', '.join(notes)}"
    )


def _is_seccomp_note(value: str) -> bool:
    return value in ("runtime/default", "docker/default") or value.startswith("localhost/")


def seccomp_1_19(pod: Pod) -> Violation | None:
    who, kinds = profile_setters(pod, "seccompProfile")
    if not who:
        return None
    return Violation(
        "seccompProfile",
        f"{who} must not set securityContext.seccompProfile.type to {quoted(kinds)}",
    )


def sysctls(allowed: frozenset[str]) -> Check:
    def check(pod: Pod) -> Violation | None:
        named = (one.get("name") or "" for one in pod.security.get("sysctls") or ())
        bad = [name for name in named if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(pod: Pod) -> Violation | None:
    def is_bad(security: Json) -> bool:
        return bool((security.get("windowsOptions") or {}).get("hostProcess"))

    who = setters_where(pod, is_bad)
    if not who:
        return None
    return Violation(
        "hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    )

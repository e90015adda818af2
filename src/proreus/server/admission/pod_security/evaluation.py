"""Which checks a level makes in a version, in order, and what they say of a pod together."""

from __future__ import annotations

from functools import lru_cache

from proreus.lazy_dataclass import dataclass
from proreus.server.admission.pod_security import baseline, restricted
from proreus.server.admission.pod_security.policy import BASELINE, PRIVILEGED, LevelVersion
from proreus.server.admission.pod_security.restricted import but_own_users, but_windows
from proreus.server.admission.pod_security.violation import Check, Pod, Violation


@dataclass(frozen=True, slots=True)
class CheckVersions:
    """A check by the minor versions of Kubernetes since which it is made so.

    ``replaces`` names a check of baseline that this one, of restricted, is made instead of.
    """

    name: str
    since: tuple[tuple[int, Check], ...]
    replaces: str = ""

    def at(self, minor: int | None) -> Check | None:
        made = [check for first, check in self.since if minor is None or first <= minor]
        return made[-1] if made else None


# By name: violations are reported in this order.
_BASELINE = (
    CheckVersions("appArmorProfile", ((0, baseline.app_armor),)),
    CheckVersions("capabilities_baseline", ((0, baseline.capabilities),)),
    CheckVersions("hostNamespaces", ((0, baseline.host_namespaces),)),
    CheckVersions("hostPathVolumes", ((0, baseline.host_path_volumes),)),
    CheckVersions("hostPorts", ((0, baseline.host_ports),)),
    CheckVersions("hostProbesAndHostLifecycle", ((34, baseline.host_probes),)),
    CheckVersions("privileged", ((0, baseline.privileged),)),
    CheckVersions("procMount", ((0, baseline.proc_mount), (35, baseline.proc_mount_1_35))),
    CheckVersions(
        "seLinuxOptions",
        (
            (0, baseline.selinux(baseline.SELINUX_1_0)),
            (31, baseline.selinux(baseline.SELINUX_1_31)),
        ),
    ),
    CheckVersions(
        "seccompProfile_baseline", ((0, baseline.seccomp_1_0), (19, baseline.seccomp_1_19))
    ),
    CheckVersions(
        "sysctls",
        (
            (0, baseline.sysctls(baseline.SYSCTLS_1_0)),
            (27, baseline.sysctls(baseline.SYSCTLS_1_27)),
            (29, baseline.sysctls(baseline.SYSCTLS_1_29)),
            (32, baseline.sysctls(baseline.SYSCTLS_1_32)),
            (37, baseline.sysctls(baseline.SYSCTLS_1_37)),
        ),
    ),
    CheckVersions("windowsHostProcess", ((0, baseline.windows_host_process),)),
)
_RESTRICTED = (
    CheckVersions(
        "allowPrivilegeEscalation",
        (
            (8, restricted.privilege_escalation),
            (25, but_windows(restricted.privilege_escalation)),
        ),
    ),
    CheckVersions(
        "capabilities_restricted",
        ((22, restricted.capabilities), (25, but_windows(restricted.capabilities))),
        replaces="capabilities_baseline",
    ),
    CheckVersions("procMount_restricted", ((35, baseline.proc_mount),), replaces="procMount"),
    CheckVersions("restrictedVolumes", ((0, restricted.volumes),), replaces="hostPathVolumes"),
    CheckVersions(
        "runAsNonRoot",
        ((0, restricted.run_as_non_root), (35, but_own_users(restricted.run_as_non_root))),
    ),
    CheckVersions(
        "runAsUser",
        ((23, restricted.run_as_user), (35, but_own_users(restricted.run_as_user))),
    ),
    CheckVersions(
        "seccompProfile_restricted",
        ((19, restricted.seccomp), (25, but_windows(restricted.seccomp))),
        replaces="seccompProfile_baseline",
    ),
)


@lru_cache(maxsize=128)
def checks_of(wanted: LevelVersion) -> tuple[Check, ...]:
    if wanted.level == PRIVILEGED:
        return ()
    extra = () if wanted.level == BASELINE else _RESTRICTED
    made = [(one, check) for one in extra if (check := one.at(wanted.minor)) is not None]
    replaced = {one.replaces for one, _ in made}
    basic = [one.at(wanted.minor) for one in _BASELINE if one.name not in replaced]
    return (*(check for check in basic if check is not None), *(check for _, check in made))


def violations(wanted: LevelVersion, pod: Pod) -> list[Violation]:
    found = (check(pod) for check in checks_of(wanted))
    return [violation for violation in found if violation is not None]


def details(found: list[Violation]) -> str:
    return ", ".join(f"{one.reason} ({one.detail})" for one in found)


def reasons(found: list[Violation]) -> str:
    return ", ".join(one.reason for one in found)

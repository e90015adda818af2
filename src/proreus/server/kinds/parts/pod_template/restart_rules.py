"""Restart rules of a container, which override its pod's policy, and its stop signal."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import Findings, items

_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_RULES_MAX = 20
_CODES_MAX = 255
_WINDOWS_SIGNALS = ("SIGKILL", "SIGTERM")
_LINUX_SIGNALS = tuple(sorted([
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL",
    "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT",
    "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN",
    "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ",
    "SIGRTMIN", *(f"SIGRTMIN+{n}" for n in range(1, 16)), *(f"SIGRTMAX-{n}" for n in range(1, 15)),
    "SIGRTMAX",
]))  # fmt: skip


def check_restarts(found: Findings, at: str, container: Json) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is not None:
        found.one_of(f"{at}.restartPolicy", policy, _POLICIES)
    elif rules:
        why = "must specify restartPolicy when restart rules are used"
        found.require(f"{at}.restartPolicy", None, why)
    at = f"{at}.restartPolicyRules"
    if len(rules) > _RULES_MAX:
        found.append(field_error.too_many(at, len(rules), _RULES_MAX))
    for where, rule in items(rules, at):
        found.one_of(f"{where}.action", rule.get("action") or "", _ACTIONS)
        codes = rule.get("exitCodes")
        if codes is None:
            found.require(f"{where}.exitCodes", None, "must be specified")
            continue
        found.one_of(f"{where}.exitCodes.operator", codes.get("operator") or "", ("In", "NotIn"))
        values = codes.get("values") or []
        if len(values) > _CODES_MAX:
            found.append(field_error.too_many(f"{where}.exitCodes.values", len(values), _CODES_MAX))


def check_stop_signal(found: Findings, at: str, signal: str | None, spec: Json) -> None:
    """Signals are an operating system's: the pod ``spec`` must name it."""
    if signal is None:
        return
    match (spec.get("os") or {}).get("name"):
        case None:
            found.forbid(at, "may not be set for containers with empty `spec.os.name`")
        case "windows":
            found.one_of(at, signal, _WINDOWS_SIGNALS)
        case "linux":
            found.one_of(at, signal, _LINUX_SIGNALS)

"""What a container on Windows may ask for: an account, and to be a process of the host."""

from __future__ import annotations

import re

from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import Findings, items

_CREDENTIALS_KIB_MAX = 64
_DOMAIN_MAX = 256
_USER_MAX = 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_DOTS_AND_SPACES = re.compile(r"[. ]+")
_NOT_IN_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')


def check_windows_options(found: Findings, at: str, options: Json | None) -> None:
    if options is None:
        return
    found.name(f"{at}.gmsaCredentialSpecName", options.get("gmsaCredentialSpecName"))
    if (credentials := options.get("gmsaCredentialSpec")) is not None:
        where = f"{at}.gmsaCredentialSpec"
        if not credentials:
            found.invalid(where, credentials, "gmsaCredentialSpec cannot be an empty string")
        elif len(credentials.encode()) > _CREDENTIALS_KIB_MAX * 1024:
            why = f"gmsaCredentialSpec size must be under {_CREDENTIALS_KIB_MAX} KiB"
            found.invalid(where, credentials, why)
    if (name := options.get("runAsUserName")) is not None:
        for why in _faults_of_user(name):
            found.invalid(f"{at}.runAsUserName", name, f"runAsUserName{why}")


def _faults_of_user(name: str) -> list[str]:
    """``DOMAIN\\USER`` or ``USER``; the faults go on after the field's name."""
    if not name:
        return [" cannot be an empty string"]
    if _CONTROL.search(name):
        return [" cannot contain control characters"]
    if name.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    found: list[str] = []
    if len(domain) >= _DOMAIN_MAX:
        found.append(f"'s Domain length must be under {_DOMAIN_MAX} characters")
    if backslash and not _NETBIOS.fullmatch(domain) and not _DNS.fullmatch(domain):
        found.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("'s User cannot be empty")
    elif len(user) > _USER_MAX:
        found.append(f"'s User length must not be longer than {_USER_MAX} characters")
    if _DOTS_AND_SPACES.fullmatch(user):
        found.append("'s User cannot contain only periods or spaces")
    if _NOT_IN_USER.search(user):
        found.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return found


def check_host_processes(found: Findings, at: str, spec: Json) -> None:
    """All containers are processes of the host or none, and such a pod is on its network."""
    of_pod = _is_host_process(spec)
    count = total = 0
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for where, container in items(spec.get(key), f"{at}.{key}"):
            own = _is_host_process(container)
            total += 1
            count += bool(of_pod if own is None else own)
            if own is not None and of_pod is not None and own != of_pod:
                printed = "true" if of_pod else "false"
                found.invalid(
                    f"{where}.securityContext.windowsOptions.hostProcess",
                    own,
                    f"pod hostProcess value must be identical if both are specified, was {printed}",
                )
    if not count:
        return
    if count != total:
        why = (
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers"
        )
        found.invalid(at, "", why)
    if not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        found.invalid(f"{at}.hostNetwork", False, why)


def _is_host_process(holder: Json) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    value: bool | None = options.get("hostProcess")
    return value

"""Which proxy the environment names for a server, by the rules of Go's HTTP library."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from proreus.net.addresses import is_loopback


def proxy_from_env(url: str, env: Mapping[str, str]) -> str | None:
    """HTTPS_PROXY or HTTP_PROXY by the URL's scheme, unless NO_PROXY exempts the host."""
    parts = urlsplit(url)
    name = f"{parts.scheme}_proxy"
    proxy = env.get(name.upper()) or env.get(name)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not proxy or _is_exempt(host, port, env.get("NO_PROXY") or env.get("no_proxy") or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_exempt(host: str, port: int, rules: str) -> bool:
    return is_loopback(host) or any(
        _exempts(rule.strip().lower(), host, port) for rule in rules.split(",") if rule.strip()
    )


def _exempts(rule: str, host: str, port: int) -> bool:
    if rule == "*":
        return True
    address = _address(host)
    if "/" in rule:
        try:
            return address is not None and address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    if rule.count(":") == 1:
        rule, _, wanted = rule.partition(":")
        if wanted != str(port):
            return False
    if address is not None:
        return rule.strip("[]") == host
    if rule.startswith("*."):
        rule = rule[1:]
    # ".example.com" means what is below it, "example.com" also the name itself.
    return host.endswith(rule) if rule.startswith(".") else f".{host}".endswith(f".{rule}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None

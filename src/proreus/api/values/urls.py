"""Why a text is no URL, as Go's parser says it."""

from __future__ import annotations

import ipaddress
import re

from proreus.api.go_text import quoted

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PORT = re.compile(r"(:[0-9]*)?")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_HOST_ESCAPE = re.compile(r"%(?!25)[0-7][0-9A-Fa-f]")  # of characters, not of bytes
_NOT_IN_HOSTS = re.compile(r"[\x00-\x20#/?@\\^`{|}\x7f]")


def url_fault(text: str) -> str:
    """Empty for a URL."""
    url, _, fragment = text.partition("#")
    if reason := _fault(url):
        return f"parse {quoted(url)}: {reason}"
    reason = _bad_escape(fragment)
    return f"parse {quoted(text)}: {reason}" if reason else ""


def request_fault(text: str) -> str:
    """Of what a request may name: a URL with a scheme, or a path. Fragments are nothing special."""
    reason = _fault_of_request(text)
    return f"parse {quoted(text)}: {reason}" if reason else ""


def _fault_of_request(text: str) -> str:
    if not text:
        return "empty url"
    if _CONTROL.search(text):
        return "net/url: invalid control character in URL"
    if text == "*":
        return ""
    if text.startswith(":"):
        return "missing protocol scheme"
    found = _SCHEME.match(text)
    rest = (text[found.end() :] if found else text).partition("?")[0]
    if not rest.startswith("/"):
        return "" if found else "invalid URI for request"
    if found and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _fault_of_authority(authority) or _bad_escape(slash + path)
    return _bad_escape(rest)


def _fault(url: str) -> str:
    if _CONTROL.search(url):
        return "net/url: invalid control character in URL"
    if url.startswith(":"):
        return "missing protocol scheme"
    found = _SCHEME.match(url)
    rest = (url[found.end() :] if found else url).partition("?")[0]
    if not rest.startswith("/"):
        return "" if found else _fault_of_path(rest)
    if rest.startswith("//") and (found or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        return _fault_of_authority(authority) or _bad_escape(slash + path)
    return _bad_escape(rest)


def _fault_of_path(path: str) -> str:
    if ":" in path.partition("/")[0]:
        return "first path segment in URL cannot contain colon"
    return _bad_escape(path)


def _fault_of_authority(authority: str) -> str:
    user, _, host = authority.rpartition("@")
    if reason := _fault_of_host(host):
        return reason
    return _bad_escape(user) if _USER.fullmatch(user) else "net/url: invalid userinfo"


def _fault_of_host(host: str) -> str:
    name = port = ""
    if host.startswith("["):
        if "]" not in host:
            return "missing ']' in host"
        name, _, port = host[1:].rpartition("]")
    elif ":" in host:
        port = ":" + host.rpartition(":")[2]
    if not _PORT.fullmatch(port):
        return f"invalid port {quoted(port)} after host"
    if not name and (odd := _HOST_ESCAPE.search(host)):
        return f"invalid URL escape {quoted(odd[0])}"
    if reason := _bad_escape(host) or _fault_of_literal(name):
        return reason
    odd = _NOT_IN_HOSTS.search(host)
    return f"invalid character {quoted(odd[0])} in host name" if odd else ""


def _fault_of_literal(name: str) -> str:
    """Of what stands in brackets, if anything does."""
    if not name:
        return ""
    try:
        address = ipaddress.ip_address(name.partition("%25")[0])
    except ValueError:
        return f"invalid host: ParseAddr({quoted(name)}): unable to parse IP"
    return "invalid IP-literal" if address.version == 4 else ""


def _bad_escape(text: str) -> str:
    for found in re.finditer("%", text):
        at = found.start()
        if not _ESCAPE.match(text, at):
            return f"invalid URL escape {quoted(text[at : at + 3])}"
    return ""

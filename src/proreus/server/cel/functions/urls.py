"""URLs as ``url('https://example.com/path?key=value')`` reads them: by the rules of Go."""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import quote, unquote

from proreus.api.values.urls import request_fault, url_fault
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.values import EvaluationError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Url:
    """``host`` with its port; ``path`` and ``query`` as they were written."""

    cel_type: ClassVar[str] = "kubernetes.URL"
    text: str
    scheme: str
    host: str
    path: str
    raw_query: str

    @classmethod
    def parse(cls, text: str) -> Url:
        """Fragments are dropped after they were taken for a part of the rest."""
        if why := request_fault(text) or url_fault(text):
            raise EvaluationError(f"URL parse error during conversion from string: {why}")
        found = _SCHEME.match(text)
        rest = text[found.end() :] if found else text
        rest, _, query = rest.partition("#")[0].partition("?")
        host = ""
        if found and rest.startswith("//"):
            authority, slash, path = rest[2:].partition("/")
            host, rest = unquote(authority.rpartition("@")[2]), slash + path
        elif not rest.startswith("/") and rest != "*":
            rest = ""  # what follows the scheme is opaque
        return cls(text, found[1].lower() if found else "", host, rest, query)

    def __str__(self) -> str:
        return self.text

    @property
    def hostname(self) -> str:
        name, colon, port = self.host.rpartition(":")
        if not colon or "]" in port:
            name = self.host
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name

    @property
    def port(self) -> str:
        _, colon, port = self.host.rpartition(":")
        return port if colon and "]" not in port else ""

    @property
    def escaped_path(self) -> str:
        if _PLAIN_PATH.fullmatch(self.path):
            return self.path
        return quote(unquote(self.path), safe="$&+,/:;=@~")

    @property
    def query(self) -> dict[str, list[str]]:
        """What cannot be read is left out."""
        found: dict[str, list[str]] = {}
        for pair in self.raw_query.split("&"):
            if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
                continue
            key, _, value = pair.replace("+", " ").partition("=")
            found.setdefault(unquote(key), []).append(unquote(value))
        return found

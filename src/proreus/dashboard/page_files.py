"""The page: files of this package, read once and served as they are.

``index.html`` is ``/dashboard/``; what is below ``page/assets`` is below ``/dashboard/assets``.
Only names that were found at the start are served: no path of a request reaches a file system.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proreus.dashboard.policy import PAGE_HEADERS
from proreus.net.http1.messages import Response

_PAGE = Path(__file__).parent / "page"
_INDEX = "index.html"
_CONTENT_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    content_type: str
    etag: str
    content: bytes = field(repr=False)

    def answer(self, if_none_match: str) -> Response:
        """Browsers ask each time whether theirs is still the one: a new version is seen at once."""
        head = (*PAGE_HEADERS, ("ETag", self.etag), ("Cache-Control", "no-cache"))
        if self.etag in (tag.strip() for tag in if_none_match.split(",")):
            return Response(304, head)
        return Response(200, (*head, ("Content-Type", self.content_type)), self.content)


class PageFiles:
    """By path below ``/dashboard/``. Files of a kind we have no content type for are left out."""

    def __init__(self, folder: Path = _PAGE) -> None:
        """Reads all of them. Raises OSError."""
        self._files: dict[str, PageFile] = {}
        for path in folder.rglob("*"):
            content_type = _CONTENT_TYPES.get(path.suffix)
            if content_type is not None and path.is_file():
                content = path.read_bytes()
                etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
                name = path.relative_to(folder).as_posix()
                self._files[name] = PageFile(content_type, etag, content)

    def find(self, name: str) -> PageFile | None:
        return self._files.get(name or _INDEX)

    def __repr__(self) -> str:
        return f"<PageFiles: {len(self._files)}>"

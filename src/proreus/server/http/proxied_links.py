"""Links and cookies of what is served behind ``…/proxy/…``, led back through it. Pure.

A page's ``/style.css`` is the page's server's, which a browser would look for at this one. Links
with a path from the root and redirects get the proxy's path in front, as Kubernetes does it.

Linear in the page: every byte is looked at once, and what does not end is left as it is.
"""

from __future__ import annotations

import html
import posixpath
import re
from urllib.parse import urlsplit, urlunsplit

from proreus.lazy_dataclass import dataclass

_LINKS = {
    "a": "href", "applet": "codebase", "area": "href", "audio": "src", "base": "href",
    "blockquote": "cite", "body": "background", "button": "formaction", "command": "icon",
    "del": "cite", "embed": "src", "form": "action", "frame": "longdesc src", "head": "profile",
    "html": "manifest", "iframe": "longdesc src", "img": "longdesc src usemap",
    "input": "src usemap formaction", "ins": "cite", "link": "href",
    "object": "classid codebase data usemap", "q": "cite", "script": "src", "source": "src",
    "video": "poster src",
}  # fmt: skip
_ATTRIBUTES = {tag: frozenset(names.split()) for tag, names in _LINKS.items()}
# What is in these is text, whatever it looks like.
_RAW = frozenset({"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"})
_PLACE = frozenset({"domain", "path"})  # of a cookie
_BEGIN = re.compile(r"<(!--|[!?/]|[A-Za-z])")
_TAG = re.compile(r"""<([A-Za-z][^\s/>]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>"']*+))?""", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProxiedLinks:
    """``prefix``: the path of the proxy, without a slash at its end. ``there``: the host that the
    other server was asked as. ``here``: the one that this server was."""

    prefix: str
    there: str
    here: str

    def url(self, said: str) -> str:
        """Leads through the proxy, if it is of the other server and its path from the root."""
        try:
            parts = urlsplit(said)
        except ValueError:
            return said
        host, path = parts.netloc, parts.path
        if (host and host not in (self.there, self.here)) or not path.startswith("/"):
            return said
        scheme = parts.scheme if host == self.here else ""
        host = host if host == self.here else ""
        if not path.startswith(self.prefix):
            ending = "/" if path.endswith("/") else ""
            path = posixpath.normpath(self.prefix + path).rstrip("/") + ending
        return urlunsplit((scheme, host, path, parts.query, parts.fragment))

    def cookie(self, said: str) -> str:
        """For what is behind the proxy alone, whatever place it names."""
        given, *attributes = said.split(";")
        kept = [one for one in attributes if one.partition("=")[0].strip().lower() not in _PLACE]
        return ";".join((given, *kept, f" Path={self.prefix}/"))

    def page(self, content: bytes) -> bytes:
        text = content.decode("utf-8", "surrogateescape")
        made: list[str] = []
        at = kept = 0
        while (begin := _BEGIN.search(text, at)) is not None:
            if begin[1].isalpha():
                tag = _TAG.match(text, begin.start())
                if tag is None:
                    break
                if (changed := self._tag(tag)) != tag[0]:
                    made += (text[kept : tag.start()], changed)
                    kept = tag.end()
                at = _after_raw(text, tag)
            else:
                at = _after(text, "-->" if begin[1] == "!--" else ">", begin.end())
        made.append(text[kept:])
        return "".join(made).encode("utf-8", "surrogateescape")

    def _tag(self, tag: re.Match[str]) -> str:
        names = _ATTRIBUTES.get(tag[1].lower())
        if names is None:
            return tag[0]

        def changed(attribute: re.Match[str]) -> str:
            given = attribute[2]
            if not given or attribute[1].lower() not in names:
                return attribute[0]
            said = html.unescape(given[1:-1] if given[0] in "\"'" else given)
            led = self.url(said)
            return attribute[0] if led == said else f'{attribute[1]}="{html.escape(led)}"'

        return f"<{tag[1]}{_ATTRIBUTE.sub(changed, tag[2])}>"


def _after(text: str, mark: str, at: int) -> int:
    """Behind the mark, or at the end."""
    found = text.find(mark, at)
    return found + len(mark) if found >= 0 else len(text)


def _after_raw(text: str, tag: re.Match[str]) -> int:
    """Behind a tag, and what it makes text."""
    name = tag[1].lower()
    if name not in _RAW:
        return tag.end()
    closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, tag.end())
    return closing.start() if closing else len(text)

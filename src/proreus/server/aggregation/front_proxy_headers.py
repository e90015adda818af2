"""Says to another API server who asks: headers that it believes of our client certificate."""

from __future__ import annotations

import re
from urllib.parse import quote

from proreus.server.registry.user import MASTERS, User

# Who asks when this server itself wants to know something.
AGGREGATOR = User("system:kube-aggregator", (MASTERS,))

USER, UID, GROUP, EXTRA = "X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-"
_TOKEN = "!#$&'*+-.^_`|~"  # what a header's name may have besides letters and digits; % escapes
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class UnsendableUser(ValueError):
    """A name, group or field of the user cannot stand in a header."""


def front_proxy_headers(user: User) -> dict[str, list[str]]:
    """Raises UnsendableUser."""
    headers = {USER: [user.name]}
    if user.uid:
        headers[UID] = [user.uid]
    if user.groups:
        headers[GROUP] = list(user.groups)
    for key, values in user.extra.items():
        headers[EXTRA + quote(key, safe=_TOKEN)] = list(values)
    for name, sent in headers.items():
        if any(_CONTROL.search(value) for value in sent):
            raise UnsendableUser(f'net/http: invalid header field value for "{name}"')
    return headers

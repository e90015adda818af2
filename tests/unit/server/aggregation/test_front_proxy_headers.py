"""A user as headers say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from proreus.server.aggregation.front_proxy_headers import UnsendableUser, front_proxy_headers
from proreus.server.authn.front_proxy import proxied_user
from proreus.server.authn.options import RequestHeaderOptions
from proreus.server.registry.user import User

OPTIONS = RequestHeaderOptions(
    client_ca_file=Path("ca.crt"),
    username_headers=("X-Remote-User",),
    uid_headers=("X-Remote-Uid",),
    group_headers=("X-Remote-Group",),
    extra_headers_prefix=("X-Remote-Extra-",),
)


@pytest.mark.parametrize(
    "user",
    [
        User("ann"),
        User("ann", ("a", "b"), "1"),
        User("jürgen", ("großes team",), "", {"scopes": ("x", "y"), "a.b/c%d e": ("1",)}),
    ],
)
def test_another_server_reads_the_same_user_from_them(user: User) -> None:
    headers = front_proxy_headers(user)

    pairs = [(name, value) for name, values in headers.items() for value in values]
    assert proxied_user(pairs, OPTIONS) == user


@pytest.mark.parametrize(
    "user",
    [User("a\r\nX-Remote-Group: root"), User("a", ("b\n",)), User("a", (), "", {"k": ("\0",)})],
)
def test_what_would_be_another_header_is_refused(user: User) -> None:
    with pytest.raises(UnsendableUser, match="invalid header field value"):
        front_proxy_headers(user)

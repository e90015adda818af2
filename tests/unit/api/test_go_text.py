"""Text as Go prints it, which clients see in messages."""

from __future__ import annotations

import pytest

from proreus.api import field_error, go_text


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a é", '"a é"'),
        ('"\\', '"\\"\\\\"'),
        ("\x01\n\a\x7f", '"\\x01\\n\\a\\x7f"'),
        ("\u200b", '"\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_text_is_quoted_as_go_quotes_it(text: str, quoted: str) -> None:
    assert go_text.quoted(text) == quoted
    assert quoted in field_error.invalid("metadata.name", text).message

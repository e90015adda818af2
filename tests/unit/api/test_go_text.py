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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-1.0, "-1"), (1.5, "1.5"), (0.0001, "0.0001"), (0.00001, "1e-05"),
        (999999.0, "999999"), (123456.5, "123456.5"), (1e21, "1e+21"),
        (1e6, "1e+06"), (1234567.0, "1.234567e+06"), (1.5e300, "1.5e+300"),
        (1e-7, "1e-07"), (-2.5e-7, "-2.5e-07"), (float("inf"), "+Inf"), (float("nan"), "NaN"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_go_writes_them(value: float, text: str) -> None:
    assert go_text.number(value) == text


def test_values_in_messages_are_written_as_go_writes_json() -> None:
    value = {"a": [5.0, -0.0, 1e20, 1e21, 1.5e-7, 0.00001, 12], "b": "<&> 1.0", "c": '"\\1e5'}

    written = field_error.invalid("spec", value).message

    assert written == (
        'Invalid value: {"a":[5,-0,100000000000000000000,1e+21,1.5e-7,0.00001,12],'
        '"b":"\\u003c\\u0026\\u003e 1.0","c":"\\"\\\\1e5"}'
    )

"""Secrets."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tests.unit.server.kinds.creating import created, errors


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"[" * 20_000, "invalid character '[' exceeded max depth"),
    ],
)
def test_a_registrys_password_is_a_json_object(text: bytes, why: str) -> None:
    data = {".dockerconfigjson": b64encode(text).decode()}

    found = errors("v1", "Secret", type="kubernetes.io/dockerconfigjson", data=data)

    assert found == [f'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": {why}']


def test_text_of_a_secret_is_encoded() -> None:
    made = created("v1", "Secret", data={"k": "b3RoZXI="}, stringData={"k": "v", "e": ""})

    assert made["data"] == {"k": "dg==", "e": ""}
    assert made["type"] == "Opaque"
    assert "stringData" not in made

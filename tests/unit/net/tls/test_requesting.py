"""New keys, and the requests that go with them."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_der_x509_csr

from proreus.net.tls.requesting import new_key


@pytest.mark.parametrize("key_type", ["RSA3072", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"])
def test_a_request_is_signed_by_its_key_and_claims_no_subject(key_type: str) -> None:
    made = new_key(key_type)

    request = load_der_x509_csr(made.request)
    assert request.is_signature_valid
    assert request.public_key() == load_pem_private_key(made.key, None).public_key()
    assert not list(request.subject)
    assert not list(request.extensions)


def test_a_type_of_key_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="no such type of key: DSA"):
        new_key("DSA")

"""Stored bytes (``splice``) as CBOR and back, byte for byte.

Keys keep their order and text is text, where Kubernetes sorts keys and writes text as byte strings
(``cbor``): it reads both, and so JSON is packed and unpacked without a walk over every value.
The tag is Kubernetes': no JSON and nothing that is encrypted begins with it.
"""

from __future__ import annotations

from proreus.api.wire import json

SELF_DESCRIBED = b"\xd9\xd9\xf7"


def pack(stored: bytes) -> bytes:
    import cbor2  # few stores have it

    packed: bytes = cbor2.dumps(json.decode(stored))
    return SELF_DESCRIBED + packed


def unpack(packed: bytes) -> bytes:
    """Raises ValueError for what ``pack`` did not make."""
    import cbor2

    try:
        return json.encode(cbor2.loads(packed[len(SELF_DESCRIBED) :]))
    except (cbor2.CBORDecodeError, json.JSONEncodeError, RecursionError) as error:
        raise ValueError(str(error)) from error

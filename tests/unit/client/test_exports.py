"""The package's front door: every name it promises is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import proreus.blocking
import proreus.client


def test_every_promised_name_can_be_had() -> None:
    for name in proreus.client.__all__:
        assert getattr(proreus.client, name) is not None
    assert dir(proreus.client) == sorted(proreus.client.__all__)


def test_the_homes_of_the_names_are_right() -> None:
    for module, names in proreus.client._HOMES.items():
        home = importlib.import_module(module)
        assert all(hasattr(home, name) for name in names)
    assert set(proreus.client._MODULE_OF) == set(proreus.client.__all__)


def test_the_reference_has_every_public_name_once_and_no_other() -> None:
    page = (Path(__file__).parents[3] / "docs" / "client.md").read_text()

    assert sorted(re.findall(r"^- `(\w+)`: ", page, re.M)) == sorted(proreus.client.__all__)


def test_the_reference_has_every_name_of_the_blocking_client() -> None:
    page = (Path(__file__).parents[3] / "docs" / "client.md").read_text()
    listed = re.findall(r"^- `blocking\.(\w+)`: ", page, re.M)

    assert sorted(listed) == sorted(proreus.blocking.__all__)
    assert all(hasattr(proreus.blocking, name) for name in listed)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = proreus.client.Nothing  # type: ignore[attr-defined]

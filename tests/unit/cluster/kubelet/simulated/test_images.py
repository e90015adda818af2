"""What the names of images say to a simulated node."""

from __future__ import annotations

import pytest

from proreus.cluster.kubelet.runtimes.simulated.images import runs_for_ever, says_it_is_missing


@pytest.mark.parametrize(
    ("image", "is_missing"),
    [
        ("web:404", True),
        ("foo:non-existent", True),
        ("localhost:5000/team/foo:NonExistent", True),
        ("registry.example.com/foo:does_not_exist", True),
        ("invalid.registry.example.com/foo:1", True),
        ("registry.invalid/foo", True),
        ("registry.invalid:5000/foo", True),
        ("invalid/foo:1", False),
        ("web", False),
        ("web:1.404", False),
        ("missing", False),
        ("web:4040", False),
        ("web@sha256:404", False),
        ("", False),
    ],
)
def test_an_image_is_there_unless_its_name_says_otherwise(image: str, is_missing: bool) -> None:
    assert says_it_is_missing(image) is is_missing


@pytest.mark.parametrize(
    ("image", "runs"),
    [
        ("pause", True),
        ("registry.example.com/pause:3.10", True),
        ("pause/web:1", False),
        ("pauses:1", False),
        ("web:pause", False),
    ],
)
def test_only_the_image_that_does_nothing_never_ends(image: str, runs: bool) -> None:
    assert runs_for_ever(image) is runs

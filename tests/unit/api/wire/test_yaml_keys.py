"""The order of keys in YAML answers, as a real kube-apiserver has it."""

from __future__ import annotations

import random

import pytest

from proreus.api.wire import yaml
from proreus.api.wire.yaml_keys import in_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["apiVersion", "data", "kind", "metadata"],
        ["k1", "k1-b", "k1_b", "k2", "k02", "k10", "k100"],
        ["-", "_", "0x1", "1", "1.0", "1e1", "a.b", "n"],
        ["_x", "0", "00", "1", "01", "2", "10", "12", "12a", "A", "Z"],
        ["a-b", "a.b", "a_b", "aB", "ab"],
        ["b1", "b01", "b3", "b03", "c2.10", "c10.2", "d7", "d7abc", "d12", "d12a"],
        ["x100", "x101", "x1001"],
        ["", ".", "f:a", "f:ä", "k:{"],
    ],
)
def test_numbers_in_keys_count_as_numbers_and_letters_come_last(ordered: list[str]) -> None:
    shuffled = random.Random(1).sample(ordered, len(ordered))

    assert in_order(shuffled) == ordered


def test_a_map_is_written_in_that_order_at_any_depth() -> None:
    text = yaml.encode({"b": {"k10": 1, "k2": 2}, "a": [{"x10": 1, "x9": 2}]})

    assert text == b"a:\n- x9: 2\n  x10: 1\nb:\n  k2: 2\n  k10: 1\n"


def test_long_runs_of_digits_are_compared_without_being_made_numbers_of_that_length() -> None:
    few, many = "k" + "9" * 100_000, "k" + "9" * 100_001

    assert set(in_order([many, few])) == {few, many}

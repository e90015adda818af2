"""Classes of ``lazy_dataclass`` do what those of ``dataclasses`` do."""

from __future__ import annotations

import copy
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, field, fields, replace
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from proreus.lazy_dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


def test_fields_are_given_by_position_by_name_or_by_default() -> None:
    @dataclass(frozen=True, slots=True)
    class Pod:
        name: str
        labels: dict[str, str] = field(default_factory=dict)
        namespace: str = "default"

    first, second = Pod("a"), Pod("b", {"x": "y"}, namespace="other")

    assert (first.name, first.labels, first.namespace) == ("a", {}, "default")
    assert (second.name, second.labels, second.namespace) == ("b", {"x": "y"}, "other")
    assert Pod("a").labels is not first.labels


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("slots", [True, False])
def test_fields_that_are_no_parameters_have_their_defaults(frozen: bool, slots: bool) -> None:
    decorated: Any = dataclass

    @decorated(frozen=frozen, slots=slots)
    class Counter:
        name: str
        seen: set[int] = field(default_factory=set, init=False)
        count: int = field(default=3, init=False)
        later: int = field(init=False)
        total: ClassVar[int] = 7

    made: Any = Counter
    one = made("a")

    assert (one.seen, one.count, one.total) == (set(), 3, 7)
    assert not hasattr(one, "later")
    assert [each.name for each in fields(made)] == ["name", "seen", "count", "later"]
    with pytest.raises(TypeError):
        made("a", count=4)


def test_keyword_only_fields_are_no_positional_ones() -> None:
    @dataclass(slots=True, kw_only=True)
    class Options:
        limit: int = 0
        name: str

    @dataclass(slots=True)
    class Mixed:
        name: str
        _: KW_ONLY
        limit: int = 0

    assert Options(name="a").limit == 0
    assert Mixed("a", limit=1).limit == 1
    options: Any = Options
    mixed: Any = Mixed
    for made, arguments in ((options, (1, "a")), (mixed, ("a", 1)), (mixed, ())):
        with pytest.raises(TypeError):
            made(*arguments)


def test_what_is_called_after_init_may_refuse() -> None:
    @dataclass(frozen=True, slots=True)
    class Port:
        number: int

        def __post_init__(self) -> None:
            if self.number > 65535:
                raise ValueError(self.number)

    assert Port(80).number == 80
    with pytest.raises(ValueError, match="70000"):
        Port(70000)


def test_values_are_equal_by_their_compared_fields() -> None:
    @dataclass(frozen=True, slots=True)
    class Key:
        name: str
        seen: int = field(default=0, compare=False)

    @dataclass(frozen=True, slots=True)
    class Other:
        name: str

    assert Key("a", 1) == Key("a", 2)
    assert Key("a") != Key("b")
    other: Any = Other("a")
    assert Key("a") != other
    assert {Key("a", 1): "found"}[Key("a", 2)] == "found"
    assert hash(Key("a")) == hash(("a",))


def test_order_is_that_of_the_fields() -> None:
    @dataclass(frozen=True, slots=True, order=True)
    class Version:
        major: int
        minor: int

    one: Any = Version(1, 2)
    two = Version(1, 10)

    assert sorted([two, one]) == [one, two]
    assert one < two and two > one and one <= one and two >= one
    with pytest.raises(TypeError):
        sorted([one, (1, 2)])


def test_what_can_change_cannot_be_hashed() -> None:
    @dataclass(slots=True)
    class Changing:
        name: str

    one = Changing("a")
    one.name = "b"

    assert one == Changing("b")
    with pytest.raises(TypeError):
        hash(one)


def test_without_equality_every_object_is_itself() -> None:
    @dataclass(slots=True, eq=False)
    class Task:
        name: str

    assert Task("a") != Task("a")
    assert len({Task("a"), Task("a")}) == 2


def test_methods_of_the_class_itself_stay() -> None:
    @dataclass(frozen=True, slots=True)
    class Own:
        name: str

        def __init__(self, name: str) -> None:
            object.__setattr__(self, "name", name.upper())

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    assert Own("a").name == "A"
    assert repr(Own("a")) == "own"
    assert Own("a") == Own("b")
    assert hash(Own("a")) == 5


def test_a_frozen_value_cannot_be_changed() -> None:
    @dataclass(frozen=True, slots=True)
    class Frozen:
        name: str

    one: Any = Frozen("a")

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    assert one.name == "a"


def test_a_subclass_has_the_fields_of_both() -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        name: str

    @dataclass(frozen=True, slots=True)
    class Counted(Named):
        count: int = 0

    class Plain(Counted):
        def __init__(self, name: str) -> None:
            super().__init__(name, 9)

    assert Plain("a").count == 9
    assert Counted("a", 1) == Counted("a", 1)
    assert Counted("a") != Named("a")
    assert Named("a").name == "a"
    one: Any = Counted("a")
    with pytest.raises(FrozenInstanceError):
        one.name = "b"


def test_a_generic_class_is_one() -> None:
    @dataclass(frozen=True, slots=True)
    class Stored(Generic[T]):
        value: T

    assert Stored(3) == Stored(3)


def test_repr_shows_what_it_may() -> None:
    @dataclass(slots=True)
    class Login:
        name: str
        token: str = field(default="", repr=False)
        other: Any = None

    login = Login("a", "secret")
    login.other = [login]

    assert repr(login).endswith("Login(name='a', other=[...])")


def test_values_are_matched_and_replaced() -> None:
    @dataclass(frozen=True, slots=True)
    class Pair:
        left: int
        right: int = 0

    match replace(Pair(1, 2), right=5):
        case Pair(left, right):
            assert (left, right) == (1, 5)


def test_values_are_copied_and_pickled() -> None:
    one = Point(1, 2)

    assert copy.copy(one) == one == copy.deepcopy(one)
    assert pickle.loads(pickle.dumps(one)) == one

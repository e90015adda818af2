"""Large lists in pages: one state, or one full list instead."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.api.status import Expired
from proreus.client.rest.calls import ListCall
from proreus.client.rest.pager import collect, pages


@dataclass
class Book:
    """Pages by number; ``expired`` says which one the server has forgotten."""

    page_count: int
    expired: int = -1
    asked: list[tuple[str, int, str]] = field(default_factory=list)

    async def __call__(self, asked: ListCall) -> ObjectList:
        limit = asked.limit
        self.asked.append((asked.resource_version, limit, asked.continue_token))
        number = int(asked.continue_token or 0)
        if number == self.expired:
            self.expired = -1
            raise Expired("the continue token is too old")
        last = self.page_count - 1 if limit else 0
        count = 1 if limit else self.page_count
        items = [
            KubeObject.from_dict({"metadata": {"name": str(number + at)}}) for at in range(count)
        ]
        token = str(number + 1) if number < last else ""
        return ObjectList(items, str(100 + number), token)


async def test_pages_carry_only_the_token_and_bear_the_first_version() -> None:
    book = Book(3)

    found = [page async for page in pages(book, page_size=1, resource_version="0")]

    assert book.asked == [("0", 1, ""), ("", 1, "1"), ("", 1, "2")]
    assert [page.resource_version for page in found] == ["100", "100", "100"]
    assert [one.name for page in found for one in page] == ["0", "1", "2"]


async def test_all_pages_become_one_list() -> None:
    found = await collect(Book(3), page_size=1)

    assert [one.name for one in found] == ["0", "1", "2"]
    assert (found.resource_version, found.continue_token) == ("100", "")


async def test_an_expired_page_is_raised_to_who_reads_pages() -> None:
    with pytest.raises(Expired):
        _ = [page async for page in pages(Book(3, expired=1), page_size=1)]


async def test_an_expired_page_costs_one_full_list_at_the_original_version() -> None:
    book = Book(3, expired=1)

    found = await collect(book, page_size=1, resource_version="7")

    assert book.asked == [("7", 1, ""), ("", 1, "1"), ("7", 0, "")]
    assert [one.name for one in found] == ["0", "1", "2"]


async def test_an_expired_first_page_is_raised() -> None:
    with pytest.raises(Expired):
        await collect(Book(3, expired=0), page_size=1)

"""Kinds of a small application, as dataclass and as class of pydantic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from proreus.client import checked
from proreus.embedded import custom_resource


@dataclass
class Note:
    text: Annotated[str, checked(maxLength=100)]
    author: str = "nobody"


class Task(BaseModel):
    title: str
    priority: int = Field(default=1, ge=1, le=5)


@custom_resource(group="rooms.example", version="v2", plural="rooms")
@dataclass
class Room:
    seats: int

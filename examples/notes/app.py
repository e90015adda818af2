"""Notes that several people edit at once: a FastAPI application, a store in one file, and a page.

uvicorn --app-dir examples/notes app:app        # needs fastapi and uvicorn

The page reads and writes the store below ``/store`` and follows it by Server-Sent Events. The
application itself only says who somebody is and what they may do; it watches the store too, without
HTTP, to count what happens.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Query
from fastapi.responses import FileResponse, RedirectResponse
from pydantic import BaseModel, Field

from proreus.embedded import Action, Caller, Store

HERE = Path(__file__).parent


class Note(BaseModel):
    text: str = Field(max_length=2000)
    author: str = Field(max_length=40)


store = Store(os.environ.get("NOTES_FILE", "notes.db"), kinds=[Note])
happened: Counter[str] = Counter()


async def count_changes() -> None:
    async for change in store.of(Note).watch():
        happened[change.type] += 1


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with store:
        counting = asyncio.create_task(count_changes())
        try:
            yield
        finally:
            counting.cancel()
            await asyncio.wait([counting])


async def signed_in(caller: Caller) -> str | None:
    return caller.cookies.get("name")


async def may_do(action: Action) -> bool:
    return action.verb in ("get", "list", "watch", "create", "update", "delete")


app = FastAPI(lifespan=lifespan)
app.mount("/store", store.asgi(authenticate=signed_in, authorize=may_do))


@app.get("/")
async def page() -> FileResponse:
    return FileResponse(HERE / "page.html")


@app.get("/page.js")
async def script() -> FileResponse:
    return FileResponse(HERE / "page.js", media_type="text/javascript")


@app.get("/sign-in")
async def sign_in(name: Annotated[str, Query(pattern="^[a-z]{1,40}$")]) -> RedirectResponse:
    """A name is enough here; a real application would ask for more."""
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie("name", name, samesite="strict")
    return answer


@app.get("/happened")
async def statistics() -> dict[str, int]:
    return dict(happened)

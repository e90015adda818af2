"""A conversion webhook for tests: real HTTPS in a thread, and whatever it should do wrong.

Widgets of v1 say ``spec.size``, those of v2 ``spec.dimensions.size``: nothing a rewrite of the
apiVersion could do.
"""

from __future__ import annotations

import base64
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import trustme

Json = dict[str, Any]
Answer = Callable[[Json], Json]


def converted(obj: Json, to: str) -> Json:
    spec = dict(obj.get("spec") or {})
    if to.endswith("/v2") and "size" in spec:
        spec["dimensions"] = {"size": spec.pop("size")}
    if to.endswith("/v1") and "dimensions" in spec:
        spec["size"] = spec.pop("dimensions").get("size")
    return {**obj, "apiVersion": to, "spec": spec}


def answer(review: Json) -> Json:
    """What a good webhook says."""
    asked = review["request"]
    made = [converted(obj, asked["desiredAPIVersion"]) for obj in asked["objects"]]
    response = {"uid": asked["uid"], "convertedObjects": made, "result": {"status": "Success"}}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


class ConversionServer:
    """``answer`` may be replaced; ``open`` closed holds every call back; ``calls``: all so far."""

    def __init__(self, port: int = 0) -> None:
        self.answer: Answer = answer
        self.code = 200
        self.open = threading.Event()
        self.open.set()
        self.calls: list[Json] = []
        self._authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        names = ("127.0.0.1", "converter.default.svc")
        self._authority.issue_cert(*names).configure_cert(context)
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._http.daemon_threads = True
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/convert"

    @property
    def ca_bundle(self) -> str:
        return base64.b64encode(self._authority.cert_pem.bytes()).decode()

    def conversion(self, **client: Any) -> Json:
        """The stanza of a definition; ``client`` in place of the URL."""
        config = {"caBundle": self.ca_bundle, **(client or {"url": self.url})}
        webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
        return {"strategy": "Webhook", "webhook": webhook}

    @property
    def converted(self) -> list[tuple[str, int]]:
        """Of each call: which version was wanted, of how many objects."""
        asked = [call["request"] for call in self.calls]
        return [(one["desiredAPIVersion"], len(one["objects"])) for one in asked]

    def serve(self) -> None:
        self._http.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        self.open.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: ConversionServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            review = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.calls.append(review)
            server.open.wait()
            body = orjson.dumps(server.answer(review)) if server.code == 200 else b"broken"
            self.send_response(server.code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return None

    return Handler


@contextmanager
def conversion_server(port: int = 0) -> Iterator[ConversionServer]:
    server = ConversionServer(port)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()

"""Webhooks for tests, as a program of its own: real HTTPS, and whatever they should do wrong.

``PUT /NAME`` says what ``POST /NAME`` answers (``Behaviour`` in ``webhooks``); ``GET /calls`` has
what was posted so far. The first line of the output is where to find it.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme

Json = dict[str, Any]
BEHAVIOURS: dict[str, Json] = {}
CALLS: list[Json] = []
STOPPED = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        BEHAVIOURS[self.path] = self._body()
        self._send(200, b"{}")

    def do_GET(self) -> None:
        self._send(200, json.dumps(CALLS).encode())

    def do_POST(self) -> None:
        review, path = self._body(), self.path.partition("?")[0]
        behaviour = BEHAVIOURS.get(path, {})
        CALLS.append({"path": path, "query": self.path.partition("?")[2], **review})
        if behaviour.get("hold"):
            STOPPED.wait()
        if behaviour.get("cut"):
            self.close_connection = True
            self.connection.close()
        elif size := behaviour.get("endless"):
            self._endless(size)
        elif (raw := behaviour.get("raw")) is not None:
            self._send(behaviour.get("code", 200), raw.encode(), behaviour.get("location", ""))
        else:
            self._send(200, json.dumps(_answer(review, behaviour)).encode())

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _endless(self, size: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        piece = b" " * 65536
        try:
            while size > 0:
                self.wfile.write(piece)
                size -= len(piece)
        except OSError:
            self.close_connection = True  # nobody reads any more

    def _send(self, code: int, body: bytes, location: str = "") -> None:
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return None


def _answer(review: Json, behaviour: Json) -> Json:
    response: Json = {"uid": review["request"]["uid"], "allowed": True}
    if (patch := behaviour.get("patch")) is not None:
        response["patch"] = base64.b64encode(json.dumps(patch).encode()).decode()
        response["patchType"] = "JSONPatch"
    response |= behaviour.get("response", {})
    return {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}


def main() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "hook.default.svc").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    where = {"port": server.server_port, "authority": authority.cert_pem.bytes().decode()}
    sys.stdout.write(f"{json.dumps(where)}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until the test closes it
    STOPPED.set()


if __name__ == "__main__":
    main()

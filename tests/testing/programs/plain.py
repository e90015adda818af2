"""One request by Python's own library: what the workloads are made of, since it starts quickly.

python plain.py METHOD PATH [JSON]
"""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import yaml


def main() -> None:
    method, path, body = sys.argv[1], sys.argv[2], "".join(sys.argv[3:])
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    tls = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile() as pair:
        for part in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[part]))
        pair.flush()
        tls.load_cert_chain(pair.name)
    connection = http.client.HTTPSConnection(urlsplit(cluster["server"]).netloc, context=tls)
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    connection.request(method, path, body or None, {"Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read()
    sys.exit(0 if answer.status < 300 else text.decode())


main()

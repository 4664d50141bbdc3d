#!/usr/bin/env python3
"""Receives the callbacks of tasks, checks their signatures (Standard Webhooks), and prints a line for each event.

usage: SIGNING_KEY=whsec_... python3 receiver.py [PORT]

PORT is 8086 unless given; with 0 the system chooses a free one. The first line of output has the address.
`GET /v1/signing-key` of the task service answers with the key, as does the Secret `trainyard-callback-signing`.

A receiver of your own needs what `verified` and `do_POST` do: compare signatures, refuse old timestamps,
ignore a `webhook-id` that it has seen, and answer 2xx soon.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300


def verified(key, headers, body):
    """Whether one of the signatures was made with the key, not long ago, for this body."""
    identity, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{identity}.{timestamp}.".encode() + body
    wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    signatures = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(f"v1,{wanted}", signature) for signature in signatures)


class Receiver(BaseHTTPRequestHandler):
    key = b""
    seen = set()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not verified(self.key, self.headers, body):
            print("refused: the signature does not fit", flush=True)
            self.answer(401)
            return
        identity = self.headers["webhook-id"]
        if identity not in self.seen:
            self.seen.add(identity)
            event = json.loads(body)
            print(f"{event['task_def']} {event['task_id']} {event['status']}", flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *words):
        pass


def main():
    secret = os.environ.get("SIGNING_KEY", "")
    if not secret.startswith("whsec_"):
        sys.exit("error: SIGNING_KEY is not set to a key that begins with `whsec_`")
    Receiver.key = base64.b64decode(secret.removeprefix("whsec_"))
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8086
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"listening on http://localhost:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""An MCP server over HTTP that behaves, or misbehaves as it is told; it runs in the test's own process."""
import http.server
import json
import threading

import pki

TOOLS = [{"name": "echo", "description": "says it back", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
         {"name": "fails", "inputSchema": {"type": "object"}}]


class McpServer:
    def __init__(self, *how, tls=None):
        self.how, self.heard, self.sessions, self.lock = set(how), [], set(), threading.Lock()
        self.streams, self.removed, self.pongs = [], [], threading.Event()  # headers of each GET and DELETE
        self.listing, self.refused = threading.Event(), threading.Event()
        self.closing, self.trickling, self.alone, self.awaits = threading.Event(), 0, threading.Event(), None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                outer.post(self, self.rfile.read(int(self.headers["Content-Length"])))

            def do_GET(self):
                outer.stream(self)

            def do_DELETE(self):
                outer.remove(self)

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/mcp"
        if tls:
            pki.listen_with(tls, self.http)
            self.url = f"https://localhost:{self.http.server_port}/mcp"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()

    def send(self, h, status, body=None, kind="application/json", **headers):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        h.send_response(status)
        h.send_header("Content-Type", kind)
        h.send_header("Content-Length", str(len(data)))
        for k, v in headers.items():
            h.send_header(k.replace("_", "-"), v)
        h.end_headers()
        h.wfile.write(data)

    def trickle(self, h, kind, first, then):
        """An answer that never ends, until the other side has enough of it."""
        h.close_connection = True
        h.send_response(200)
        h.send_header("Content-Type", kind)
        h.end_headers()
        data = first
        with self.lock:
            self.trickling += 1
        try:
            while not self.closing.wait(0.05):
                h.wfile.write(data)
                data = then
        except OSError:
            with self.lock:
                self.trickling -= 1
                if self.trickling == 0:
                    self.alone.set()

    def stream(self, h):
        """What a server says by itself: a question, word of a changed list; then it is silent, or ends."""
        with self.lock:
            self.streams.append({k.lower(): v for k, v in h.headers.items()})
        if "streams" not in self.how and "streams-end" not in self.how:
            return self.send(h, 405, {"error": "no stream here"})
        h.close_connection = True
        h.send_response(200)
        h.send_header("Content-Type", "text/event-stream")
        h.end_headers()
        for m in ({"id": "s1", "method": "ping"}, {"id": "s2", "method": "roots/list"}, {"method": "notifications/tools/list_changed"},
                  {"method": "notifications/tools/list_changed"}):
            h.wfile.write(f": alive\n\ndata: {json.dumps(dict(jsonrpc='2.0', **m))}\n\n".encode())
        h.wfile.flush()
        if "streams" in self.how:
            self.closing.wait(60)

    def remove(self, h):
        with self.lock:
            self.removed.append({k.lower(): v for k, v in h.headers.items()})
        self.sessions.discard(h.headers.get("Mcp-Session-Id"))
        if "stays" in self.how:
            return self.closing.wait(60)
        return self.send(h, 405 if "no-end" in self.how else 200)

    def answer(self, h, message, **headers):
        if "sse" not in self.how:
            return self.send(h, 200, message, "application/json; charset=utf-8", **headers)
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        text = f": alive\r\nid: 1\r\ndata:\r\n\r\nevent: message\r\ndata: {json.dumps(note)}\r\n\r\ndata: {json.dumps(message)}\r\n\r\n"
        return self.send(h, 200, text.encode(), "text/event-stream", **headers)

    def work(self, h, ident, params):
        """It tells how far it is, longer than a call may be silent."""
        h.close_connection = True
        h.send_response(200)
        h.send_header("Content-Type", "text/event-stream")
        h.end_headers()
        steps = 0
        while steps < (8 if "works-for-ever" not in self.how else 10000) and not self.closing.wait(0.4):
            m = {"method": "notifications/progress", "params": {"progressToken": params["_meta"]["progressToken"], "progress": steps}}
            try:
                h.wfile.write(f"data: {json.dumps(dict(jsonrpc='2.0', **m))}\n\n".encode())
            except OSError:
                return
            steps += 1
        h.wfile.write(f"data: {json.dumps({'jsonrpc': '2.0', 'id': ident, 'result': {'content': [{'type': 'text', 'text': 'done'}]}})}\n\n".encode())

    def post(self, h, body):
        m = json.loads(body)
        with self.lock:
            self.heard.append(({k.lower(): v for k, v in h.headers.items()}, h.path, m))
        method, ident, params = m.get("method"), m.get("id"), m.get("params", {})
        modern = "modern" in self.how
        if "locked" in self.how and h.headers.get("Authorization") != "Bearer the-token":
            return self.send(h, 401, {"error": "who are you"}, WWW_Authenticate="Bearer")
        if "trickle" in self.how:
            pings = "".join(f'data: {{"jsonrpc":"2.0","id":{i},"method":"ping"}}\n\n' for i in range(3))
            return self.trickle(h, "text/event-stream", pings.encode(), b": x\n\n") if method else \
                self.trickle(h, "application/json", b" ", b" ")
        if "redirect" in self.how:
            return self.send(h, 307, None, Location="http://127.0.0.1:9/elsewhere")
        if method == "server/discover":
            if "late-no" in self.how:
                self.listing.wait(300)
                self.send(h, 404, {"error": "no session"})
                return self.refused.set()
            if not modern:
                return self.send(h, 400, {"error": "no session"})
            return self.answer(h, {"jsonrpc": "2.0", "id": ident, "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}})
        if method == "initialize":
            session = f"s{len(self.heard)}"
            self.sessions.add(session)
            return self.answer(h, {"jsonrpc": "2.0", "id": ident, "result": {
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "lab", "version": "1"}}},
                Mcp_Session_Id=session)
        if not modern and h.headers.get("Mcp-Session-Id") not in self.sessions:
            return self.send(h, 404, {"error": "no such session"})
        if method is None and ident == "s2":
            self.pongs.set()
        if ident is None or method is None:
            return self.send(h, 202)
        if method == "tools/call" and "streams" in self.how:
            self.pongs.wait(20)
        if method == "tools/list":
            self.listing.set()
            if "late-no" in self.how:
                self.refused.wait(300)
            region = {"name": "region", "inputSchema": {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}}
            return self.answer(h, {"jsonrpc": "2.0", "id": ident, "result": {"tools": TOOLS + [region] * ("headers" in self.how)}})
        if self.awaits and not self.awaits.wait(20):
            return self.send(h, 500, {"error": "it did not happen"})
        if "works" in self.how:
            return self.work(h, ident, params)
        if "hang" in self.how:
            threading.Event().wait(30)
        if "forget" in self.how:
            self.how.remove("forget")
            self.sessions.clear()
            return self.send(h, 404, {"error": "no such session"})
        if "broken" in self.how:
            return self.send(h, 200, b"<html>")
        if "big" in self.how:
            return self.send(h, 200, b'{"x":"' + b"y" * (9 << 20) + b'"}')
        if "other-id" in self.how:
            ident = 1
        if "accepted" in self.how:
            return self.send(h, 202, {"jsonrpc": "2.0", "id": ident, "result": {"content": [{"type": "text", "text": "late"}]}})
        if "refuses" in self.how:
            return self.send(h, 400, {"jsonrpc": "2.0", "id": ident, "error": {"code": -32602, "message": "no such note"}})
        if "fails-well" in self.how:
            return self.send(h, 200, {"jsonrpc": "2.0", "id": ident, "error": {"code": -32603, "message": "out of ink"}})
        if "tight" in self.how:  # no blank behind the colon, CR alone as a line's end, no last blank line
            text = f"event:message\rdata:{json.dumps({'jsonrpc': '2.0', 'id': ident, 'result': {'content': [{'type': 'text', 'text': 'tight'}]}})}\r\r"
            return self.send(h, 200, text.encode(), "Text/Event-Stream; charset=utf-8")
        failed = params["name"] == "fails"
        return self.answer(h, {"jsonrpc": "2.0", "id": ident, "result": {
            "content": [{"type": "text", "text": "there is none" if failed else params["arguments"].get("text", "")}], "isError": failed,
            **({"resultType": "complete"} if modern else {})}})

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""An MCP server over HTTP that behaves, or misbehaves as it is told; it runs in the test's own process."""
import http.server
import json
import threading

TOOLS = [{"name": "echo", "description": "says it back", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
         {"name": "fails", "inputSchema": {"type": "object"}}]


class McpServer:
    def __init__(self, *how):
        self.how, self.heard, self.sessions, self.lock = set(how), [], set(), threading.Lock()
        self.closing, self.trickling, self.alone, self.awaits = threading.Event(), 0, threading.Event(), None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                outer.post(self, self.rfile.read(int(self.headers["Content-Length"])))

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/mcp"
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

    def answer(self, h, message, **headers):
        if "sse" not in self.how:
            return self.send(h, 200, message, "application/json; charset=utf-8", **headers)
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        text = f": alive\r\nid: 1\r\ndata:\r\n\r\nevent: message\r\ndata: {json.dumps(note)}\r\n\r\ndata: {json.dumps(message)}\r\n\r\n"
        return self.send(h, 200, text.encode(), "text/event-stream", **headers)

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
        if ident is None:
            return self.send(h, 202)
        if method == "tools/list":
            return self.answer(h, {"jsonrpc": "2.0", "id": ident, "result": {"tools": TOOLS}})
        if self.awaits and not self.awaits.wait(20):
            return self.send(h, 500, {"error": "it did not happen"})
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
        failed = params["name"] == "fails"
        return self.answer(h, {"jsonrpc": "2.0", "id": ident, "result": {
            "content": [{"type": "text", "text": "there is none" if failed else params["arguments"].get("text", "")}], "isError": failed,
            **({"resultType": "complete"} if modern else {})}})

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Where models run and how one signs in there: token commands, presets, servers on this machine."""
import contextlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading

import pki
import pytest
from conftest import AGENT6, alone, call, finish, missing, shared
from test_terminal import Screen


def token_script(lab, body):
    path = os.path.join(lab.home, "token.sh")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + body)
    os.chmod(path, 0o755)
    return path


def everything_recorded(lab):
    text = b""
    for top, _, files in os.walk(os.path.join(lab.home, ".local")):
        for name in files:
            with open(os.path.join(top, name), "rb") as f:
                text += f.read()
    return text


def with_token(lab, script, turns, key, ttl=300):
    m = lab.mock({"turns": turns, "api_key": key})
    text = open(os.path.join(lab.home, ".config", "agent6", "config.toml"), encoding="utf-8").read()
    lab.config(text.replace('api_key_env = "MOCK_API_KEY"',
                            f'token_command = ["{script}", "two words"]\ntoken_command_ttl_s = {ttl}'))
    return m


def test_a_token_command_signs_the_requests_and_is_asked_again_when_the_token_is_refused(lab):
    """The first token is stale: the server says 401, the command runs once more, the request is sent again. The agent
    never hears of it, and neither token is in the record."""
    lab.repo(a_DOT_txt="a\n")
    script = token_script(lab, f'echo "$1" >> {lab.home}/asked\nn=$(wc -l < {lab.home}/asked)\necho "tok-number-$n-0123456789"\n')
    m = with_token(lab, script, [{"tool_calls": [call("grep", pattern="a")]}, finish()], "tok-number-2-0123456789")
    r = lab.run("look")
    assert r.returncode == 0, r.both
    assert m.stop()[0] == 0
    assert open(os.path.join(lab.home, "asked"), encoding="utf-8").read() == "two words\ntwo words\n"
    assert [q["status"] for q in m.model_requests()] == [401, 200, 200]
    assert not lab.events("loop.provider.retry") and not lab.events("loop.provider.fatal")
    assert b"tok-number" not in everything_recorded(lab)


@pytest.mark.parametrize("body, says", [("echo half-a-secret; exit 3\n", "token_command ended with status 3"),
                                        (":\n", "token_command printed nothing"),
                                        ("printf 'a\\001b'\n", "holds bytes that a header cannot")])
def test_a_token_command_that_fails_ends_the_run_with_what_to_do(lab, body, says):
    lab.repo(a_DOT_txt="a\n")
    m = with_token(lab, token_script(lab, body), [finish()], "none")
    r = lab.run("look")
    assert r.returncode == 1 and says in r.both, r.both
    assert "half-a-secret" not in r.both and b"half-a-secret" not in everything_recorded(lab)
    m.stop()
    assert not m.model_requests()


def test_no_program_is_taken_from_where_the_model_writes(lab):
    """An activated environment of the project stands first in PATH; what lies there is the model's."""
    marker = os.path.join(lab.home, "executed-on-the-host")
    lab.repo(a_DOT_txt="a\n")
    for name in ("git", "give-token"):
        lab.write(f"bin/{name}", f"#!/bin/sh\ntouch {marker}\necho token-of-the-model\n", mode=0o755)
    lab.git("add", "-A")
    lab.git("commit", "-qm", "an environment")
    lab.env["PATH"] = os.path.join(lab.ws, "bin") + ":./bin:" + lab.env["PATH"]
    m = with_token(lab, "give-token", [finish()], "right")
    r = lab.run("look")
    assert r.returncode == 1, r.both
    m.stop()
    assert not m.model_requests() and not os.path.exists(marker)
    m = with_token(lab, os.path.join(lab.ws, "bin", "give-token"), [finish()], "right")
    r = lab.run("look")
    assert r.returncode == 2 and "where the model may write" in r.both, r.both
    m.stop()
    assert not os.path.exists(marker)


@pytest.mark.parametrize("how", ["link", "bare", "granted"])
def test_no_token_command_of_the_models_is_run_for_a_list_of_models(lab, how):
    lab.repo(a_DOT_txt="a\n")
    marker, tools = os.path.join(lab.home, "executed-on-the-host"), os.path.join(lab.home, "tools")
    os.mkdir(tools)
    path = token_script(lab, f"touch {marker}\necho token\n")
    os.symlink(path, os.path.join(lab.ws, "token"))
    os.symlink(os.path.join(lab.ws, "token"), os.path.join(lab.home, "give-token"))
    os.rename(path, os.path.join(tools, "token.sh"))
    os.symlink(os.path.join(tools, "token.sh"), path)
    lab.env["PATH"] = lab.home + ":" + lab.env["PATH"]
    m = with_token(lab, {"link": os.path.join(lab.ws, "token"), "bare": "give-token", "granted": path}[how], [finish()], "token")
    with open(os.path.join(lab.home, ".config", "agent6", "config.toml"), "a", encoding="utf-8") as f:
        f.write(f'[mcp.files]\ncommand = ["/bin/cat"]\nextra_write_paths = ["{tools}"]\n')
    r = lab.agent6("model", "worker", "mock")
    assert "where the model may write" in r.both, r.both
    r = lab.run("look")
    assert r.returncode == 2 and "token_command: " in r.err and "where the model may write" in r.err, r.both
    m.stop()
    assert not os.path.exists(marker) and not m.model_requests()


def test_a_token_that_stays_refused_is_asked_for_twice_and_no_more(lab):
    lab.repo(a_DOT_txt="a\n")
    m = with_token(lab, token_script(lab, f"echo x >> {lab.home}/asked; echo wrong-token-0123456789\n"), [finish()], "right")
    r = lab.run("look")
    assert r.returncode == 1 and "agent6 connect mock" in r.both, r.both
    m.stop()
    assert [q["status"] for q in m.model_requests()] == [401, 401]
    assert open(os.path.join(lab.home, "asked"), encoding="utf-8").read() == "x\nx\n"


def test_the_list_of_models_is_asked_for_with_the_token(lab):
    lab.repo(a_DOT_txt="a\n")
    m = with_token(lab, token_script(lab, "echo right-token-0123456789\n"), [finish()], "right-token-0123456789")
    r = lab.agent6("model", "worker", "mock")
    assert r.returncode == 0 and "mock-small" in r.out, r.both
    m.stop()


# ---- servers on this machine ----

def local_server(lab, port, ids, hits, tls=None):
    """What a local server answers to GET /v1/models, on the port where one would be (0: any). Who uses a usual port
    has the machine's usual ports alone until the test is over: tests run side by side."""
    if port:
        lab.held.enter_context(alone(shared("mockllm", "mockllm.py")))
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            hits.append((self.path, dict(self.headers)))
            body = json.dumps({"object": "list", "data": [{"id": i} for i in ids]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Answer)
    except OSError as e:
        missing(f"port {port} of this machine is not free: {e}")
    if tls:
        pki.listen_with(tls, server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_with_nothing_configured_a_local_server_is_found_and_the_command_is_told(lab):
    """Nobody is there to ask, so nothing is changed; what to type is said, and works."""
    lab.repo(a_DOT_txt="a\n")
    hits = []
    server = local_server(lab, 11434, ["qwen3:8b", "bad name", "gemma:2b"], hits)
    try:
        r = lab.agent6("run", "look")
        assert r.returncode == 2 and "ollama at http://localhost:11434/v1 offers 2" in r.err, r.both
        assert "agent6 connect ollama && agent6 model worker ollama qwen3:8b" in r.err
        assert not os.path.exists(os.path.join(lab.home, ".config", "agent6", "config.toml"))
        assert [p for p, _ in hits] == ["/v1/models"] and "authorization" not in str(hits).lower()
        assert lab.agent6("connect", "ollama").returncode == 0
        assert lab.agent6("model", "worker", "ollama").out.split() == ["qwen3:8b", "gemma:2b"]
        n = len(hits)
        # The list is kept: the beginning of a name is enough, and nobody is asked.
        assert lab.agent6("model", "worker", "ollama", "gem").returncode == 0
        assert len(hits) == n and "ollama/gemma:2b" in lab.agent6("model").out
    finally:
        server.shutdown()
        server.server_close()


def test_on_a_terminal_the_models_of_this_machine_are_offered(lab):
    lab.repo(a_DOT_txt="a\n")
    server = local_server(lab, 1234, ["small", "large"], [])
    try:
        t = Screen(lab, AGENT6 + " run look")
        t.until("which one")
        assert "lmstudio  small" in t.text() and "2  lmstudio  large" in t.text()
        t.keys("large", "Enter")
        t.until("the worker is lmstudio/large from now on")
        t.close()
        assert "lmstudio/large" in lab.agent6("model").out
    finally:
        server.shutdown()
        server.server_close()


# ---- a wrong server, a wrong name ----

NAMES = ["claude-sonnet-4-5-20250929", "gpt-5.1", "gpt-5.1-codex", "qwen3:8b", "meta/llama-4", "zephyr"]


@pytest.mark.parametrize("typed, becomes", [
    ("zephyr", "zephyr"), ("zep", "zephyr"), ("claude-sonnet-4-5", "claude-sonnet-4-5"), ("meta/llama-4:free", "meta/llama-4:free"),
    ("gpt-5.1", "gpt-5.1")])
def test_a_model_is_taken_as_the_server_calls_it(lab, typed, becomes):
    """Alone, by a beginning that only one has, without the day it was made, with a router's variant."""
    lab.repo()
    lab.mock({"turns": [finish()], "models": NAMES})
    r = lab.agent6("model", "worker", "mock", typed)
    assert r.returncode == 0 and "warning" not in r.err, r.both
    assert lab.agent6("config", "get", "models.worker.model").out.startswith(f'models.worker.model = "{becomes}"')


@pytest.mark.parametrize("typed, near", [("zehpyr", "nearest: zephyr"), ("gpt-51", "nearest: gpt-5.1"), ("llama-3", "nearest: meta/llama-4"),
                                         ("xxxxxxxxxxxx", "agent6 model ROLE PROVIDER lists them"), ("gpt", "nearest: gpt-5.1, gpt-5.1-codex")])
def test_a_model_that_the_server_does_not_list_is_refused_with_the_nearest_names(lab, typed, near):
    lab.repo()
    m = lab.mock({"turns": [finish()], "models": NAMES})
    before = open(os.path.join(lab.home, ".config", "agent6", "config.toml"), encoding="utf-8").read()
    r = lab.agent6("model", "worker", "mock", typed)
    assert r.returncode == 2 and f'lists 6 models and none is called "{typed}"' in r.err and near in r.err and "--force" in r.err, r.both
    assert open(os.path.join(lab.home, ".config", "agent6", "config.toml"), encoding="utf-8").read() == before
    asked = len(m.requests())
    assert lab.agent6("model", "worker", "mock", typed, "--force").returncode == 0 and len(m.requests()) == asked
    assert f'"{typed}"' in lab.agent6("config", "get", "models.worker.model").out


def test_a_model_that_was_just_put_there_is_found_although_the_kept_list_is_young(lab):
    lab.repo()
    hits, ids = [], ["old"]
    server = local_server(lab, 0, ids, hits)
    lab.mock({"turns": [finish()]})
    provider(lab, f'api_format = "openai"\nbase_url = "http://127.0.0.1:{server.server_address[1]}/v1"')
    try:
        assert lab.agent6("model", "worker", "mock").out == "old\n"
        ids.append("new")
        assert lab.agent6("model", "worker", "mock", "new").returncode == 0 and len(hits) == 2
        assert lab.agent6("model", "worker", "mock", "old").returncode == 0 and len(hits) == 2
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("scenario, why", [({"models_status": 500}, "HTTP 500"), ({"models": []}, "no list of models"), (None, "Connection refused")])
def test_where_no_server_tells_a_model_is_taken_with_a_warning(lab, scenario, why):
    lab.repo()
    lab.mock({"turns": [finish()], **(scenario or {})})
    with socket.socket() as nobody:  # a port that is taken, so that nobody else comes to listen there
        nobody.bind(("127.0.0.1", 0))
        if scenario is None:
            provider(lab, f'api_format = "openai"\nbase_url = "http://127.0.0.1:{nobody.getsockname()[1]}/v1"')
        r = lab.agent6("model", "worker", "mock", "any-name")
    assert r.returncode == 0 and "warning: whether mock has such a model is not known" in r.err and why in r.err, r.both
    assert '"any-name"' in lab.agent6("config", "get", "models.worker.model").out


def test_at_azure_a_name_is_a_deployment_s_and_nobody_is_asked(lab):
    lab.repo()
    assert lab.agent6("connect", "azure", "--no-verify", "--base-url", "https://nobody.openai.azure.com/openai/v1").returncode == 0
    r = lab.agent6("model", "worker", "azure", "my-deployment")
    assert r.returncode == 0 and "which no list tells" in r.err, r.both


def page(status, kind, body):
    """A server that is no model server: every GET gets this."""
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.mark.parametrize("status, body, says", [
    (200, b"<html>It works!</html>", "has no list of models (HTTP 200): is the address right?"), (404, b"{}", "has no list of models (HTTP 404)"),
    (200, b'{"data":[]}', "has no list of models (HTTP 200)"), (401, b"{}", "wants a key (HTTP 401)"),
    (503, b"", "the address was not verified: the server answered HTTP 503"), (200, b'{"data":[{"id":"one"}]}', "offers 1 model\n")])
def test_connect_without_a_key_asks_the_server_too_and_says_what_answered(lab, status, body, says):
    lab.repo()
    server = page(status, "application/json", body)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        r = lab.agent6("connect", "mine", "--format", "openai", "--base-url", url)
        assert r.returncode == 0 and says in r.both, r.both
        assert url in lab.agent6("config", "get", "providers.mine.base_url").out
    finally:
        server.shutdown()
        server.server_close()


def test_connect_to_an_address_where_nobody_listens_says_so(lab):
    lab.repo()
    r = lab.agent6("connect", "mine", "--format", "openai", "--base-url", "http://127.0.0.1:1/v1")
    assert r.returncode == 0 and "the address was not verified" in r.err and "Connection refused" in r.err, r.both


def test_on_a_terminal_the_list_is_offered_and_narrowed(lab):
    lab.repo()
    lab.mock({"turns": [finish()], "models": [f"model-{n:02}" for n in range(30)] + ["other/zephyr"]})
    for lines, becomes in ((("model-2", "3"), "model-22"), (("l-29",), "model-29"), (("7",), "model-06"), (("mine", "mine"), "mine")):
        with contextlib.closing(Screen(lab, AGENT6 + " model planner mock")) as t:
            t.until("and 11 more: type a part of the name")
            for line, shown in zip(lines, ("10  model-29" if becomes == "model-22" else "typed once more it is taken all the same", "")):
                t.keys(line, "Enter")
                if len(lines) > 1:
                    t.until(shown)
            t.until(f"Set planner to mock/{becomes} ")
    with contextlib.closing(Screen(lab, AGENT6 + " model planner mock")) as t:
        t.until("more: type")
        t.keys("zepyhr", "Enter")
        t.until("none of the 31 is called so; nearest: other/zephyr")


def test_who_connects_at_a_terminal_chooses_the_first_model_at_once(lab):
    lab.repo()
    server = local_server(lab, 0, ["small", "large"], [])
    try:
        with contextlib.closing(Screen(lab, f"{AGENT6} connect mine --format openai --base-url "
                                            f"http://127.0.0.1:{server.server_address[1]}/v1")) as t:
            t.until("API key")
            t.keys("Enter")
            t.until("2  large")
            t.keys("2", "Enter")
            t.until("Set worker to mine/large")
    finally:
        server.shutdown()
        server.server_close()


def test_a_shell_is_told_roles_providers_and_the_models_that_are_kept(lab):
    lab.repo()
    m = lab.mock({"turns": [finish()], "models": NAMES})
    def complete(*words):
        return [line.split("\t")[0] for line in lab.agent6("complete", "--", *words).out.splitlines()]
    assert complete("model", "work") == ["worker"] and complete("model", "worker", "m") == ["mock"]
    assert complete("model", "worker", "mock", "g") == []  # nobody is asked at a key
    assert not m.requests()
    lab.agent6("model", "worker", "mock")
    assert complete("model", "worker", "mock", "g") == ["gpt-5.1", "gpt-5.1-codex"]
    assert complete("model", "worker", "--repo", "mock", "z") == ["zephyr"]
    assert complete("model", "worker", "../../x", "g") == []


@pytest.mark.parametrize("name, format, url", [
    ("openrouter", "openai", "https://openrouter.ai/api/v1"), ("gemini", "openai", "/v1beta/openai"),
    ("mistral", "openai", "https://api.mistral.ai/v1"), ("deepseek", "openai", "https://api.deepseek.com"),
    ("groq", "openai", "https://api.groq.com/openai/v1"), ("vllm", "openai", "http://localhost:8000/v1"),
    ("llamacpp", "openai", "http://localhost:8080/v1"), ("lmstudio", "openai", "http://localhost:1234/v1")])
def test_presets_know_address_and_format(lab, name, format, url):
    lab.repo()
    r = lab.agent6("connect", name, "--no-verify")
    assert r.returncode == 0, r.both
    text = open(os.path.join(lab.home, ".config", "agent6", "config.toml"), encoding="utf-8").read()
    assert f"[providers.{name}]" in text and f'api_format = "{format}"' in text and url in text


def test_presets_whose_address_is_each_person_s_own_ask_for_it(lab):
    lab.repo()
    r = lab.agent6("connect", "azure", "--no-verify")
    assert r.returncode == 2 and "--base-url https://RESOURCE.openai.azure.com/openai/v1" in r.both
    r = lab.agent6("connect", "vertex", "--no-verify", "--base-url", "https://europe-aiplatform.googleapis.com/v1/p")
    assert r.returncode == 0, r.both
    assert lab.agent6("config", "get", "providers.vertex.deployment").out.startswith('providers.vertex.deployment = "vertex"')
    assert "gcloud" in lab.agent6("config", "get", "providers.vertex.token_command").out


# ---- where they run ----

def provider(lab, text):
    """The lab's configuration with this provider instead of the mock's plain one."""
    path = os.path.join(lab.home, ".config", "agent6", "config.toml")
    rest = open(path, encoding="utf-8").read()
    head, tail = rest.index("[providers.mock]"), rest.index("[models.worker]")
    lab.config(rest[:head] + "[providers.mock]\n" + text + "\n" + rest[tail:])


PLACES = [
    ("anthropic", 'api_format = "anthropic"\nbase_url = "{url}/v1"\napi_key_env = "MOCK_API_KEY"', "/v1/messages", "x-api-key"),
    ("anthropic gateway", 'api_format = "anthropic"\nauth_style = "bearer"\nbase_url = "{url}/v1"\napi_key_env = "MOCK_API_KEY"',
     "/v1/messages", "authorization"),
    ("openai", 'api_format = "openai"\nbase_url = "{url}/v1"\napi_key_env = "MOCK_API_KEY"', "/v1/chat/completions", "authorization"),
    ("responses", 'api_format = "responses"\nbase_url = "{url}/v1"\napi_key_env = "MOCK_API_KEY"', "/v1/responses", "authorization"),
    ("gemini", 'api_format = "openai"\nbase_url = "{url}/v1beta/openai"\napi_key_env = "MOCK_API_KEY"', "/v1beta/openai/chat/completions",
     "authorization"),
    ("vertex chat", 'api_format = "openai"\ndeployment = "vertex"\nbase_url = "{url}/v1/projects/p/locations/l/endpoints/openapi"\n'
                    'token_command = ["echo", "token-0123456789"]', "/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
     "authorization"),
    ("azure token", 'api_format = "openai"\ndeployment = "azure"\nauth_style = "bearer"\nbase_url = "{url}"\n'
                    'extra_query = {{ api-version = "2024-10-21" }}\ntoken_command = ["echo", "token-0123456789"]',
     "/openai/deployments/mock-model/chat/completions", "authorization"),
    ("azure", 'api_format = "openai"\ndeployment = "azure"\nbase_url = "{url}"\nextra_query = {{ api-version = "2024-10-21" }}\n'
              'api_key_env = "MOCK_API_KEY"', "/openai/deployments/mock-model/chat/completions", "api-key"),
    ("azure v1", 'api_format = "openai"\nauth_style = "api_key_header"\nbase_url = "{url}/openai/v1"\napi_key_env = "MOCK_API_KEY"',
     "/openai/v1/chat/completions", "api-key"),
    ("azure responses", 'api_format = "responses"\ndeployment = "azure"\nbase_url = "{url}"\napi_key_env = "MOCK_API_KEY"',
     "/openai/v1/responses", "api-key"),
    ("vertex", 'api_format = "anthropic"\ndeployment = "vertex"\nbase_url = "{url}/v1/projects/p/publishers/anthropic/models"\n'
               'token_command = ["echo", "token-0123456789"]',
     "/v1/projects/p/publishers/anthropic/models/mock-model:streamRawPredict", "authorization"),
    ("gateway", 'api_format = "openai"\nbase_url = "{url}/v1"\napi_key_env = "MOCK_API_KEY"\nextra_headers = {{ x-team = "blue" }}\n'
                'extra_body = {{ seed = 7 }}\nextra_query = {{ trace = "a b" }}', "/v1/chat/completions", "authorization"),
    ("keyless", 'api_format = "openai"\nauth_style = "none"\nbase_url = "{url}/v1"', "/v1/chat/completions", None),
]


@pytest.mark.parametrize("where, text, path, signed", PLACES, ids=[p[0].replace(" ", "-") for p in PLACES])
def test_each_place_gets_the_address_and_the_signature_it_wants(lab, where, text, path, signed):
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock({"turns": [{"tool_calls": [call("grep", pattern="a")]}, finish()]})
    provider(lab, text.format(url=m.url))
    r = lab.run("look")
    assert r.returncode == 0, r.both
    assert m.stop()[0] == 0
    sent = m.model_requests()
    assert len(sent) == 2
    for q in sent:
        assert q["path"] == path, q["path"]
        has = {h.lower() for h in q["headers"]} & {"api-key", "authorization", "x-api-key"}
        assert has == ({signed} if signed else set()), q["headers"]
    if where.startswith("azure") and "deployments" in path:
        assert sent[0]["query"]["api-version"] == "2024-10-21"
    if where == "vertex":
        assert "model" not in sent[0]["body"] and sent[0]["body"]["anthropic_version"] == "vertex-2023-10-16"
    if where == "gateway":
        assert sent[0]["body"]["seed"] == 7 and {h.lower(): v for h, v in sent[0]["headers"].items()}["x-team"] == "blue"
        assert sent[0]["query"]["trace"] == "a b"


def test_azure_without_a_version_is_told_what_is_missing(lab):
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock({"turns": [finish()]})
    provider(lab, f'api_format = "openai"\ndeployment = "azure"\nbase_url = "{m.url}"\napi_key_env = "MOCK_API_KEY"')
    r = lab.run("look")
    assert r.returncode == 2 and 'extra_query = { api-version = "2024-10-21" }' in r.both, r.both
    m.stop()


@pytest.mark.parametrize("status", [400, 404])
def test_a_model_that_refuses_tools_on_chat_goes_on_with_responses(lab, status):
    """In the middle of a run: what was said on one wire is the history on the other, and the server is not asked again in vain."""
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock({"turns": [{"tool_calls": [call("grep", pattern="a")], "match": {"api": "chat"}},
                            {"text": "no", "match": {"api": "chat"}, "loop": "forever", "fault": {
                                "status": status, "error": {"message": "Function tools are not supported here. Please use /v1/responses instead."}}},
                            {"tool_calls": [call("grep", pattern="b")], "match": {"api": "responses"}}, finish()]})
    r = lab.run("look")
    assert r.returncode == 0, r.both
    assert m.stop()[0] == 0
    sent = m.model_requests()
    assert [q["path"] for q in sent] == ["/v1/chat/completions"] * 2 + ["/v1/responses"] * 2
    kinds = [i.get("type", "message") for i in sent[2]["body"]["input"]]
    assert kinds == ["message", "function_call", "function_call_output"], kinds
    assert {h.lower() for q in sent for h in q["headers"]} & {"authorization"}
    assert lab.agent6("replay", os.path.basename(lab.run_dirs()[-1])).returncode == 0
    assert not lab.events("loop.provider.fatal")


# ---- what fails, once and with what to do ----

FAULTS = [
    ("401", {"status": 401}, "check the key: agent6 connect mock"),
    ("402", {"status": 402}, "no credit or quota left"),
    ("403", {"status": 403}, "check what the key may do"),
    ("404", {"status": 404}, "agent6 model worker mock lists what is offered"),
    ("413", {"status": 413}, "takes no request this large and it gets no shorter: AGENTS.md"),
    ("overflow", {"status": 400, "error": {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum",
                                           "code": "context_length_exceeded"}}, "agent6 model chooses one with a larger window"),
    ("422", {"status": 422, "error": {"message": "no such field"}}, "no such field"),
    ("quota", {"status": 429, "error": {"message": "quota", "code": "insufficient_quota"}}, "no credit or quota left"),
    ("credit", {"status": 400, "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}},
     "no credit or quota left"),
    ("filter", {"status": 400, "error": {"message": "filtered", "code": "content_filter"}}, "in other words"),
]


OPENAI_S = ("quota", "filter")  # words of OpenAI's error objects
WIRES = [(f, api) for f in FAULTS for api in ("openai", "anthropic", "responses") if (f[0], api) not in [(n, "anthropic") for n in OPENAI_S]]


@pytest.mark.parametrize("fault, api", WIRES, ids=[f"{f[0]}-{api}" for f, api in WIRES])
def test_what_is_not_tried_again_is_told_once_with_what_to_do(lab, fault, api):
    name, fault, says = fault
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock({"turns": [{"text": "x", "fault": fault}], "on_exhausted": "repeat"}, api=api)
    r = lab.run("look")
    end = lab.events("run.end")[-1]
    m.stop()
    assert r.returncode == 1 and end["reason"] == "provider_error", r.both
    assert len(m.model_requests()) == 1
    assert says in end["message"] and r.both.count(end["message"][:60]) == 1, r.both
    assert "agent6 resume" in r.both


def test_a_certificate_that_nobody_signed_is_not_tried_again(lab):
    lab.repo(a_DOT_txt="a\n")
    folder = os.path.join(lab.folder, "cert")
    pki.authority(folder, "ca")
    pki.certificate(folder, "ca", "localhost", "DNS:localhost")
    tls = pki.server_of(folder, "localhost")
    hits = []
    server = local_server(lab, 0, ["small"], hits, tls)
    lab.mock({"turns": [finish()]})
    text = f'api_format = "openai"\nbase_url = "https://localhost:{server.server_address[1]}/v1"\napi_key_env = "MOCK_API_KEY"'
    try:
        provider(lab, text)
        r = lab.run("look")
        assert r.returncode == 1 and "the server's certificate is not accepted" in r.both and "ca_file" in r.both, r.both
        assert not lab.events("loop.provider.retry") and not hits
        # Whom to trust is not for the model to say, and a file of its is not for the process that has the key to read.
        shutil.copy(f"{folder}/ca.pem", lab.ws)
        os.symlink(f"{folder}/ca.pem", os.path.join(lab.ws, "link"))
        for name in ("ca.pem", "link"):
            provider(lab, text + f'\nca_file = "{lab.ws}/{name}"')
            for r in (lab.run("look"), lab.agent6("model", "worker", "mock")):
                assert r.returncode != 0 and f"ca_file: {lab.ws}/{name} lies in {lab.ws}, where the model may write" in r.both, r.both
        assert hits == []
        provider(lab, text + f'\nca_file = "{folder}/ca.pem"')
        r = lab.agent6("model", "worker", "mock")
        assert r.returncode == 0 and r.out == "small\n" and len(hits) == 1, r.both
    finally:
        server.shutdown()
        server.server_close()


def test_a_name_that_nobody_has_is_told_once_with_what_to_do(lab):
    lab.repo(a_DOT_txt="a\n")
    lab.mock({"turns": [finish()]})
    provider(lab, 'api_format = "openai"\nbase_url = "https://no-such-host.invalid/v1"\napi_key_env = "MOCK_API_KEY"')
    r = lab.run("look")
    end = lab.events("run.end")[-1]
    assert r.returncode == 1 and end["reason"] == "provider_error", r.both
    assert "look up no-such-host.invalid" in end["message"] and "base_url says where it is" in end["message"], end
    assert r.both.count(end["message"][:60]) == 1 and len(lab.events("loop.provider.retry")) == 1


def test_a_server_that_was_never_there_is_tried_twice(lab):
    """Most likely the address is wrong, or nobody started the server."""
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock({"turns": [finish()]})
    provider(lab, 'api_format = "openai"\nbase_url = "http://127.0.0.1:1/v1"\napi_key_env = "MOCK_API_KEY"')
    r = lab.run("look")
    m.stop()
    assert r.returncode == 1 and "Connection refused" in r.both and "base_url says where it is" in r.both, r.both
    assert len(lab.events("loop.provider.retry")) == 1

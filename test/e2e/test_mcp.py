# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""MCP servers: real programs in real jails; the model is scripted. The servers of test/e2e/mcp_server.py misbehave by name."""
import json
import os
import re
import shutil
import socket
import subprocess

import pytest

from conftest import AGENT6, BUILD, SOURCE, alone, call, finish, missing, script, shared, turn
from test_terminal import screen  # noqa: F401  a fixture

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"


def server(lab, *how, name="lab", extra="", read=(), write=()):
    """The configuration of the test server; it lies beside the repository and is all that the server may read."""
    folder = os.path.join(lab.folder, "servers")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "mcp_server.py")
    shutil.copy(os.path.join(SOURCE, "test", "e2e", "mcp_server.py"), path)
    if "startup_timeout_s" not in extra:
        extra = "startup_timeout_s = 120\n" + extra
    return (f"[mcp.{name}]\ncommand = {json.dumps([PYTHON, path, *how])}\n"
            f"extra_read_paths = {json.dumps([folder, *read])}\nextra_write_paths = {json.dumps(list(write))}\n{extra}\n")


def results(mock, request=-1):
    """What the tools of the last turn answered, as the model sees it."""
    body = mock.model_requests()[request]["body"]
    return [json.loads(m["content"]) for m in body["messages"] if m["role"] == "tool"]


def offered(mock):
    return [t["function"]["name"] for t in mock.model_requests()[0]["body"]["tools"] if t["function"]["name"].startswith("mcp__")]


def play(lab, config, *turns, flags=(), **kw):
    mock = lab.mock(script(*turns, finish()), extra=config)
    return mock, lab.run("do it", *flags, **kw)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_tool_of_a_server_is_called(lab_of_each_profile, era):
    lab = lab_of_each_profile.repo(a="1\n")
    mock, r = play(lab, server(lab, era), turn(call("mcp__lab__echo", text="hello")), turn(call("mcp__lab__seen")))
    assert r.returncode == 0, r.both
    assert offered(mock) == [f"mcp__lab__{n}" for n in ("echo", "fails", "look", "rich", "seen")]
    assert results(mock)[0] == {"content": "hello"}
    sent = json.loads(results(mock)[1]["content"])
    assert [m["method"] for m in sent] == (["server/discover"] + ([] if era == "modern" else ["initialize", "notifications/initialized"]) +
                                           ["tools/list", "tools/call", "tools/call"])
    assert sent[-2]["params"]["arguments"] == {"text": "hello"}
    ready = lab.events("mcp.ready")
    assert [(e["server"], e["tools"]) for e in ready] == [("lab", 5)]
    assert ready[0]["protocol"] == ("2026-07-28" if era == "modern" else "2025-06-18")
    assert lab.agent6("replay", lab.run_dirs()[-1].split("/")[-1]).returncode == 0


def test_a_server_reaches_what_it_was_granted_and_nothing_else(lab_of_each_profile):
    lab = lab_of_each_profile.repo(a="1\n")
    granted = os.path.join(lab.folder, "granted")
    os.makedirs(granted)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        secret = os.path.join(lab.folder, "secret")
        with open(secret, "w") as f:
            f.write("a secret")
        lab.env.update(LOOK_PORT=str(port), OTHER="not its own")
        looks = [dict(path=secret), dict(path=os.path.join(lab.ws, "a")), dict(path=os.path.join(lab.home, ".config/agent6/config.toml")),
                 dict(write=os.path.join(lab.ws, "a")), dict(write=os.path.join(granted, "new")), dict(path="/etc/shadow")]
        mock, r = play(lab, server(lab, extra='env = ["LOOK_PORT"]', write=[granted]),
                       turn(*[call("mcp__lab__look", **a) for a in looks]))
    assert r.returncode == 0, r.both
    found = [json.loads(x["content"]) for x in results(mock)]
    for which in (0, 1, 2, 5):
        assert found[which]["path"] in ("FileNotFoundError", "PermissionError"), looks[which]
    assert found[3]["write"] in ("FileNotFoundError", "PermissionError", "OSError")
    assert found[4]["write"] == len("was here\n")
    assert {f["network"] for f in found} <= {"ConnectionRefusedError", "PermissionError", "OSError"}
    assert "OTHER" not in found[0]["env"] and "LOOK_PORT" in found[0]["env"] and "MOCK_API_KEY" not in found[0]["env"]
    assert found[0]["cwd"] == found[0]["home"] and not found[0]["home"].startswith(lab.home)
    assert open(os.path.join(granted, "new")).read() == "was here\n"
    assert lab.read("a") == "1\n"


def test_a_server_that_asks_is_answered_and_given_nothing(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, "asks"), turn(call("mcp__lab__seen")))
    assert r.returncode == 0, r.both
    replies = {json.dumps(m["id"]): m for m in json.loads(results(mock)[0]["content"]) if "method" not in m}
    assert replies['0'] == {"jsonrpc": "2.0", "id": 0, "result": {}}
    assert [replies[k]["error"]["code"] for k in ('"q1"', "2", '"q3"')] == [-32601] * 3


@pytest.mark.parametrize("how", ["noise", "stderr", "wrong-ids", "progress", "changes", "long-line", "pages", "close-on-probe",
                                 "quiet-on-probe", "endless"])
def test_a_careless_server_works_all_the_same(lab, how):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, how), turn(call("mcp__lab__echo", text="one")), turn(call("mcp__lab__echo", text="two")))
    assert r.returncode == 0, r.both
    assert results(mock) == [{"content": "one"}, {"content": "two"}]
    assert lab.events("mcp.server_unavailable") == []
    notes = [e["text"] for e in lab.events("mcp.note")]
    assert (how in ("wrong-ids", "changes")) == (len(notes) == 1), notes


@pytest.mark.parametrize("how,error", [
    ("dies", "it ended with status 3"), ("silent", "it was not ready after 2 s (startup_timeout_s)"),
    ("junk", "100 lines in a row that are no message"), ("old", 'it speaks protocol "1999-01-01", which agent6 does not'),
])
def test_a_run_goes_on_without_a_server_that_does_not_start(lab, how, error):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, how, extra=f"startup_timeout_s = {2 if how == 'silent' else 120}"), turn(call("mcp__lab__echo", text="x")))
    assert r.returncode == 0, r.both
    assert offered(mock) == []
    gone = lab.events("mcp.server_unavailable")
    assert [(e["server"], e["error"]) for e in gone] == [("lab", error)]
    assert "there is no tool named mcp__lab__echo" in results(mock)[0]["error"]
    assert f"mcp lab: {error}" in r.err
    if how == "dies":
        assert gone[0]["stderr_tail"] == "fatal: no database at the given place"


@pytest.mark.parametrize("how,error", [
    ("hang-call", "mcp__lab__echo failed: no answer after 2 s (call_timeout_s)"), ("die-call", "mcp__lab__echo failed: it ended with status 9"),
    ("flood", "mcp__lab__echo failed: it floods: 2000 messages that nobody asked for"),
    ("flood-ids", "mcp__lab__echo failed: it floods: 2000 messages that nobody asked for"),
    ("flood-errors", "mcp__lab__echo failed: it floods its stderr"), ("grow", "mcp__lab__echo failed: a line that does not end"),
])
def test_a_call_that_goes_wrong_is_an_error_for_the_model(lab, how, error):
    lab.repo(a="1\n")
    patience = 2 if how == "hang-call" else 120
    mock, r = play(lab, server(lab, how, extra=f"call_timeout_s = {patience}"), turn(call("mcp__lab__echo", text="x")), turn(call("mcp__lab__rich")))
    assert r.returncode == 0, r.both
    assert results(mock)[0]["error"] == error
    if how in ("hang-call", "die-call"):  # it goes on, or is started anew
        assert results(mock)[1]["content"] == ("one\n\n[image image/png, 4 bytes of base64, not shown]\n\n[link to note://17: Ring buffers]"
                                               "\n\n[resource note://18]\ntwo\n\n[unsupported content: smell]")
    else:
        assert "error" in results(mock)[1]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_call_whose_server_tells_how_far_it_is_may_take_longer(lab, era):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, "works", era, extra="call_timeout_s = 2"), turn(call("mcp__lab__echo", text="x")))
    assert r.returncode == 0, r.both
    assert results(mock) == [{"content": "x"}]


def shown(request):
    """The pictures of a request, whatever its wire, as data URIs."""
    found = []

    def walk(v):
        if isinstance(v, dict):
            source, url = v.get("source"), v.get("image_url")
            if isinstance(source, dict):
                found.append(f"data:{source['media_type']};base64,{source['data']}")
            if url:
                found.append(url if isinstance(url, str) else url["url"])
            for x in v.values():
                walk(x)
        elif isinstance(v, list):
            for x in v:
                walk(x)
    walk(request["body"])
    return found


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TWO = [f"data:image/png;base64,{PICTURE}"] * 2


@pytest.mark.parametrize("api", ["openai", "anthropic", "responses"])
@pytest.mark.parametrize("asked,sees", [("", False), ('pictures = "yes"\n', True)])
def test_a_picture_is_shown_to_a_model_that_can_see_and_named_to_one_that_cannot(lab, api, asked, sees):
    lab.repo(a="1\n")
    mock = lab.mock(script(turn(call("mcp__lab__rich")), turn(call("mcp__lab__echo", text="x")), finish()), api=api,
                    extra=asked + server(lab, "pictures"))
    r = lab.run("do it")
    assert r.returncode == 0, r.both
    assert mock.stop()[0] == 0
    asked = mock.model_requests()
    assert [shown(q) for q in asked] == [[], *[TWO if sees else []] * (len(asked) - 1)]
    word = "shown below" if sees else "not shown"
    assert json.dumps(asked[1]["body"]).count(word) == (2 if sees else 3)
    assert lab.agent6("replay", os.path.basename(lab.run_dirs()[-1])).returncode == 0
    assert PICTURE not in r.both and PICTURE not in lab.agent6("runs", "transcript").both


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_pictures_are_set_aside_with_old_results(lab, api):
    lab.repo(**{f"f{n}": f"{n}\n" * 1500 for n in range(12)})
    mock = lab.mock(script(turn(call("mcp__lab__rich")), *[turn(call("read_file", path=f"f{n}")) for n in range(12)], finish()), api=api,
                    top="[context]\ndrop_at_chars = 20000\n", extra='pictures = "yes"\n' + server(lab, "pictures"))
    r = lab.run("do it")
    assert r.returncode == 0 and mock.stop()[0] == 0, r.both
    counts = [len(shown(q)) for q in mock.model_requests()]
    gone = counts.index(0, 1)
    assert gone > 3 and counts[1:gone] == [2] * (gone - 1) and set(counts[gone:]) == {0}
    assert json.dumps(mock.model_requests()[-1]["body"]).count("[it is not shown any more]") == 2
    assert [e["n"] for e in lab.events("loop.compact.pictures_dropped")] == [2]
    assert lab.agent6("replay", os.path.basename(lab.run_dirs()[-1])).returncode == 0


def test_a_conversation_holds_so_many_pictures_and_the_rest_is_named(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, 'pictures = "yes"\n' + server(lab, "pictures"), *[turn(call("mcp__lab__rich", n=n), call("mcp__lab__echo", text=str(n)))
                                                                         for n in range(10)])
    assert r.returncode == 0, r.both
    assert [len(shown(q)) for q in mock.model_requests()][:12] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 16, 16, *[16] * (len(mock.model_requests()) > 11)]


@pytest.mark.parametrize("api", ["openai", "anthropic", "responses"])
def test_a_model_that_refuses_pictures_goes_on_without(lab, api):
    lab.repo(a="1\n")
    refused = {"text": "x", "fault": {"attempts": 1, "status": 400, "error": {"type": "invalid_request_error",
                                                                             "message": "this model does not support image input"}}}
    mock = lab.mock(script(turn(call("mcp__lab__rich")), dict(turn(call("mcp__lab__rich")), fault=refused["fault"]), finish()), api=api,
                    extra='pictures = "yes"\n' + server(lab, "pictures"))
    r = lab.run("do it")
    assert r.returncode == 0, r.both
    asked = mock.model_requests()
    assert [len(shown(q)) for q in asked] == [0, 2, 0, 0, *[0] * (len(asked) - 4)]
    assert not lab.events("loop.provider.fatal") and lab.events("run.end")[-1]["reason"] == "finish_run"
    assert lab.agent6("replay", os.path.basename(lab.run_dirs()[-1])).returncode == 0


def test_a_cancelled_call_is_told_to_the_server(lab):
    lab.repo(a="1\n")
    # What it has seen it may be asked until it answers in time.
    mock, r = play(lab, server(lab, "hang-call", extra="call_timeout_s = 1"), turn(call("mcp__lab__echo", text="x")),
                   *[turn(call("mcp__lab__seen"))] * 9)
    sent = json.loads(next(x["content"] for x in results(mock)[1:] if "content" in x))
    hung = next(m for m in sent if m.get("method") == "tools/call")
    assert [m["params"]["requestId"] for m in sent if m.get("method") == "notifications/cancelled"] == [hung["id"]]


def test_odd_names_are_offered_once_each_and_lead_to_their_own_tool(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, "names"), finish())
    names = offered(mock)
    assert r.returncode == 0 and len(names) == len(set(names))
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", n) for n in names)
    assert "mcp__lab__has_dot" in names and len([n for n in names if n.startswith("mcp__lab__has_dot_")]) == 2
    left = lab.events("mcp.ready")[0]["left_out"]
    assert len(left) == 3 and all("printable ASCII" in l for l in left)


def test_a_very_long_list_is_cut_and_named(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, "many"), finish())
    assert r.returncode == 0 and len(offered(mock)) == 64
    assert lab.events("mcp.ready")[0]["left_out"] == ["2941 more: a server may offer 64 tools: name those that are wanted in its `tools`"]
    lab.config(open(os.path.join(lab.home, ".config/agent6/config.toml")).read() + 'tools = ["t2999", "echo"]\n')
    r = lab.run()
    names = [t["function"]["name"] for t in mock.model_requests()[-1]["body"]["tools"] if "mcp__" in t["function"]["name"]]
    assert names == ["mcp__lab__echo", "mcp__lab__t2999"]


def test_nothing_of_a_server_reaches_the_terminal_as_it_is(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, "escapes", "stderr"), turn(call("mcp__lab__echo", text="x")), turn(call("mcp__lab__fails")))
    assert r.returncode == 0, r.both
    assert "\x1b]0;owned" not in r.both and "\x07" not in r.both and "\x1b[2J" not in r.both
    about = next(t["function"]["description"] for t in mock.model_requests()[0]["body"]["tools"] if t["function"]["name"] == "mcp__lab__echo")
    assert about == "says[31m it]0;owned back"
    assert results(mock)[1] == {"error": "there is no such note"}


def test_a_long_answer_keeps_its_head_and_tail(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, "big"), turn(call("mcp__lab__echo", text="abcdefgh")))
    got = results(mock)[0]["content"]
    assert len(got) < 60000 and "bytes left out" in got and got.startswith("abcdefgh") and got.endswith("abcdefgh")


def test_a_server_may_finish_when_the_run_is_over_and_holds_nothing_up(lab):
    lab.repo(a="1\n")
    granted = os.path.join(lab.folder, "granted")
    os.makedirs(granted)
    lab.env["SERVER_PID"] = os.path.join(granted, "pid")
    mock, r = play(lab, server(lab, "stays", extra='env = ["SERVER_PID"]', write=[granted]), turn(call("mcp__lab__echo", text="x")))
    assert r.returncode == 0, r.both
    assert open(lab.env["SERVER_PID"]).read() != ""
    left = [p for p in os.listdir("/proc") if p.isdigit() and b"mcp_server.py" in cmdline(p) and lab.folder.encode() in cmdline(p)]
    assert left == []


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


def test_nobody_to_ask_means_no_call(lab):
    lab.repo(a="1\n")
    mock = lab.mock(script(turn(call("mcp__lab__echo", text="x")), finish()), extra=server(lab), top='[sandbox]\nrun_commands = "yes"\n')
    r = lab.agent6("run", "do it")
    assert r.returncode == 0, r.both
    assert results(mock)[0] == {"error": 'mcp__lab__echo was denied: its approval is "ask" and nobody can answer'}


def test_approval_no_and_disabled_servers_are_not_started(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, extra='approval = "no"') + server(lab, name="off", extra="enabled = false"), finish())
    assert r.returncode == 0 and offered(mock) == []
    assert lab.events("mcp.ready") == []


def test_a_server_lies_where_the_model_does_not_write(lab):
    lab.repo(a="1\n", server_DOT_py="print()\n")
    lab.mock(script(finish()), extra=f'[mcp.lab]\ncommand = ["{PYTHON}", "{lab.ws}/server.py"]\n')
    r = lab.run()
    assert r.returncode != 0 and "mcp.lab.command" in r.err and "where the model may write" in r.err


@pytest.mark.parametrize("word", ["link", "bare", "other"])
def test_a_link_of_the_models_and_what_another_server_writes_are_no_server(lab, word):
    lab.repo(a="1\n")
    tools, mine = os.path.join(lab.home, ".local", "bin"), os.path.join(lab.folder, "mine")
    for folder in (tools, mine):
        os.makedirs(folder)
    os.symlink(PYTHON, os.path.join(lab.ws, "python"))
    os.symlink(os.path.join(lab.ws, "python"), os.path.join(tools, "lab-python"))
    shutil.copy("/bin/cat", os.path.join(mine, "cat"))
    lab.env["PATH"] = tools + ":" + lab.env["PATH"]
    lab.git("add", "-A")
    lab.git("commit", "-qm", "link")
    command = {"link": os.path.join(lab.ws, "python"), "bare": "lab-python", "other": os.path.join(mine, "cat")}[word]
    lab.mock(script(finish()), extra=f'[mcp.lab]\ncommand = ["{command}"]\n[mcp.files]\ncommand = ["/bin/cat"]\nextra_write_paths = ["{mine}"]\n')
    r = lab.run()
    assert r.returncode != 0 and "mcp.lab.command" in r.err and "where the model may write" in r.err, r.both


def test_a_server_that_may_write_the_workspace_may_not_write_git(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, write=[lab.ws]), turn(call("mcp__lab__look", write=os.path.join(lab.ws, ".git", "config"))),
                   turn(call("mcp__lab__look", write=os.path.join(lab.ws, "b"))))
    assert r.returncode == 0, r.both
    assert json.loads(results(mock)[0]["content"])["write"] in ("OSError", "PermissionError")
    assert lab.git("show", "HEAD:a") == "1\n" and "was here" not in lab.read(".git/config")
    assert lab.events("loop.auto_commit"), "what it wrote is a step"


def test_a_server_leaves_the_git_directory_of_a_granted_repository_alone(lab_of_each_profile):
    """As commands do: read-only under strict, refused where nothing can be."""
    lab = lab_of_each_profile.repo(a="1\n")
    other = os.path.join(lab.folder, "other")
    subprocess.run(["git", "init", "-q", other], check=True, env=lab.env)
    with open(os.path.join(other, ".git", "config"), encoding="utf-8") as f:
        before = f.read()
    mock, r = play(lab, server(lab, write=[other]), turn(call("mcp__lab__look", write=os.path.join(other, ".git", "config"))),
                   turn(call("mcp__lab__look", write=os.path.join(other, "f"))))
    if lab.profile == "hardened":
        assert r.returncode == 2 and f"{other} holds {other}/.git, which profile \"hardened\" cannot keep read-only" in r.err, r.both
    else:
        assert r.returncode == 0 and json.loads(results(mock)[-1]["content"])["write"] == len("was here\n"), r.both
    with open(os.path.join(other, ".git", "config"), encoding="utf-8") as f:
        assert f.read() == before


def test_the_prompt_is_the_same_each_time(lab):
    lab.repo(a="1\n")
    mock, r = play(lab, server(lab, name="one") + server(lab, name="two"), turn(call("mcp__two__echo", text="x")))
    lab.run()
    tools = [json.dumps(q["body"]["tools"]) for q in mock.model_requests()]
    assert len(tools) > 2 and len(set(tools)) == 1


@pytest.mark.parametrize("key,first,second,asked", [("y", True, False, 2), ("a", True, True, 1), ("N", False, False, 1)])
def test_a_person_is_asked_with_the_tool_and_its_arguments(lab, screen, key, first, second, asked):
    lab.repo(a="1\n")
    mock = lab.mock(script(turn(call("mcp__lab__echo", text="the words")), turn(call("mcp__lab__echo", text="more")), finish()),
                    extra=server(lab), top='[sandbox]\nrun_commands = "yes"\n')
    s = screen("run", "do it", width=160)
    shown = s.until("y once / a all calls of this tool / n no / N never:")
    assert 'Allow the tool "echo" of MCP server lab: {"text":"the words"}' in shown
    s.keys(key, "Enter")
    if asked == 2:
        s.until('{"text":"more"}')
        s.keys("n", "Enter")
    s.status()
    assert len(lab.events("approval.prompt")) == asked
    got = [results(mock, 1)[-1], results(mock, 2)[-1]]
    assert ["content" in g for g in got] == [first, second]
    assert lab.events("approval.prompt")[0]["scope"] == "mcp.lab"


def test_connect_tries_a_server_and_writes_it_down_only_when_it_works(lab):
    lab.repo(a="1\n")
    server(lab)
    folder = os.path.join(lab.folder, "servers")
    words = [PYTHON, os.path.join(folder, "mcp_server.py"), "escapes"]
    lab.config("")
    r = lab.agent6("mcp", "connect", "lab", "--", *words)
    assert r.returncode == 1 and "offers no tool and was not written down" in r.err and "can't open file" in r.out
    assert "mcp.lab" not in lab.agent6("config", "show").out
    r = lab.agent6("mcp", "connect", "lab", "--read", folder, "--", *words)
    assert r.returncode == 0, r.both
    assert "mcp__lab__echo  says[31m it" in r.out and "\x1b" not in r.both
    r = lab.agent6("mcp")
    assert r.returncode == 0 and "lab  ready, 5 tools, protocol 2025-06-18, each call is asked about" in r.out
    listed = json.loads(lab.agent6("mcp", "list", "--json").out)
    assert [t["as"] for t in listed[0]["tools"]] == [f"mcp__lab__{n}" for n in ("echo", "fails", "look", "rich", "seen")]
    bounds = lab.agent6("check", "boundaries").out
    assert re.search(r"mcp\.lab.*reads the system set and " + re.escape(folder) + r".*network: a loopback of its own, and nothing else; the monitor is asked before each call", bounds)
    assert lab.agent6("config", "set", "mcp.lab.enabled", "false").returncode == 0
    assert "lab  disabled" in lab.agent6("mcp", "list").out
    assert lab.agent6("config", "unset", "mcp.lab").returncode == 0
    assert "no server is configured" in lab.agent6("mcp", "list").err


def test_bad_words_about_servers_are_refused(lab):
    lab.repo(a="1\n")
    lab.config("")
    for words, said in [(["a__b", "--", "x"], "is no name of a server"), (["ok"], "the command of the server is missing"),
                        (["ok", "--read", "/no/such", "--", "x"], "/no/such is not there")]:
        r = lab.agent6("mcp", "connect", *words)
        assert r.returncode == 2 or "not there" in said and r.returncode == 1, r.both
        assert said in r.err
    for text, said in [('[mcp.a]\ncommand = ["x"]\nurl = "https://e.example"\n', "a command or a url, not both"),
                       ('[mcp.a]\ncommand = ["x"]\nenv = ["A=b"]\n', "expected names of variables"),
                       ('[mcp.a__b]\ncommand = ["x"]\n', 'without "__"'), ('[mcp.a]\ncomand = ["x"]\n', "did you mean mcp.a.command?"),
                       ('[mcp.a]\ncommand = ["x"]\nextra_write_paths = ["/usr"]\n', "part of the system")]:
        lab.config(text)
        r = lab.agent6("config", "show")
        assert r.returncode != 0 and said in r.err, (text, r.both)


def npm_servers():
    """The reference servers, installed from npm once for this machine's test run; their versions are pinned."""
    wanted = {"@modelcontextprotocol/server-everything": "2026.8.31", "@modelcontextprotocol/server-filesystem": "2026.8.31",
              "@modelcontextprotocol/server-memory": "2026.8.31"}
    if not shutil.which("npm") or not shutil.which("node"):
        missing("npm and node, for the reference servers of the Model Context Protocol")
    folder = os.path.join(BUILD, "mcp-reference")
    done = os.path.join(folder, "done")
    with alone(AGENT6):  # of the same build: tests that need them run side by side
        if not os.path.exists(done):
            os.makedirs(folder, exist_ok=True)
            r = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder,
                                *[f"{k}@{v}" for k, v in wanted.items()]], capture_output=True, text=True, timeout=600)
            if r.returncode:
                missing(f"the reference servers of the Model Context Protocol (npm install failed: {r.stderr.strip()[-600:]})")
            open(done, "w").close()
    return folder


@pytest.fixture(scope="module")
def npm():
    return npm_servers()


def node_server(lab, npm, which, *args, **kw):
    """npm's folder is copied into the lab, so that whoever commands run as may read it."""
    folder = os.path.join(lab.folder, "npm")
    if not os.path.exists(folder):
        shutil.copytree(npm, folder, symlinks=True)
    main = os.path.join(folder, "node_modules", "@modelcontextprotocol", f"server-{which}", "dist", "index.js")
    grants = json.dumps([folder, *kw.get("read", [])])
    return (f"[mcp.{which}]\ncommand = {json.dumps([shutil.which('node'), main, *args])}\nextra_read_paths = {grants}\n"
            f"extra_write_paths = {json.dumps(kw.get('write', []))}\nstartup_timeout_s = 60\n{kw.get('extra', '')}\n")


def test_the_reference_server_for_everything(lab, npm):
    lab.repo(a="1\n")
    mock, r = play(lab, 'pictures = "yes"\n' + node_server(lab, npm, "everything"), turn(call("mcp__everything__echo", message="hello")),
                   turn(call("mcp__everything__get-sum", a=2, b=3)), turn(call("mcp__everything__get-tiny-image")),
                   turn(call("mcp__everything__get-structured-content", location="Chicago")),
                   turn(call("mcp__everything__get-resource-reference", resourceType="Text", resourceId=1)))
    assert r.returncode == 0, r.both
    got = [x.get("content", x) for x in results(mock)]
    assert got[0] == "Echo: hello" and "5" in got[1] and "temperature" in got[3] and "[resource demo://" in got[4], got
    assert [u[:30] for u in shown(mock.model_requests()[-1])] == ["data:image/png;base64,iVBORw0K"] and "shown below" in got[2]
    assert lab.events("mcp.ready")[0]["tools"] >= 8


def test_the_reference_server_for_files_sees_its_grant_alone(lab, npm):
    lab.repo(a="1\n")
    granted = os.path.join(lab.folder, "granted")
    os.makedirs(granted)
    with open(os.path.join(granted, "note"), "w") as f:
        f.write("a note")
    mock, r = play(lab, node_server(lab, npm, "filesystem", granted, write=[granted]),
                   turn(call("mcp__filesystem__read_text_file", path=os.path.join(granted, "note"))),
                   turn(call("mcp__filesystem__write_file", path=os.path.join(granted, "new"), content="written")),
                   turn(call("mcp__filesystem__read_text_file", path=os.path.join(lab.ws, "a"))))
    assert r.returncode == 0, r.both
    assert results(mock)[0]["content"] == "a note"
    assert open(os.path.join(granted, "new")).read() == "written"
    assert "error" in results(mock)[2]


def test_the_reference_server_for_memory_keeps_it_between_runs(lab, npm):
    lab.repo(a="1\n")
    granted = os.path.join(lab.folder, "granted")
    os.makedirs(granted)
    lab.env["MEMORY_FILE_PATH"] = os.path.join(granted, "memory.json")
    entity = {"name": "ring", "entityType": "module", "observations": ["has an off-by-one"]}
    mock, r = play(lab, node_server(lab, npm, "memory", write=[granted], extra='env = ["MEMORY_FILE_PATH"]'),
                   turn(call("mcp__memory__create_entities", entities=[entity])))
    assert r.returncode == 0, r.both
    assert "off-by-one" in open(lab.env["MEMORY_FILE_PATH"]).read()


@pytest.mark.parametrize("flags,works", [
    (["--noise", "--stderr-flood"], True), (["--names"], True), (["--hang-init"], False), (["--die-start"], False), (["--hang-call"], None),
    (["--die-call"], None), (["--ids"], False), (["--bad-utf8"], True), (["--split"], True), (["--schema", "--many", "3000"], True), (["--linger"], True),
])
def test_the_misbehaving_server_of_the_cases(lab, flags, works):
    lab.repo(a="1\n")
    folder = os.path.join(lab.folder, "servers")
    os.makedirs(folder)
    path = shutil.copy(shared("cases", "common", "mcp_stub.py"), folder)
    config = (f'[mcp.stub]\ncommand = {json.dumps([PYTHON, path, *flags])}\nextra_read_paths = ["{folder}"]\n'
              f"startup_timeout_s = {2 if {'--hang-init', '--ids'} & set(flags) else 120}\ncall_timeout_s = {2 if '--hang-call' in flags else 120}\n")
    mock, r = play(lab, config, turn(call("mcp__stub__echo", a="hi")), turn(call("run_command", argv=["/bin/echo", "after"])))
    assert r.returncode == 0, r.both
    names = offered(mock)
    assert len(names) == len(set(names)) <= 64
    assert ("mcp__stub__echo" in names) == (works is not False)
    first = results(mock, 1)[0]
    assert ("content" in first) == (works is True), first
    if works:
        assert first["content"].startswith("caf" if "--bad-utf8" in flags else 'ok {"a": "hi"}')
    assert results(mock)[-1]["stdout"] == "after\n"
    for q in mock.model_requests():
        for t in q["body"]["tools"]:
            assert isinstance(t["function"]["parameters"], dict) and t["function"]["parameters"]["type"] == "object"


def evil_run(lab, extra=""):
    evil = os.path.join(BUILD, "agent6-evil")
    if not os.path.exists(evil):
        missing(f"{evil} is not built (meson option tests)")
    lab.repo(a="1\n")
    granted = os.path.join(lab.folder, "granted")
    os.makedirs(granted)
    lab.env["SERVER_HEARD"] = os.path.join(granted, "heard")
    lab.mock(script(finish()), extra=server(lab, extra='env = ["SERVER_HEARD"]\n' + extra, write=[granted]), top='[sandbox]\nrun_commands = "yes"\n')
    r = subprocess.run([evil, "run", "evil server"], cwd=lab.ws, env=lab.env, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    lines = lab.read("evil.report").splitlines()
    assert not [l for l in lines if l.startswith("FAIL")], (lines, r)
    with open(lab.env["SERVER_HEARD"], encoding="utf-8") as f:
        return lines, [json.loads(l) for l in f]


def test_a_taken_over_agent_calls_no_tool_without_the_approval_that_is_demanded(lab_of_each_profile):
    lines, heard = evil_run(lab_of_each_profile)
    assert "stdin kept" in lines and "pipe 0 closed to us" in lines and "pipe 1 closed to us" in lines
    said = dict(l[5:].split(": ", 1) for l in lines if l.startswith("said "))
    for name in ("call", "another era"):
        assert said[name] == 'why 4 its approval is "ask" and nobody can answer'
    assert said["another name"] == 'why 4 its approval is "ask" and nobody can answer'  # a name like any other, in quotes
    assert said["two messages"] == "why 6 the arguments: byte 3: more than one JSON object"
    assert said["no method"].startswith("why 6 ") and said["no server"].startswith("why 7 ")
    assert "zygote dropped" in lines
    # What could be said is what its fields say: a list, an answer. No call in whatever clothes.
    assert [m.get("method") for m in heard] == ["tools/list", None, "tools/list"], heard
    assert all("jsonrpc" in m for m in heard) and heard[1]["id"].startswith('",')


def test_where_calls_are_allowed_a_taken_over_agent_still_says_one_message_at_a_time(lab):
    lines, heard = evil_run(lab, 'approval = "yes"\n')
    assert [m.get("method") for m in heard] == ["tools/call", "tools/call", "tools/call", "tools/list", None, "tools/list"]
    assert heard[2]["params"]["name"] == 'echo","x":"' and heard[2]["params"]["arguments"] == {}


def test_a_taken_over_agent_calls_no_tool_that_the_operator_left_out(lab_of_each_profile):
    lines, heard = evil_run(lab_of_each_profile, 'approval = "yes"\ntools = ["look", "seen"]\n')
    said = dict(l[5:].split(": ", 1) for l in lines if l.startswith("said "))
    assert said["another name"] == "why 6 mcp.lab.tools does not name this tool" and said["call"] == "why 1 "
    assert [m["params"]["name"] for m in heard if m.get("method") == "tools/call"] == ["look", "look"]

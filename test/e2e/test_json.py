# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""--json: what a script reads is JSON, whether it went well or not, and the exit status is the same."""
import json
import os
import re
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn


def commands(lab):
    """Every command that help lists, as words."""
    found = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?: [A-Z\[].*)?  +\S", lab.agent6("help").out, re.M)
    return [f.split() for f in found]


def test_every_command_that_offers_json_says_its_errors_in_json_with_the_same_status(lab):
    offered = [c for c in commands(lab) if "--json" in lab.agent6(*c, "--help").out]
    assert len(offered) >= 15, offered
    for c in offered:
        plain, as_json = lab.agent6(*c, "--no-such-flag"), lab.agent6(*c, "--json", "--no-such-flag")
        assert plain.returncode == as_json.returncode == 2, c
        assert not as_json.out
        error = json.loads(as_json.err)
        assert error["exit"] == 2 and "--no-such-flag" in error["error"]["message"] and error["error"]["code"], c
        assert plain.err.startswith("ERROR: ") and error["error"]["message"] in plain.err, c


def test_an_error_with_a_place_says_it_in_members(lab):
    lab.config('[sandbox]\nprofile = "nope"\n')
    r = lab.agent6("config", "show", "--json")
    error = json.loads(r.err)["error"]
    assert r.returncode == 2 and not r.out
    assert (error["line"], error["column"]) == (2, 11) and error["file"].endswith("config.toml")
    assert "is not one of" in error["message"]


@pytest.mark.parametrize("command", [
    ("config", "show"), ("config", "presets"), ("memory", "list"), ("runs", "list"), ("skills", "list"), ("prompt", "show"),
    ("runs", "show"), ("runs", "transcript"), ("runs", "graph"), ("history", "search", "nothing"), ("replay",), ("check", "config"),
    ("mcp", "list"), ("config", "get", "git.auto_merge"), ("config", "path"), ("config", "fix"), ("config", "set", "git.auto_prune", "true"),
    ("config", "add", "sandbox.hide_paths", "/x"), ("config", "unset", "git.auto_prune"), ("memory", "show", "n"), ("memory", "add", "x", "y"),
    ("model",), ("model", "planner", "mock", "mock-small"), ("connect", "mock", "--no-verify"), ("connect", "mock", "--logout"),
    ("runs", "diff"), ("runs", "diff", "--stat"), ("runs", "stop"), ("ask", "list"), ("runs", "rm", "mine"),
])
def test_what_is_printed_parses(lab, command):
    lab.repo(a="1\n")
    lab.mock(script({"text": "Nothing."}, finish()))
    note = lab.agent6("memory", "add", "build", "make").out.strip()
    assert lab.run("nothing", "--run-id", "mine").returncode == 0
    command = [note if word == "n" else word for word in command]
    plain, r = lab.agent6(*command), lab.agent6(*command, "--json")
    if command[:2] == ["runs", "rm"]:  # the first one removed it
        assert lab.run("nothing", "--run-id", "mine").returncode == 0
        r = lab.agent6(*command, "--json")
    assert r.returncode == plain.returncode, r.both
    lines = [line for line in r.out.splitlines() if line]
    assert lines, r.both
    try:
        json.loads(r.out)
    except ValueError:  # a long list comes as one object a line
        assert all(isinstance(json.loads(line), dict) for line in lines)


def test_one_thing_has_one_name_in_every_output(lab):
    lab.repo(a="1\n")
    lab.mock(script(finish()))
    for name in ("mine", "other"):
        assert lab.run("nothing", "--run-id", name).returncode == 0

    def told(*words):
        said = json.loads(lab.agent6(*words, "--json").out)
        return said if isinstance(said, dict) else {o["run_id"]: o for o in said}["mine"]
    seen = {words: told(*words) for words in (("runs", "list"), ("runs", "show", "mine"), ("runs", "compare", "mine", "other"),
                                              ("runs", "stop", "mine"), ("runs", "diff", "mine"), ("runs", "verify", "mine"), ("replay", "mine"))}
    for words, o in seen.items():
        assert o["run_id"] == "mine" and not {"id", "session", "state", "alive"} & set(o), (words, o)
    listed, shown, compared = (seen[words] for words in list(seen)[:3])
    assert listed["status"] == shown["status"] == compared["status"] == "finished", seen
    assert listed["live"] is shown["live"] is False and listed["cost_usd"] == shown["cost_usd"] == compared["cost_usd"]


def test_names_that_are_not_utf8_end_no_command(lab):
    home = os.path.join(os.fsencode(lab.folder), b"h\xe9")
    dot = os.path.join(home, b".config", b"agent6")
    os.makedirs(dot)
    with open(os.path.join(dot, b"config.toml"), "w", encoding="ascii") as f:
        f.write("bogus = 1\n")
    for words in (["config", "fix"], ["config", "set", "budget.max_usd", "3"], ["config", "unset", "budget.max_usd"], ["config", "path"],
                  ["prompt", "show", "--role", b"review:\xff"]):
        r = subprocess.run([AGENT6, *words, "--json"], cwd=lab.ws, env=dict(lab.env, HOME=home), capture_output=True)
        assert r.returncode == 0 and json.loads(r.stdout.decode("utf-8")), r


def test_a_session_that_is_refused_says_so_in_json(lab):
    r = lab.agent6("ask", "--json", "why?")
    error = json.loads([line for line in r.err.splitlines() if line.startswith("{")][-1])
    assert r.returncode == error["exit"] == 2 and "model" in error["error"]["message"]


def test_what_was_changed_is_told_in_json(lab):
    lab.repo(a="1\n")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo 2 > a"])), finish()))
    assert lab.run("change a", "--run-id", "mine").returncode == 0

    def told(*words, **kw):
        r = lab.agent6(*words, "--json", **kw)
        assert r.returncode == 0, r.both
        return json.loads(r.out)

    assert told("config", "set", "git.auto_merge", "true")[0] | {"file": ""} == {
        "key": "git.auto_merge", "changed": True, "file": "", "value": "true", "loosens": True, "hidden_by": None, "warning": None}
    assert told("config", "get", "git.auto_merge")["git.auto_merge"]["value"] is True
    unset = told("config", "unset", "git.auto_merge")[0]
    assert unset["changed"] and unset["value"] is None and not told("config", "unset", "git.auto_merge")[0]["changed"]
    assert told("config", "path")["global_config"]["present"] and not told("config", "path")["repo_config"]["present"]
    roles = {r["role"]: r for r in told("model", "planner", "mock", "mock-small")}
    assert roles["planner"]["set"] and roles["planner"]["source"] == "global" and roles["critic"]["model"] == "mock-model"
    assert not roles["critic"]["set"]
    assert [m["id"] for m in told("model", "worker", "mock")] == ["mock-large", "mock-small"]
    diff = told("runs", "diff", "mine")
    assert diff["patch"].startswith("diff --git a/a b/a") and diff["base_branch"] == "main" and len(diff["base_sha"]) == 40
    assert "1 file changed" in told("runs", "diff", "mine", "--stat")["stat"]
    connected = told("connect", "mock", stdin="a-key\n")
    assert (connected["key"], connected["server"], connected["models"]) == ("environment", "verified", 2), connected
    assert "a-key" not in json.dumps(connected)
    note = told("memory", "add", "build", "make")["id"]
    assert told("memory", "show", note)["text"] == "make"
    kept = lab.agent6("runs", "rm", "mine", "--json")
    assert kept.returncode == 2 and "in no branch" in json.loads(kept.err)["error"]["message"]
    assert told("runs", "rm", "mine", "--unmerged") == {"run_id": "mine", "what": "removed", "merged_into": None, "had_commits": True,
                                                        "branch_kept": False, "stash": None}
    lab.config("nonsense = 1\n[git]\nauto_merge = 3\n")
    fixed = told("config", "fix")
    assert [(r["key"], r["layer"]) for r in fixed["removed"]] == [("nonsense", "global"), ("git.auto_merge", "global")] and fixed["left"] == []

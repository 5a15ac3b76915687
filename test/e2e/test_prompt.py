# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""prompt show: what a model would be told first, compared with what a mock model was told first."""
import json
import os

import pytest

from conftest import call, finish, script, turn
from test_mcp import server

START = {"run": ("run", "--auto-approve"), "plan": ("plan", "new", "--auto-approve"), "ask": ("ask", "--auto-approve")}


def texts(content):
    """The texts of a message, whichever way the wire puts them."""
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


def told(body, api):
    """System prompt, tools and first message of a request as that wire has them."""
    if api == "anthropic":
        return texts(body["system"]), [(t["name"], t["description"], t["input_schema"]) for t in body["tools"]], \
            texts(body["messages"][0]["content"])
    tools = [t["function"] for t in body["tools"]]
    assert body["messages"][0]["role"] in ("system", "developer")
    return texts(body["messages"][0]["content"]), [(t["name"], t["description"], t["parameters"]) for t in tools], \
        texts(body["messages"][1]["content"])


@pytest.mark.parametrize("mode", ["run", "plan", "ask"])
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_what_is_shown_is_what_the_first_request_says(lab, mode, api):
    lab.repo(AGENTS_DOT_md="# Notes\n\nBe terse.\n", Makefile="test:\n\ttrue\n", src__a_DOT_py="x = 1\n")
    m = lab.mock(script(finish()), api=api)
    lab.agent6("memory", "add", "build", "it needs make")
    shown = lab.agent6("prompt", "show", "--json", "--mode", mode, "find the fault")
    assert shown.returncode == 0, shown.both
    shown = json.loads(shown.out)
    assert not m.requests()
    lab.agent6(*START[mode], "find the fault")
    system, tools, first = told(m.model_requests()[0]["body"], api)
    assert shown["mode"] == mode
    assert shown["system"] == system
    assert [(t["name"], t["description"], t["input_schema"]) for t in shown["tools"]] == tools
    assert shown["first_message"] == first and "find the fault" in first
    assert shown["bytes"]["system"] == len(system.encode()) and shown["bytes"]["first_message"] == len(first.encode())


def test_it_needs_no_provider_no_clean_tree_and_nobody_who_answers_and_keeps_no_session(lab):
    lab.repo(a_DOT_txt="1\n")
    lab.write("a.txt", "2\n")
    r = lab.agent6("prompt")
    assert r.returncode == 0, r.both
    assert "You are agent6" in r.out and "run_command" in r.out and "== in all: " in r.out and "(your task)" in r.out
    assert not r.err
    assert not lab.run_dirs() and lab.read("a.txt") == "2\n"
    assert lab.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


def test_it_goes_on_beside_a_run_and_outside_a_repository(lab):
    r = lab.agent6("prompt", "show", "--mode", "ask", "--no-commands", "why?")
    assert r.returncode == 0 and "QUESTION:\nwhy?" in r.out, r.both
    assert "\nrun_command\n" not in r.out


@pytest.mark.parametrize("args, says", [
    (("--mode", "nope"), '"nope" is not one of run, plan, ask'),
    (("--preset", "nope"), '--preset: "nope" is not one of'),
    (("--role", "nope"), '--role: "nope" is not one of planner'),
    (("--mode", "run"), None),
])
def test_what_keeps_a_session_from_beginning_is_told_as_there(lab, args, says):
    lab.config("" if says else "[sandbox]\nprofil = 1\n")
    r = lab.agent6("prompt", "show", *args)
    assert r.returncode == 2 and (says or "sandbox.profil: unknown key") in r.err and not r.out
    assert not lab.run_dirs()


def test_controls_in_the_repository_do_not_reach_the_terminal(lab):
    lab.repo(AGENTS_DOT_md="esc \x1b[31m bell \x07\n")
    assert b"\x1b" not in lab.agent6("prompt", "show").stdout
    assert "\x1b[31m" in json.loads(lab.agent6("prompt", "show", "--json").out)["system"] + \
        json.loads(lab.agent6("prompt", "show", "--json").out)["first_message"]


def test_what_models_beside_a_session_are_told_is_shown(lab):
    lab.repo(a="one\n")
    edit = turn(call("run_command", argv=["sh", "-c", "echo two > a"]))
    says = [{"text": json.dumps(t)} for t in ({"revised_task": "count"}, {"summary": "s", "steps": [{"title": "count"}]}, {"verdict": "ok"},
                                              {"subject": "Count"}, {"approved": True}, {"verdict": "pass", "summary": "good", "findings": []})]
    mock = lab.mock(script(*says[:3], edit, says[3], finish(), *says[4:]),
                    top='workflow.default = "implement"\nprompt.revise_prompt = "auto"')
    assert lab.agent6("config", "set", "git.commit.checkpoint.message", "model").returncode == 0
    r = lab.run("count", "--run-id", "mine")
    assert r.returncode == 0, r.both
    r = lab.agent6("review", "--seat", "security")
    assert r.returncode == 0, r.both
    heard = [texts(q["body"]["messages"][0]["content"]) for q in mock.model_requests()]
    for role in ("reviser", "planner", "critic", "reviewer", "subject", "review:security"):
        shown = lab.agent6("prompt", "show", "--role", role, "--json")
        assert shown.returncode == 0, shown.both
        shown = json.loads(shown.out)
        assert heard.count(shown["system"]) == 1 and shown["bytes"] == len(shown["system"]), role
        assert (shown["role"], shown["model"]) == (role, "mock-model")
        text = lab.agent6("prompt", "show", "--role", role).out
        assert shown["system"].splitlines()[0] in text and shown["shown"] in text
    for role in ("gate", "summarizer"):
        assert json.loads(lab.agent6("prompt", "show", "--role", role, "--json").out)["system"]
    assert json.loads(lab.agent6("prompt", "show", "--role", "btw", "--json").out)["system"] is None
    assert "in your own words" in lab.agent6("prompt", "show", "--role", "review:in your own words").out
    wrong = lab.agent6("prompt", "show", "--role", "nobody")
    assert wrong.returncode == 2 and "planner, critic" in wrong.err


def test_the_tools_of_servers_are_shown_with_the_others(lab):
    lab.repo(a="one\n")
    lab.mock(script(finish()), extra=server(lab, name="fake") + '[mcp.far]\nurl = "https://tools.example/mcp"\n')
    shown = json.loads(lab.agent6("prompt", "show", "--json").out)
    assert any(t["name"].startswith("mcp__fake__") and t["input_schema"] for t in shown["tools"]), [t["name"] for t in shown["tools"]]
    assert shown["mcp_tools_pending"] == ["far"]
    text = lab.agent6("prompt", "show")
    assert "mcp__fake__echo" in text.out and "the tools of far are not shown" in text.err

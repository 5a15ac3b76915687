# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Whole runs against the real programs: what a person would see, and what is left behind."""
import json
import os
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn
from story import become_reaper, left_in_tmp, nobody_left, nothing_new_stays

BUGGY = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
GATE = "#!/bin/sh\nprintf 'import calc\\nassert calc.add(2, 3) == 5\\n' | python3 -B - && echo ok\n"
EDIT = call("apply_edit", path="calc.py", edits=[{"old_string": "return a - b", "new_string": "return a + b"}])


def project(lab):
    lab.repo(calc_DOT_py=BUGGY)
    lab.write("verify.sh", GATE, 0o755)
    lab.git("add", "-A")
    lab.git("commit", "-q", "-m", "gate")
    return lab


def fix_bug():
    return script(
        turn(call("read_file", path="calc.py"), text="Let me look."),
        turn(EDIT, text="The operator is wrong.", expect=[{"tool_result": -1, "contains": "return a - b"}]),
        turn(call("run_verify_command"), expect=[{"tool_result": -1, "matches": "(?i)error", "not": True}]),
        turn(call("finish_run", summary="add() adds now"), expect=[{"tool_result": -1, "contains": "ok"}]),
        require_all=True, on_exhausted="error")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_failing_test_is_fixed_and_the_green_step_is_a_commit_beside_the_branch(lab, api):
    project(lab)
    head, index = lab.git("rev-parse", "HEAD"), lab.git("ls-files", "-s")
    m = lab.mock(fix_bug(), api=api)
    r = lab.run("make add() add")
    status, complaints = m.stop()
    assert r.returncode == 0, r.both
    assert status == 0, complaints
    assert lab.read("calc.py") == FIXED
    # HEAD, index and branch are where they were.
    assert lab.git("rev-parse", "HEAD") == head and lab.git("ls-files", "-s") == index
    assert lab.git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    # One green step on the chain and on the visible branch.
    run_id = os.path.basename(lab.run_dirs()[-1])
    chain = lab.git("rev-parse", f"refs/agent6/{run_id}/head")
    assert lab.git("rev-parse", f"refs/heads/agent6/{run_id}") == chain
    assert lab.git("show", f"{chain.strip()}:calc.py") == FIXED
    assert lab.git("rev-parse", f"{chain.strip()}^") == head
    kinds = [e["type"] for e in lab.journal()]
    first = [k for k in kinds if k != "run.notice"][:2]  # root is told as whom commands run
    assert first == ["record.manifest", "run.start"] and kinds[-1] == "run.end"
    assert lab.events("run.end")[-1]["all_passed"] is True


def test_a_finish_over_a_red_gate_says_so_with_status_4(lab):
    project(lab)
    lab.mock(script(turn(call("apply_edit", path="calc.py", edits=[
        {"old_string": "return a - b", "new_string": "return a * b"}])), turn(call("run_verify_command")), finish()))
    r = lab.run()
    assert r.returncode == 4, r.both
    assert lab.events("run.end")[-1]["all_passed"] is False
    # What was made is kept, as a checkpoint that says so; nothing green was committed.
    assert [e["subject"].split(" (")[0] for e in lab.events("loop.auto_commit")] == ["checkpoint"]


@pytest.mark.parametrize("program,why", [("nosuchprog", "is in no directory of the jail's PATH"), ("./made-later", "is not there")])
def test_a_gate_that_is_not_there_is_said_before_the_model_is_asked(lab, program, why):
    project(lab)
    m = lab.mock(script(turn(call("run_verify_command")), finish()), extra=f'[workflow]\nverify_command = ["{program}"]\n')
    r = lab.run()
    assert r.returncode == 1 and "cannot be executed" in r.both, r.both
    said = [e["text"] for e in lab.events("run.notice") if "workflow.verify_command" in e["text"]]
    config = os.path.join(lab.home, ".config", "agent6", "config.toml")
    with open(config, encoding="utf-8") as f:
        line = [n for n, text in enumerate(f, 1) if text.startswith("verify_command")][0]
    assert said == [f'workflow.verify_command ({config}:{line}) names "{program}", which {why}: the run ends when it is to be run'], said
    kinds = [e["type"] for e in lab.journal() if e["type"] in ("run.notice", "role.call")]
    assert "role.call" in kinds and "run.notice" in kinds[:kinds.index("role.call")], kinds
    assert len(m.model_requests()) == 1


def test_a_gate_that_is_there_and_takes_too_long_names_the_key(lab):
    project(lab)
    lab.write("verify.sh", "#!/bin/sh\nsleep 1000\n", 0o755)
    lab.git("commit", "-qam", "slow")
    lab.mock(script(turn(call("run_verify_command")), finish()), extra='[workflow]\nverify_command = ["./verify.sh"]\nverify_timeout_s = 1\n')
    r = lab.run()
    assert r.returncode == 4 and "its time was up: workflow.verify_timeout_s" in r.both, r.both
    assert [e["timed_out"] for e in lab.events("verify.end")] == [True]
    assert not [e for e in lab.events("run.notice") if "workflow.verify_command" in e["text"]]


def test_reading_shows_real_tabs(lab):
    lab.repo(m_DOT_go="func f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n")
    m = lab.mock(script(turn(call("read_file", path="m.go")), finish()))
    lab.run()
    result = [x for x in m.model_requests()[1]["body"]["messages"] if x["role"] == "tool"][0]["content"]
    assert "\t\treturn 1" in json.loads(result)["content"]


def test_untracked_files_of_the_person_are_never_committed(lab):
    project(lab)
    lab.write("notes.txt", "mine\n")
    lab.mock(fix_bug())
    r = lab.run()
    assert r.returncode == 0, r.both
    run_id = os.path.basename(lab.run_dirs()[-1])
    assert "notes.txt" not in lab.git("ls-tree", "-r", "--name-only", f"refs/agent6/{run_id}/head")
    assert lab.read("notes.txt") == "mine\n"


def test_uncommitted_changes_refuse_the_run_and_leave_nothing_behind(lab):
    project(lab)
    lab.write("calc.py", BUGGY + "# mine\n")
    lab.mock(script(finish()))
    r = lab.run()
    assert r.returncode == 2 and "calc.py" in r.both, r.both
    assert lab.run_dirs() == []


def test_without_a_repository_the_run_says_that_steps_are_not_recorded(lab):
    lab.write("a.txt", "one\n")
    lab.mock(script(turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}])), finish()))
    r = lab.run()
    assert lab.read("a.txt") == "two\n"
    assert "not a git repository" in r.both.lower(), r.both
    assert not os.path.exists(os.path.join(lab.ws, ".git"))


def test_commands_under_ask_with_nobody_to_answer_are_refused_before_anything_exists(lab):
    project(lab)
    lab.mock(script(finish()))
    r = lab.agent6("run", "do it")
    assert r.returncode == 2 and "sandbox.run_commands" in r.both, r.both
    assert lab.run_dirs() == []


def test_no_commands_hides_and_refuses_them(lab):
    project(lab)
    m = lab.mock(script(turn(call("run_command", argv=["touch", "made"])), finish()))
    lab.agent6("run", "--no-commands", "do it")
    assert not os.path.exists(os.path.join(lab.ws, "made"))
    names = [t["function"]["name"] for t in m.model_requests()[0]["body"]["tools"]]
    assert "run_command" not in names and "read_file" in names


def test_root_is_refused_without_allow_root(lab):
    if os.geteuid() != 0:
        return
    r = lab.agent6("run", "x", env={"AGENT6_ALLOW_ROOT": ""})
    assert r.returncode == 2 and "--allow-root" in r.err


def test_what_is_told_for_typing_can_be_typed_as_it_stands_by_root_too(lab):
    """The flag was typed; where the variable says it, or it is no root who reads, commands need nothing."""
    root = os.geteuid() == 0
    flag, words = ("--allow-root ", ["--allow-root"]) if root else ("", [])
    no_variable = {"AGENT6_ALLOW_ROOT": ""}
    lab.git("init", "-q")
    bare = lab.agent6(*words, "run", "--auto-approve", "x", env=no_variable)
    assert bare.returncode == 2 and f"agent6 {flag}connect" in bare.err and f"agent6 {flag}model" in bare.err, bare.both
    if root:
        assert "agent6 connect" not in bare.err and "agent6 connect" in lab.agent6("run", "--auto-approve", "x", env={"AGENT6_ALLOW_ROOT": "1"}).err
    project(lab)
    lab.mock(script(turn(call("read_file", path="a.txt")), finish()))
    ended = lab.agent6(*words, "run", "--auto-approve", "--max-iterations", "1", "--run-id", "short", "x", env=no_variable)
    assert ended.returncode == 1 and f"agent6 {flag}resume short" in ended.both, ended.both
    again = lab.agent6(*words, "runs", "rm", "--json", "nope", env=no_variable)
    assert "agent6 runs list" in json.loads(again.err)["error"]["hint"], again.both  # only looks


def test_a_command_cannot_write_beside_the_workspace_though_its_user_could(lab):
    project(lab)
    m = lab.mock(script(turn(call("run_command", argv=["touch", "../outside"])), finish()))
    lab.run()
    assert not os.path.exists(os.path.join(os.path.dirname(lab.ws), "outside"))
    result = json.dumps(m.model_requests()[1]["body"]["messages"])
    assert "ermission denied" in result or "ead-only file system" in result, result[-500:]


def test_the_key_is_in_no_request_no_record_and_no_environment(lab):
    project(lab)
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", "env; cat /proc/*/environ | tr '\\0' '\\n'"])), finish()))
    lab.run()
    key = lab.env["MOCK_API_KEY"]
    assert all(key not in json.dumps(r["body"]) for r in m.model_requests())
    grep = subprocess.run(["grep", "-r", key, lab.home], capture_output=True, text=True)
    assert grep.stdout == ""


def test_the_journal_proves_itself_and_notices_an_edit(lab):
    project(lab)
    lab.mock(fix_bug())
    assert lab.run().returncode == 0
    assert lab.agent6("runs", "verify").returncode == 0
    log = os.path.join(lab.run_dirs()[-1], "record", "logs.jsonl")
    with open(log, encoding="utf-8") as f:
        text = f.read()
    with open(log, "w", encoding="utf-8") as f:
        f.write(text.replace("The operator is wrong", "The operator is right"))
    r = lab.agent6("runs", "verify")
    assert r.returncode == 1 and "line" in r.both, r.both


def test_the_sandbox_can_be_disabled_by_hand_and_that_is_loud(lab):
    project(lab)
    lab.mock(script(turn(call("run_command", argv=["touch", "../outside"])), finish()))
    r = lab.run("do it", "--dangerously-disable-sandbox")
    assert os.path.exists(os.path.join(os.path.dirname(lab.ws), "outside")), r.both
    assert "UNSANDBOXED" in r.both or "unconfined" in r.both.lower(), r.both


def test_the_first_request_is_small(lab):
    project(lab)
    m = lab.mock(fix_bug())
    lab.run()
    assert m.model_requests()[0]["bytes"] <= 12 * 1024


def test_nothing_of_a_run_is_left_in_tmp_or_running(lab):
    become_reaper()
    project(lab)
    before = left_in_tmp()
    lab.mock(fix_bug())
    lab.run()
    nothing_new_stays(lab, before)
    nobody_left(lab)


def test_a_run_that_spent_its_turns_is_resumed_where_it_stood(lab):
    project(lab)
    m = lab.mock(script(
        turn(call("read_file", path="calc.py"), text="Let me look."),
        turn(EDIT, text="The operator is wrong."),
        turn(call("run_verify_command")), finish("add() adds now")))
    r = lab.run("make add() add", "--max-iterations", "2")
    assert r.returncode == 1 and lab.events("run.end")[-1]["reason"] == "max_iterations", r.both
    r = lab.agent6("resume", "--auto-approve")
    assert r.returncode == 0, r.both
    third = m.model_requests()[2]["body"]["messages"]
    assert "make add() add" in json.dumps(third) and len([x for x in third if x["role"] == "tool"]) == 2
    assert lab.agent6("runs", "verify").returncode == 0
    # What is finished needs to be told what to do.
    r = lab.agent6("resume", "--auto-approve")
    assert r.returncode == 2 and "--steer" in r.err
    r = lab.agent6("resume", "--auto-approve", "--steer", "say goodbye")
    assert r.returncode == 0 and "say goodbye" in json.dumps(m.model_requests()[-1]["body"]["messages"])


def test_a_long_task_that_is_no_utf8_is_resumed(lab):
    lab.repo(a_DOT_py="x = 1\n")
    lab.mock(script(turn(call("list_dir")), finish()))
    r = lab.run(b"caf\xe9 " * 1000, "--max-iterations", "1")
    assert r.returncode == 1 and lab.events("run.end")[-1]["reason"] == "max_iterations", r.both
    r = lab.agent6("resume", "--auto-approve")
    assert r.returncode == 0, r.both
    assert lab.events("run.start")[0]["user_task"] == lab.events("loop.resume.start")[-1]["user_task"]


def test_commits_are_by_the_person_of_the_global_git_configuration(lab):
    project(lab)
    m = lab.mock(fix_bug())
    config = os.path.join(lab.home, ".config", "agent6", "config.toml")
    with open(config, encoding="utf-8") as f:
        text = f.read()
    lab.config(text[text.index("[providers.mock]"):])  # no [git.commit]
    with open(os.path.join(lab.home, ".gitconfig"), "w", encoding="utf-8") as f:
        f.write("[user]\n\tname = Not Her\n\temail = ada@example.invalid\n\tname = Ada Lovelace\n")
    assert lab.run().returncode == 0, m.model_requests()
    branch = lab.git("for-each-ref", "--format=%(refname)", "refs/agent6").split()[0]
    assert lab.git("log", "-1", "--format=%an <%ae>|%cn", branch).strip() == "Ada Lovelace <ada@example.invalid>|Ada Lovelace"


def test_without_any_identity_a_run_says_what_to_set(lab):
    project(lab)
    lab.mock(fix_bug())
    config = os.path.join(lab.home, ".config", "agent6", "config.toml")
    with open(config, encoding="utf-8") as f:
        text = f.read()
    lab.config(text[text.index("[providers.mock]"):])
    r = lab.run()
    assert r.returncode == 2 and "git.commit.name" in r.both, r.both


@pytest.mark.parametrize("words", [["resume", "--auto-approve"], ["watch"], ["runs", "show"], ["runs", "diff"],
                                   ["runs", "merge"], ["runs", "verify"]], ids=" ".join)
def test_an_empty_id_is_a_mistake_and_not_the_newest_run(lab, words):
    """An unset variable in a script must not pick a run."""
    project(lab)
    lab.mock(fix_bug())
    assert lab.run().returncode == 0
    head = lab.git("rev-parse", "HEAD")
    r = lab.agent6(*words, "")
    assert r.returncode == 2 and "id must not be empty" in r.err, r.both
    assert lab.git("rev-parse", "HEAD") == head and len(lab.run_dirs()) == 1


def test_a_task_of_blanks_and_a_place_that_cannot_be_worked_in_are_refused_with_the_reason(lab):
    project(lab)
    lab.mock(fix_bug())
    r = lab.run(" \n\t ")
    assert r.returncode == 2 and "nothing but blanks" in r.err, r.both
    odd = os.fsencode(lab.folder) + b"/b\xff"
    os.mkdir(odd)
    r = lab.run(cwd=odd)
    assert r.returncode == 2 and "is not valid UTF-8" in r.err and "rename" in r.err, r.both
    gone = os.path.join(lab.folder, "gone")
    os.mkdir(gone)
    r = subprocess.run(["sh", "-c", 'rmdir "$PWD" && exec "$0" runs list', AGENT6], cwd=gone, env=lab.env,
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert r.returncode == 2 and "the current directory is not there any more" in r.stderr, r.stderr
    assert not lab.run_dirs()

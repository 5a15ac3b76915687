# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Language servers: a real one in its jail, and one that misbehaves (test/e2e/lsp_server.py); the model is scripted."""
import json
import os
import re
import shutil
import socket
import subprocess

import pytest

from conftest import SOURCE, call, finish, missing, script, turn
from test_mcp import PYTHON, results

ON = "[lsp]\nenabled = true\nservers = [\"pyright\"]\n"
PATIENT = ON + "timeout_s = 120\n"
REAL = PATIENT.replace("pyright", "clangd")
CODE = "def one(x):\n    return x\n\n\ndef main():\n    return one(1)\n"


def fake(lab, how):
    """A program of pyright's name on the person's PATH."""
    folder = os.path.join(lab.home, ".local", "bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "pyright-langserver")
    with open(os.path.join(SOURCE, "test", "e2e", "lsp_server.py"), encoding="utf-8") as f:
        text = f.read().replace("@HOW@", how)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!{PYTHON}\n{text}")
    os.chmod(path, 0o755)
    lab.env["PATH"] = folder + ":" + lab.env["PATH"]


def play(lab, config, *turns, **kw):
    mock = lab.mock(script(*turns, finish()), extra=config)
    r = lab.run("do it", **kw)
    assert r.returncode == 0, r.both
    return mock


def places(answer, member):
    return [(x.get("path", ""), x["name"], x["line"], x["col"]) for x in answer[member]]


def clangd():
    if not shutil.which("clangd"):
        missing("clangd is not installed")


# ---- a real one ----

def test_clangd_answers_about_a_project_and_about_what_the_model_changed_in_it(lab_of_each_profile):
    clangd()
    lab = lab_of_each_profile.repo(
        inc__a_DOT_h="int twice(int x);\n",
        a_DOT_c='#include "inc/a.h"\nint twice(int x)\n{\n\treturn 2 * x;\n}\n',
        main_DOT_c='#include "inc/a.h"\nint main(void)\n{\n\treturn twice(1);\n}\n')
    mock = play(lab, REAL,
                turn(call("outline", path="a.c")),
                turn(call("find_definition", symbol="twice")),
                turn(call("find_references", symbol="twice")),
                turn(call("apply_edit", path="a.c", edits=[{"old_string": "\treturn 2 * x;", "new_string": "\treturn x + x;\n}\nint thrice(int x)\n{\n\treturn twice(x) + x;"}])),
                turn(call("outline", path="a.c")),
                turn(call("find_references", symbol="twice")))
    got = results(mock)
    assert [e["server"] for e in lab.events("lsp.ready")] == ["clangd"], got
    assert got[0]["source"] == "clangd" and places(got[0], "symbols") == [("", "twice", 2, 5)], got[0]
    # The header's is no definition to the index, and one more place to the server.
    assert {p[:3] for p in places(got[1], "definitions")} == {("inc/a.h", "twice", 1), ("a.c", "twice", 2)}, got[1]
    assert got[1]["source"].startswith("clangd"), got[1]
    assert ("main.c", "twice", 4, 9) in places(got[2], "references"), got[2]
    assert got[2]["source"].startswith("clangd"), got[2]
    assert got[4]["source"] == "clangd" and [s["name"] for s in got[4]["symbols"]] == ["twice", "thrice"], got[4]
    assert ("a.c", "twice", 8, 9) in places(got[5], "references") and got[5]["references"][0]["path"] == "a.c", got[5]


# ---- one that behaves ----

def test_a_server_answers_about_the_text_as_it_is_now_whoever_changed_it(lab_of_each_profile):
    lab = lab_of_each_profile.repo(a_DOT_py=CODE, b_DOT_py="def other():\n    return one(2)\n")
    fake(lab, "good")
    mock = play(lab, PATIENT,
                turn(call("outline", path="a.py")),
                turn(call("apply_edit", path="a.py", edits=[{"old_string": "def main", "new_string": "def two():\n    return one(3)\n\n\ndef main"}])),
                turn(call("outline", path="a.py")),
                turn(call("run_command", argv=["sh", "-c", "printf 'def first():\\n    pass\\n' | cat - a.py >b && mv b a.py"])),
                turn(call("outline", path="a.py")),
                turn(call("find_references", symbol="one")),
                turn(call("run_command", argv=["rm", "b.py"])),
                turn(call("find_references", symbol="one")))
    got = results(mock)
    assert got[0]["source"] == "pyright" and [s["line"] for s in got[0]["symbols"]] == [1, 5], got[0]
    assert {s["name"] for s in got[2]["symbols"]} >= {"two", "main", "one"} and "pyright" in got[2]["source"], got[2]
    assert [s["name"] for s in got[4]["symbols"]][:2] == ["first", "one"] and "pyright" in got[4]["source"], got[4]
    assert ("a.py", "one", 3, 5) in places(got[5], "references") and ("b.py", "one", 2, 12) in places(got[5], "references"), got[5]
    assert {p[0] for p in places(got[7], "references")} == {"a.py"} and "note" not in got[7], got[7]
    assert len(lab.events("lsp.ready")) == 1 and lab.events("lsp.ended") == []


def test_files_with_the_longest_names_take_no_answer_away(lab):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "good")
    deep = "/".join(["\u00e9" * 120] * 15)
    edits = [call("apply_edit", path=f"{deep}/{n}.py", edits=[{"kind": "create", "new_string": "x = 1\n"}]) for n in range(100)]
    got = results(play(lab, PATIENT, turn(call("outline", path="a.py")), turn(*edits), turn(call("outline", path="a.py"))))
    assert got[-1]["source"] == "pyright" and [s["name"] for s in got[-1]["symbols"]] == ["one", "main"], got[-1]


def test_a_file_of_controls_is_no_text_for_a_server(lab):
    lab.repo(a_DOT_py=CODE, b_DOT_py=CODE.replace("one", "other"))
    fake(lab, "good")
    grow = "head -c 2000000 /dev/zero | tr '\\0' '\\1' >> a.py"
    got = results(play(lab, PATIENT, turn(call("outline", path="a.py")), turn(call("run_command", argv=["sh", "-c", grow])),
                       *[turn(call("outline", path="a.py"), call("outline", path="b.py"))] * 2,
                       turn(call("run_command", argv=["sh", "-c", "echo 'def new(): pass' > a.py"])), turn(call("outline", path="a.py"))))
    outlines = [([s["name"] for s in x["symbols"]], x["source"]) for x in got if "symbols" in x]
    # Nobody is told what the file was before.
    for names, source in outlines[1:5:2]:
        assert names[:2] == ["one", "main"] and source != "pyright", outlines
    assert outlines[2:5:2] == [(["other", "main"], "pyright")] * 2, outlines
    assert outlines[5] == (["new"], "pyright") and not lab.events("lsp.ended"), outlines


def test_columns_are_the_protocols_on_one_side_and_bytes_on_the_other(lab):
    lab.repo(a_DOT_py="def one(x):\n    return x\n\n\ndef main():\n    return ('\U0001f600\u00e9', one(1))\n")
    fake(lab, "good")
    mock = play(lab, PATIENT, turn(call("find_references", symbol="one")), turn(call("find_definition", symbol="one")))
    got = results(mock)
    assert places(got[0], "references") == [("a.py", "one", 1, 5), ("a.py", "one", 6, 23)] and got[0]["source"] == "pyright", got[0]
    assert places(got[1], "definitions") == [("a.py", "one", 1, 5)] and got[1]["source"] == "pyright", got[1]
    assert got[1]["definitions"][0]["kind"] == "function"


def test_a_server_reaches_the_workspace_to_read_and_nothing_else(lab_of_each_profile):
    lab = lab_of_each_profile.repo(a_DOT_py=CODE)
    with open(os.path.join(lab.folder, "secret"), "w") as f:
        f.write("a secret")
    fake(lab, "look")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        lab.write("port", str(listening.getsockname()[1]))
        lab.git("add", "-A")
        lab.git("commit", "-qm", "port")
        play(lab, PATIENT, turn(call("outline", path="a.py")))
    gone = lab.events("lsp.ended")
    assert [g["detail"] for g in gone] == ["it ended with status 3"]
    assert gone[0]["stderr_tail"] == "REACHED ws home NoNewPrivs Seccomp CapEff KEYS []", gone
    assert lab.read("a.py") == CODE and not os.path.exists(os.path.join(lab.ws, "new"))


def test_a_server_that_asks_is_given_nothing(lab):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "asks")
    play(lab, PATIENT, turn(call("outline", path="a.py")))
    replies = json.loads(lab.events("lsp.ended")[0]["stderr_tail"].split("}{")[0])
    assert replies == {'"q1"': [None, None], "2": {"applied": False}, "3": None, "4": -32601}


# ---- one that does not ----

INDEX = [("a.py", "one", 1, 5)]


def turns_while_it_starts():
    """It may take as long as it wants to start: only what comes after that is judged by the clock."""
    return [turn(call("find_definition", symbol="one"), call("list_dir", path=".")) for _ in range(30)]


def once_started(got):
    notes = [x.get("note") for x in got]
    while notes and notes[0] == "pyright is still starting":
        notes.pop(0)
    return notes


@pytest.mark.parametrize("how,detail", [
    ("garbage", "what it writes is no message of the protocol"), ("no-head", "what it writes is no message of the protocol"),
    ("huge", "a message of 99999999999999 bytes; 8388608 are the most"), ("negative", "what it writes is no message of the protocol"),
    ("floods", "it floods: more than 20000 messages or 128 MiB that nobody asked for"), ("floods-stderr", "it floods its stderr"),
    ("says-no", "it refuses to begin"), ("dies-at-start", "it ended with status 4"),
])
def test_a_server_that_breaks_the_rules_is_given_up_and_the_index_answers(lab, how, detail):
    lab.repo(a_DOT_py=CODE)
    fake(lab, how)
    mock = play(lab, PATIENT, turn(call("find_definition", symbol="one")), turn(call("find_definition", symbol="one")))
    got = results(mock)
    for answer in got:
        assert places(answer, "definitions") == INDEX and "pyright" not in answer.get("source", ""), answer
    assert "pyright" in got[0]["note"] and "note" not in got[1], got
    assert [e["detail"] for e in lab.events("lsp.ended")] == [detail]


@pytest.mark.parametrize("how,note", [
    ("hangs", "pyright did not answer in 1 s"), ("wrong-ids", "pyright did not answer in 1 s"), ("deep", "pyright did not answer in 1 s"),
    ("half", "pyright did not answer in 1 s"), ("refuses", "pyright did not answer in 1 s"),
])
def test_a_server_that_does_not_answer_costs_its_time_and_is_given_up_in_the_end(lab, how, note):
    lab.repo(a_DOT_py=CODE)
    fake(lab, how)
    mock = play(lab, ON + "timeout_s = 1\n", *turns_while_it_starts())
    got = [x for x in results(mock) if "definitions" in x]
    for answer in got:
        assert places(answer, "definitions") == INDEX and "pyright" not in answer.get("source", ""), answer
    notes = once_started(got)
    assert notes[:4] == [note, note, note, None], notes
    assert [e["detail"] for e in lab.events("lsp.ended")] == ["it did not answer in time, three times in a row"]


def test_a_server_that_stops_reading_is_given_up_while_files_are_sent_anew(lab):
    big = "# " + "x" * 97 + "\n"
    lab.repo(**{f"{name}_DOT_py": CODE + big * 36000 for name in "bcdefg"})
    fake(lab, "deaf")
    # Six files are open there when it falls silent; all of them change, and what was kept for it to read becomes too much.
    got = results(play(lab, ON + "timeout_s = 20\n", *[turn(call("outline", path=f"{name}.py")) for name in "bcdefg"],
                       turn(call("run_command", argv=["sh", "-c", "for f in ?.py; do echo '# more' >>$f; done"])),
                       *[turn(call("outline", path=f"{name}.py")) for name in "bcg"]))
    assert [s["name"] for s in got[-1]["symbols"]] == ["one", "main"] and "pyright" not in got[-1]["source"], got[-1]
    assert [e["detail"] for e in lab.events("lsp.ended")] == ["it does not read what it is sent"]


def test_a_server_that_shuts_its_input_costs_its_time_and_no_process_of_ours(lab):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "shuts-its-input")
    got = [x for x in results(play(lab, ON + "timeout_s = 1\n", *turns_while_it_starts())) if "definitions" in x]
    assert all(places(answer, "definitions") == INDEX for answer in got), got
    assert once_started(got)[0] == "pyright did not answer in 1 s", got
    assert not lab.events("process.died")


def test_a_server_that_does_not_start_costs_its_time(lab):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "hangs-at-start")
    got = results(play(lab, ON + "timeout_s = 1\n", turn(call("find_definition", symbol="one"))))
    assert places(got[0], "definitions") == INDEX and got[0]["note"] == "pyright is still starting"


def test_a_server_that_dies_is_started_again_and_not_for_ever(lab):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "dies-once")
    got = results(play(lab, PATIENT, *[turn(call("find_definition", symbol="one")) for _ in range(2)]))
    assert got[0]["note"] == "pyright ended over it" and got[1]["source"] == "pyright", got
    fake(lab, "dies")
    got = results(play(lab, PATIENT, *[turn(call("find_definition", symbol="one")) for _ in range(5)]))
    assert [x.get("note") for x in got] == ["pyright ended over it"] * 3 + [None] * 2
    assert all(places(x, "definitions") == INDEX for x in got)
    assert len(lab.events("lsp.ready")) == 3 and len(lab.events("lsp.ended")) == 3


@pytest.mark.parametrize("how,note", [
    ("outside", "5 more outside of the workspace"), ("lies", "places of the language server's were dropped: the name does not stand there"),
    ("refuses-requests", "pyright has no answer"),
])
def test_a_server_that_lies_hides_nothing_and_adds_nothing(lab, how, note):
    lab.repo(a_DOT_py=CODE)
    with open(os.path.join(os.path.dirname(lab.ws), "secret.py"), "w") as f:
        f.write("def one(): pass\n")
    fake(lab, how)
    got = results(play(lab, PATIENT, turn(call("find_definition", symbol="one")), turn(call("find_references", symbol="one"))))
    assert places(got[0], "definitions") == INDEX, got[0]
    assert places(got[1], "references") == [("a.py", "one", 1, 5), ("a.py", "one", 6, 12)], got[1]
    assert how == "outside" and "outside of the workspace" in got[0]["note"] or note in got[0]["note"], got


# ---- which program ----

def test_no_program_of_the_repository_is_a_language_server(lab):
    lab.repo(a_DOT_py=CODE)
    lab.write("bin/pyright-langserver", f"#!{PYTHON}\nopen('/tmp/x', 'w')\n", 0o755)
    lab.git("add", "-A")
    lab.git("commit", "-qm", "bin")
    lab.env["PATH"] = os.path.join(lab.ws, "bin") + ":" + lab.env["PATH"]
    mock = play(lab, PATIENT, turn(call("outline", path="a.py")))
    assert results(mock)[0]["symbols"]
    notices = [e["text"] for e in lab.events("run.notice") if "pyright" in e["text"]]
    # Passed over in PATH; what the system has is taken, if it has one.
    there = shutil.which("pyright-langserver", path="/usr/bin:/usr/local/bin")
    assert notices == ([] if there else ['language server pyright is not there: "pyright-langserver" is not found in PATH'])
    # A name on the person's PATH that leads into the repository is nobody's either.
    folder = os.path.join(lab.home, ".local", "bin")
    os.makedirs(folder)
    os.symlink(os.path.join(lab.ws, "bin", "pyright-langserver"), os.path.join(folder, "pyright-langserver"))
    lab.env["PATH"] = folder + ":" + lab.env["PATH"]
    mock = play(lab, PATIENT, turn(call("outline", path="a.py")))
    assert "pyright" not in results(mock)[0].get("source", "")
    notices = [e["text"] for e in lab.events("run.notice") if "pyright" in e["text"]]
    assert len(notices) == 1 and "where the model may write" in notices[0], notices


def test_it_is_off_unless_it_is_asked_for_and_a_wrong_name_is_told(lab):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "good")
    mock = play(lab, "", turn(call("outline", path="a.py")))
    assert "pyright" not in results(mock)[0].get("source", "") and lab.events("lsp.ready") == []
    r = lab.agent6("config", "set", "lsp.servers", '["clang"]')
    assert r.returncode == 2 and '"clang" is none of clangd, ty, pyright, gopls, rust-analyzer' in r.both, r.both


def test_without_a_sandbox_none_is_started_and_that_is_said(lab):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "good")
    mock = lab.mock(script(turn(call("outline", path="a.py")), finish()), extra=PATIENT)
    r = lab.run("do it", "--dangerously-disable-sandbox")
    assert r.returncode == 0, r.both
    assert results(mock)[0]["symbols"] and "pyright" not in results(mock)[0].get("source", "")
    assert [e["text"] for e in lab.events("run.notice") if "language server" in e["text"]] == [
        "lsp.enabled: no language server is started without a sandbox: it reads the model's files"]


def test_check_says_which_are_found(lab):
    lab.repo()
    fake(lab, "good")
    lab.config("")
    found = re.search(r"language_servers: off \(lsp.enabled\); on the PATH of commands: (.*)", lab.agent6("check", "sandbox").both)
    assert found and "pyright" in found.group(1).split(", "), found
    assert ("clangd" in found.group(1)) == bool(shutil.which("clangd", path="/usr/bin:/usr/local/bin"))


def test_check_boundaries_says_what_they_may(lab_of_each_profile):
    lab = lab_of_each_profile.repo()
    fake(lab, "good")
    lab.mock(script(finish()))
    assert re.search(r"language_servers\W+not started: lsp.enabled is false", lab.agent6("check", "boundaries").both)
    lab.mock(script(finish()), extra=ON)
    said = lab.agent6("check", "boundaries").both
    assert re.search(r"language_servers\W+pyright: read what commands read; .*no network; nobody is asked", said), said
    assert re.search(r"language_servers.rights\W+workspace: read; grants: read;", said), said


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_sessions_that_only_look_have_them_too(lab, mode):
    lab.repo(a_DOT_py=CODE)
    fake(lab, "good")
    last = turn(call("finish_planning", plan_markdown="a plan", summary="s")) if mode == "plan" else turn(text="an answer")
    mock = lab.mock(script(turn(call("outline", path="a.py")), last), extra=PATIENT)
    r = lab.agent6("plan", "new", "how?") if mode == "plan" else lab.agent6("ask", "how?")
    assert r.returncode == 0, r.both
    assert results(mock)[0]["source"] == "pyright"


def test_nothing_of_a_server_outlives_its_run(lab_of_each_profile):
    lab = lab_of_each_profile.repo(a_DOT_py=CODE)
    fake(lab, "hangs")
    play(lab, ON + "timeout_s = 1\n", turn(call("outline", path="a.py")))
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert os.path.join(lab.home, ".local", "bin", "pyright-langserver") not in found

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The operator's own programs that are told of a session: when it has ended, when it waits for somebody."""
import os
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn
from test_terminal import screen  # noqa: F401 (a fixture)

NAMES = {"ID", "MODE", "DIR", "EVENT", "EXIT", "OK", "REASON"}


def program(lab, text, name="bell"):
    path = os.path.join(lab.folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def bell(lab, name="said"):
    """A program that writes down what its environment says, one call a paragraph, and where that is."""
    said = os.path.join(lab.folder, name)
    return program(lab, f"{{ env | grep ^AGENT6_ | sort; echo; }} >> {said}\n", name + "-bell"), said


def told(said):
    if not os.path.exists(said):
        return []
    with open(said, encoding="utf-8") as f:
        return [dict(line.removeprefix("AGENT6_SESSION_").split("=", 1) for line in part.splitlines())
                for part in f.read().split("\n\n") if part]


@pytest.mark.parametrize("what, code, reason", [
    (finish("\x1b]0;evil\x07\nAGENT6_SESSION_OK=7"), 0, "finish_run"),
    (turn(call("no_such_tool")), 1, "max_iterations"),
])
def test_the_end_of_a_session_is_told_in_fixed_words(lab, what, code, reason):
    path, said = bell(lab)
    lab.repo(a="1")
    lab.mock(script(what), extra=f'[notify]\non_complete = ["{path}", "extra word"]\n')
    r = lab.run("do \x1b[31m it", "--max-iterations", "1")
    assert r.returncode == code, r.both
    (env,) = told(said)
    directory = lab.run_dirs()[-1]
    assert env == {"ID": os.path.basename(directory), "MODE": "run", "DIR": directory, "EVENT": "end", "EXIT": str(code),
                   "OK": str(int(code == 0)), "REASON": reason}
    assert "notify" not in r.both


def test_the_program_gets_no_key_and_no_word_of_the_model(lab):
    said = os.path.join(lab.folder, "env")
    path = program(lab, f"env -0 > {said}\n")
    lab.repo(a="1")
    lab.env.update(LD_PRELOAD="", PROMPT_COMMAND="x", FOO_TOKEN="t")
    lab.mock(script(finish("MODELWORD")), extra=f'[notify]\non_complete = ["{path}"]\n')
    assert lab.run("TASKWORD").returncode == 0
    with open(said, encoding="utf-8") as f:
        env = dict(v.split("=", 1) for v in f.read().split("\0") if v)
    allowed = {"PATH", "HOME", "LANG", "USER", "PWD", "SHLVL", "_", "OLDPWD"} | {"AGENT6_SESSION_" + n for n in NAMES}
    assert set(env) <= allowed, set(env) - allowed
    assert not any(w in v for v in env.values() for w in ("MODELWORD", "TASKWORD", "dummy-key"))


def test_an_ask_tells_too_and_a_refused_run_does_not(lab):
    path, said = bell(lab)
    lab.repo(a="1")
    lab.mock(script({"text": "because"}), extra=f'[notify]\non_complete = ["{path}"]\n')
    assert lab.agent6("ask", "why?").returncode == 0
    assert [(e["MODE"], e["REASON"]) for e in told(said)] == [("ask", "answered")]
    lab.write("a", "2")
    assert lab.run().returncode == 2
    assert lab.agent6("prompt", "show").returncode == 0
    assert len(told(said)) == 1


@pytest.mark.parametrize("text, says", [
    ("exit 3\n", "notify.on_complete: it ended with status 3"),
    ("kill -9 $$\n", "notify.on_complete: it was killed by signal 9"),
    ("sleep 600\n", "notify.on_complete: it did not end within 1 s and was killed"),
    (None, "notify.on_complete: run "),
])
def test_a_program_that_fails_is_told_and_changes_nothing(lab, text, says):
    path = program(lab, text) if text else os.path.join(lab.folder, "absent")
    lab.repo(a="1")
    lab.mock(script(finish()), extra=f'[notify]\non_complete = ["{path}"]\ntimeout_s = {1 if "within 1 s" in says else 120}\n')
    r = lab.run()
    assert r.returncode == 0 and says in r.err, r.both


def test_a_program_where_the_model_writes_is_refused(lab):
    lab.repo(a="1")
    path = lab.write("bell", "#!/bin/sh\n", 0o755)
    lab.git("add", "-A")
    lab.git("commit", "-qm", "bell")
    for key in ("on_complete", "on_wait"):
        lab.mock(script(finish()), extra=f'[notify]\n{key} = ["{path}"]\n')
        r = lab.run()
        assert r.returncode == 2 and f"notify.{key}: {path} lies in" in r.err, r.both
    assert not lab.run_dirs()


def test_a_link_that_the_model_may_change_is_no_program_wherever_it_leads(lab):
    """A link in the workspace leads where the model wants a moment later; so does one in PATH that leads into it."""
    path, said = bell(lab)
    lab.repo(a="1")
    lab.env["PATH"] = os.path.join(lab.folder, "bin") + ":" + lab.env["PATH"]
    os.mkdir(os.path.join(lab.folder, "bin"))
    inside, outside = os.path.join(lab.ws, "link"), os.path.join(lab.folder, "bin", "ring")
    os.symlink(path, inside)
    os.symlink(os.path.join(lab.ws, "..", "ws-link"), os.path.join(lab.folder, "bin", "deep"))
    os.symlink(inside, os.path.join(lab.folder, "ws-link"))
    os.symlink("../" + os.path.relpath(inside, lab.folder), outside)
    lab.git("add", "-A")
    lab.git("commit", "-qm", "link")
    for word in (inside, outside, "ring", "deep", os.path.join(lab.folder, "bin", "deep")):
        lab.mock(script(finish()), extra=f'[notify]\non_complete = ["{word}"]\n')
        r = lab.run()
        assert r.returncode == 2 and "notify.on_complete: " in r.err and f"in {lab.ws}, where the model may write" in r.err, (word, r.both)
    lab.mock(script(finish()), extra=f'[notify]\non_complete = ["/usr/bin/env", "sh", "{inside}"]\n')
    assert lab.run().returncode == 2
    assert not lab.run_dirs() and not told(said)
    os.remove(outside)
    os.symlink(path, outside)
    lab.mock(script(finish()), extra='[notify]\non_complete = ["ring"]\n')
    r = lab.run()
    assert r.returncode == 0 and len(told(said)) == 1, r.both


def test_what_a_server_may_write_is_no_place_for_a_program(lab):
    path, said = bell(lab)
    lab.repo(a="1")
    mine = os.path.join(lab.folder, "mine")
    os.mkdir(mine)
    os.rename(path, os.path.join(mine, "bell"))
    for enabled, code in (("true", 2), ("false", 0)):
        lab.mock(script(finish()), extra=f'[notify]\non_complete = ["{mine}/bell"]\n[mcp.files]\ncommand = ["/bin/cat"]\n'
                 f'enabled = {enabled}\nextra_write_paths = ["{mine}"]\n')
        r = lab.run()
        assert r.returncode == code and ("where the model may write" in r.err) == (code == 2), r.both
    assert len(told(said)) == 1


def test_who_is_waited_for_is_told_for_what(lab, screen):  # noqa: F811
    path, said = bell(lab)
    lab.repo(a="1")
    lab.mock(script(turn(call("run_command", argv=["true"])), turn(call("ask_user", questions=[{"question": "which?"}])), finish()),
             extra=f'[notify]\non_wait = ["{path}"]\n')
    s = screen("run", "do it")
    s.until("N never:")
    lab.wait_for(lambda: [e["EVENT"] for e in told(said)] == ["approval"])
    s.keys("y", "Enter")
    s.until("which?")
    lab.wait_for(lambda: [e["EVENT"] for e in told(said)] == ["approval", "question"])
    s.keys("this", "Enter")
    s.ended()
    assert all(set(e) <= NAMES and e["MODE"] == "run" and "EXIT" not in e for e in told(said))


def test_nothing_of_the_program_stays_when_the_run_is_killed(lab):
    pid = os.path.join(lab.folder, "pid")
    path = program(lab, f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600\n")
    lab.repo(a="1")
    lab.mock(script(finish()), extra=f'[notify]\non_complete = ["{path}"]\ntimeout_s = 600\n')
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "do it"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.wait_for(lambda: os.path.exists(pid))
    with open(pid, encoding="utf-8") as f:
        hook = int(f.read())
    p.kill()
    p.wait()

    def gone():
        try:
            with open(f"/proc/{hook}/stat", encoding="utf-8") as f:
                return f.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            return True

    lab.wait_for(gone)

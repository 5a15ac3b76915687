# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""agent6 exec: a person's own command in the jail that the model's commands get."""
import json
import os
import signal
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn
from test_terminal import Screen

STRICT = '[sandbox]\nprofile = "strict"\n'


@pytest.fixture
def box(lab):
    lab.config(STRICT)
    return lab.repo(a_DOT_txt="one\n")


def test_what_it_writes_and_its_status_come_back(box):
    r = box.agent6("exec", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (r.returncode, r.out) == (7, "out\n")
    assert "err\n" in r.err
    assert box.agent6("exec", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
    assert box.agent6("exec", "cat", stdin="not for it").out == ""


def test_it_is_the_jail_of_the_models_commands(box):
    probe = ["sh", "-c", "env | sort; cat /proc/mounts | cut -d' ' -f2,4 | sort; ls / /etc; id; cat /proc/net/dev | cut -d: -f1"]
    box.mock(script(turn(call("run_command", argv=probe)), finish()), extra=STRICT)
    assert box.run("look").returncode == 0
    said = [m for m in box.mocks[0].model_requests()[-1]["body"]["messages"] if m["role"] == "tool"][-1]["content"]
    model = json.loads(said)["stdout"]
    mine = box.agent6("exec", *probe).out
    assert "HOME=/tmp/agent6-home" in mine
    assert mine == model


def test_nothing_outside_can_be_changed_or_read_and_there_is_no_network(box):
    box.write("../outside.txt", "squirrel")
    r = box.agent6("exec", "sh", "-c", "cat ../outside.txt; touch ../new; touch .git/x; touch inside; ls -a ..; cat /proc/net/dev")
    assert "squirrel" not in r.both and "outside" not in r.out
    assert not os.path.exists(os.path.join(box.ws, "../new")) and not os.path.exists(os.path.join(box.ws, ".git/x"))
    assert os.path.exists(os.path.join(box.ws, "inside"))
    assert [l.split(":")[0].strip() for l in r.out.splitlines() if ":" in l] == ["lo"]


def test_two_dashes(box):
    """The first "--" may follow a run's id; later ones, and flags, are the command's."""
    echo = ["sh", "-c", 'printf "%s|" "$@"', "x"]
    assert box.agent6("exec", "--", *echo, "a", "--", "-b").out == "a|--|-b|"
    assert box.agent6("exec", "ls", "--help").out.startswith("Usage: ls")
    for words, why in ((["git", "log", "--", "f"], "2 words"), ([], "needs a command"), (["--"], "needs a command"),
                       (["nobody", "--", "true"], "no session"), (["-x", "true"], "no flag")):
        r = box.agent6("exec", *words)
        assert r.returncode == 2 and why in r.err, (words, r.err)


def test_it_runs_where_the_person_stands_and_without_a_repository(lab):
    lab.config(STRICT)
    os.makedirs(os.path.join(lab.ws, "sub"))
    r = lab.agent6("exec", "pwd")
    assert (r.returncode, r.out) == (0, lab.ws + "\n")
    lab.repo()
    assert lab.agent6("exec", "pwd", cwd=os.path.join(lab.ws, "sub")).out == lab.ws + "/sub\n"


def test_a_program_that_is_not_there_is_127_and_a_limit_124(box):
    r = box.agent6("exec", "no-such-program")
    assert r.returncode == 127 and "No such file" in r.err and "separate words" not in r.err
    r = box.agent6("exec", "ls -la")
    assert r.returncode == 127 and "a command is given as separate words" in r.err, r.err
    assert box.agent6("exec", "sh", "-c", "ls -la; exit 127").err.count("separate words") == 0
    assert box.agent6("exec", "--timeout", "1", "sleep", "60").returncode == 124


def test_a_broken_configuration_is_2(box):
    box.config("[sandbox]\nprofile = 7\n")
    assert box.agent6("exec", "true").returncode == 2


def test_output_has_no_bound_and_no_byte_of_it_changes(box):
    size = 20_000_000
    r = box.agent6("exec", "sh", "-c", f"head -c {size} /dev/zero; printf '\\033[2J\\377'")
    assert len(r.stdout) == size + 5 and r.stdout.endswith(b"\x1b[2J\xff")
    with open(os.path.join(box.folder, "f"), "wb") as f:
        subprocess.run([AGENT6, "exec", "head", "-c", str(size), "/dev/zero"], cwd=box.ws, env=box.env, stdout=f, check=True,
                       stderr=subprocess.DEVNULL)
    assert os.path.getsize(f.name) == size


def test_output_comes_as_it_is_written(box):
    """The command waits for a word that is said only after its first line was seen here."""
    os.mkfifo(os.path.join(box.ws, "go"))
    p = subprocess.Popen([AGENT6, "exec", "sh", "-c", "echo first; read go <go; echo second"], cwd=box.ws,
                         env=box.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert p.stdout.readline() == "first\n"
    box.write("go", "now\n")
    assert p.stdout.read() == "second\n" and p.wait() == 0


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_kills_the_command_and_all_it_started(box, sig):
    p = subprocess.Popen([AGENT6, "exec", "sh", "-c", "trap '' INT TERM HUP; sleep 1000 & echo $$ up; while :; do sleep 1000; done"],
                         cwd=box.ws, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert "up" in p.stdout.readline()
    p.send_signal(sig)
    assert p.wait(timeout=300) == -sig  # as the command itself would have: a shell in a loop ends, and says 128 + sig
    assert p.stdout.read() == ""  # its end: nobody holds the pipe any more


def test_ctrl_c_ends_the_shells_loop_around_it(box):
    box.write("loop", f"for i in 1 2; do {AGENT6} exec sh -c 'echo go; sleep 1000'; done\necho never\n")
    screen = Screen(box, "bash loop")
    try:
        screen.until("go\n")
        screen.keys("C-c")
        box.wait_for(screen.ended)
        assert screen.ended() == "130" and screen.text().count("go\n") == 1 and "never" not in screen.text(), screen.text()
    finally:
        screen.close()


def test_killed_itself_it_takes_the_command_along(box):
    p = subprocess.Popen([AGENT6, "exec", "sh", "-c", "sleep 1000 & echo up; sleep 1000"], cwd=box.ws, env=box.env,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert p.stdout.readline() == "up\n"
    p.kill()
    p.wait()
    assert p.stdout.read() == ""  # its end: nobody holds the pipe any more


def test_a_run_gives_its_isolation_and_never_a_weaker_one(box):
    box.mock(script(finish()), extra=STRICT)
    assert box.run("nothing").returncode == 0
    run = box.run_dirs()[-1]
    name = os.path.basename(run)
    r = box.agent6("exec", name[:8], "--", "sh", "-c", "touch ../x")
    assert r.returncode == 1 and "isolated" not in r.err and "tool_network" not in r.err, r.err
    manifest = os.path.join(run, "record", "manifest.json")
    with open(manifest, encoding="utf-8") as f:
        text = f.read()
    assert '"strict"' in text and '"block"' in text
    with open(manifest, "w", encoding="utf-8") as f:  # as an agent that was taken over might have it written
        f.write(text.replace('"strict"', '"none"').replace('"block"', '"allow"'))
    r = box.agent6("exec", name, "--", "sh", "-c", "touch ../x; touch .git/x")
    assert r.returncode != 0 and "stricter and is used" in r.err and "tool_network" in r.err
    assert not os.path.exists(os.path.join(box.ws, "../x"))
    with open(manifest, "w", encoding="utf-8") as f:
        f.write(text.replace('"strict"', '"none"'))
    box.config('[sandbox]\nprofile = "none"\n')
    assert "UNSANDBOXED" in box.agent6("exec", name, "--", "true").err
    with open(manifest, "w", encoding="utf-8") as f:
        f.write(text)
    r = box.agent6("exec", name, "--", "touch", "../x")
    assert r.returncode == 1 and "strict is used" in r.err and "UNSANDBOXED" not in r.err


def test_on_a_terminal_nothing_of_the_command_steers_it(box):
    screen = Screen(box, f"{AGENT6} exec sh -c 'printf \"A\\033]0;title\\007\\033[2JB\\tC\\n\"; test -t 1 || echo no terminal; tty'")
    try:
        text = screen.until("not a tty")
        assert "A\\x1b]0;title\\x07\\x1b[2JB" in text.replace("\n", "") and "no terminal" in text
    finally:
        screen.close()


def test_check_boundaries_says_what_the_cells_are_built_from(box):
    box.write("private/key", "x")
    box.config(STRICT + f'hide_paths = ["{box.ws}/private"]\nextra_read_paths = ["{box.home}/docs"]\n'
               f'extra_write_paths = ["{box.home}/out"]\nmemory_limit_mb = 512\nrun_commands = "no"\n')
    r = box.agent6("check", "boundaries")
    assert r.returncode == 0, r.both
    rows = dict(l.split("] ", 1)[1].split(": ", 1) for l in r.out.splitlines() if l.startswith("[INFO]"))
    assert box.ws + "/private" in rows["commands.hidden"] and f"{box.ws}/.git" in rows["commands.protected"]
    assert f"{box.home}/docs" in rows["commands.read"] and "/usr" in rows["commands.read"]
    assert f"{box.home}/out" in rows["commands.write"] and box.ws in rows["commands.write"]
    assert f"{box.home}/docs" not in rows["commands.write"]
    assert rows["commands.memory"].startswith("512 MiB") and '"no"' in rows["commands.approval"] and '"block"' in rows["commands.network"]
    for actor in ("commands", "file_tools", "git", "client", "broker", "resolver", "recorder", "monitor", "view"):
        may, may_not = rows[f"{actor}.calls"].split("; may not ")
        runs = "execute a program" in may
        assert runs == (actor in ("commands", "git")), rows
        assert "trace processes" in may_not and ("make network sockets" in may) == (actor in ("commands", "broker", "resolver")), rows
        if actor in ("client", "broker"):
            assert "open files" in may_not, rows
    assert "/etc/hosts" in rows["resolver.read"] and "broker.reach" in rows["resolver.reach"]

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Probes beyond the red-team corpus: what only agent6 has beside a command - the run's record and answers, the broker's
sockets, the agent's channels, another command of the same run. Each probe tries; the test judges what it says, and what is
on disk afterwards.
"""
import json
import os
import re
import subprocess

from conftest import call, finish, script, turn

PROBE = r"""
import errno, os, socket, stat, sys
run = sys.argv[1]
def tried(what, f, *allowed):
    try:
        r = f()
        print('HOLE', what, repr(r)[:200])
    except OSError as e:
        print('held' if e.errno in allowed else 'ODD', what, errno.errorcode.get(e.errno, e.errno))
gone = (errno.ENOENT, errno.EACCES, errno.EROFS, errno.ENOTDIR)
for name in ('', '/record/logs.jsonl', '/record/manifest.json', '/answers', '/run.lock'):
    tried('see ' + (name or 'the run'), lambda: os.stat(run + name), *gone)
tried('answer', lambda: open(run + '/answers/approval-1', 'w').write('always'), *gone)
tried('make the way', lambda: os.makedirs(run + '/answers'), *gone)
tried('write the journal', lambda: open(run + '/record/logs.jsonl', 'a').write('{}'), *gone)
for name in open('/proc/net/unix').read().splitlines()[1:] if os.path.exists('/proc/net/unix') else ():
    print('HOLE a unix socket is listed:', name)
for top, dirs, files in os.walk('/', onerror=lambda e: None):
    dirs[:] = [d for d in dirs if os.path.join(top, d) not in ('/proc', '/usr', '/sys', '/root', '/etc')]
    for f in files:
        try:
            if stat.S_ISSOCK(os.lstat(os.path.join(top, f)).st_mode):
                print('HOLE a socket', os.path.join(top, f))
        except OSError:
            pass
print('fds', sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])
print('pids', sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))
for name in ('environ', 'mem', 'maps', 'fd/3', 'fd/4', 'root/etc', 'cwd'):
    tried('of process 1: ' + name, lambda: open('/proc/1/' + name, 'rb').read(1), errno.EACCES, errno.EPERM, errno.ENOENT, errno.EIO, errno.ESRCH)
    tried('link of process 1: ' + name, lambda: os.readlink('/proc/1/' + name) if name.startswith(('fd', 'cwd')) else os.listdir('/proc/1/fd'),
          errno.EACCES, errno.EPERM, errno.ENOENT, errno.EINVAL)
for n in (9, 19, 15):
    try:
        os.kill(1, n)
    except PermissionError:
        pass
print('process 1 is still there', os.path.exists('/proc/1'))
print('end')
"""

# A neighbour in the background, and what the next command can do about it, and it about the next command.
NEIGHBOUR = r"""
import os, signal, socket
s = socket.socket(); s.bind(('127.0.0.1', 5099)); s.listen()
open('/tmp/neighbour', 'w').write('there')
open('ready', 'w').write('now')
c = s.accept()[0]
print('pids', sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))
c.sendall(b'hello'); c.close()
signal.pause()
"""
VISITOR = r"""
import os, socket
c = socket.create_connection(('127.0.0.1', 5099))
print('said', c.recv(10).decode(), open('/tmp/neighbour').read())
print('pids', len([n for n in os.listdir('/proc') if n.isdigit()]))
try:
    os.kill(-1, 9)
except OSError as e:
    print('nobody else', e.errno)
"""


def outputs(m):
    return [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]


def test_a_command_reaches_nothing_of_the_run_it_belongs_to(lab):
    lab.repo(a="1\n")
    # The model is told nothing of the run's place; one that knows all of it, and one that looks.
    state = os.path.join(lab.home, ".local", "state", "agent6")
    place = re.search(r"config.repo: (.*)/config.toml", lab.agent6("check", "config").out).group(1)
    run = os.path.join(place, "runs", "probe")
    wild = f"set -- {state}/*/runs/probe; exec /usr/bin/python3 probe.py \"$1\""
    lab.write("probe.py", PROBE)
    m = lab.mock(script(turn(call("run_command", argv=["/usr/bin/python3", "probe.py", run])),
                        turn(call("run_command", argv=["sh", "-c", wild])), finish()))
    r = lab.run("look", "--run-id", "probe")
    assert r.returncode == 0, r.both
    for out in outputs(m)[:2]:
        lines = out["stdout"].splitlines()
        assert lines[-1:] == ["end"], out
        assert [l for l in lines if l.startswith(("HOLE", "ODD"))] == [], out
        assert len([l for l in lines if l.startswith("held")]) > 20
        assert "fds [0, 1, 2]" in lines and "process 1 is still there True" in lines, lines
        assert [l for l in lines if l.startswith("pids")][0].count(",") <= 2, lines
    assert lab.run_dirs() == [run] and os.listdir(os.path.join(lab.run_dirs()[0], "answers")) == []
    assert lab.agent6("runs", "verify").returncode == 0


def test_commands_of_one_run_share_a_network_and_tmp_but_no_processes(lab):
    lab.repo(a="1\n", neighbour5099_DOT_py=NEIGHBOUR, v_DOT_py=VISITOR)
    os.mkfifo(os.path.join(lab.ws, "ready"))  # who opens it to read waits for who opens it to write
    wait = "cat ready; exec python3 v.py"
    m = lab.mock(script(turn(call("run_command", argv=["python3", "-u", "neighbour5099.py"], background=True)),
                        turn(call("run_command", argv=["sh", "-c", wait])),
                        turn(call("read_background", id="bg1")), finish()))
    r = lab.run("serve")
    assert r.returncode == 0, r.both
    _, visited, seen = outputs(m)[:3]
    assert "said hello there" in visited["stdout"] and re.search("pids [23]$", visited["stdout"], re.M), visited
    assert "nobody else" in visited["stdout"] or visited["returncode"] in (0, 137), visited
    assert "pids [1, " in json.dumps(seen), seen  # alive after the other one's kill -1, and alone
    left = subprocess.run(["pgrep", "-f", "neighbour509[9]"], capture_output=True, text=True, check=False).stdout
    assert left == "", left

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What is mounted a second time, or mounted inside of what a command sees: in a mount namespace of the test."""
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile

import pytest
from conftest import AGENT6, as_hardened, call, finish, missing, script, turn


def in_mounts(lab, setup, *command):
    """Runs a command where the lines of `setup` have been executed, with what is mounted there; $HOME and $WS are the lab's."""
    enter = ["unshare", *([] if os.geteuid() == 0 else ["-Ur"]), "-m"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode:
        missing("unshare -m")
    return subprocess.run([*enter, "sh", "-ec", setup + '\ncd "$WS"; exec "$@"', "sh", *command], cwd=lab.folder,
                          env=dict(lab.env, AGENT6_ALLOW_ROOT="1", WS=lab.ws), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300)


def results(m):
    return [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]


OWN = [(".config/agent6", "configuration directory"), (".local/state/agent6", "state directory"), (".local/share/agent6", "data directory")]


@pytest.mark.parametrize("key", ["extra_read_paths", "extra_write_paths"])
def test_a_grant_shows_and_changes_nothing_of_agent6s_own_under_a_second_name(lab, key):
    lab.repo(a="1\n")
    other = os.path.join(lab.folder, "other")
    path = os.path.join(lab.home, ".config", "agent6", "config.toml")
    os.mkdir(other)
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", f"cat {other}/beside; grep -r CANARY {other}; echo x >> {other}/.config/agent6/config.toml;"
                                                      f" mv {other}/.config {other}/moved && echo x >> {other}/moved/agent6/config.toml"])),
                        turn(call("read_file", path=f"{other}/.config/agent6/config.toml"), call("list_dir", path=f"{other}/.local/state/agent6")),
                        turn(call("apply_edit", path=f"{other}/.config/agent6/new", edits=[{"old_string": "", "new_string": "x"}])), finish()))
    lab.write(os.path.join(lab.home, "beside"), "seen\n")
    with open(path, "a", encoding="utf-8") as f:
        f.write(f"\n[sandbox]\nrun_commands = \"yes\"\n{key} = [\"{other}\"]\n# CANARY-8d1\n")
    with open(path, encoding="utf-8") as f:
        before = f.read()
    r = in_mounts(lab, f'mount --bind "$HOME" {other}', AGENT6, "run", "--auto-approve", "look")
    assert r.returncode == 0, r.stdout + r.stderr
    said = "".join(str(x["body"]["messages"]) for x in m.model_requests())
    assert "seen" in said and "CANARY-8d1" not in said and "mock-model" not in said, said
    with open(path, encoding="utf-8") as f:
        assert f.read() == before
    assert os.listdir(os.path.dirname(path)) == ["config.toml"]


@pytest.mark.parametrize("key", ["sandbox.extra_read_paths", "sandbox.extra_write_paths"])
@pytest.mark.parametrize("own, what", OWN)
def test_a_grant_in_a_second_name_of_what_is_agent6s_own_is_refused(lab, key, own, what):
    lab.repo(a="1\n")
    other = os.path.join(lab.folder, "other")
    os.makedirs(os.path.join(lab.home, own, "sub"), exist_ok=True)
    os.mkdir(other)
    for source, granted in (("$HOME", f"{other}/{own}/sub"), (f"$HOME/{own}", other), (f"$HOME/{own}/sub", other)):
        lab.config(f'{key} = ["{granted}"]\n')
        r = in_mounts(lab, f'mount --bind "{source}" {other}', AGENT6, "exec", "--", "true")
        assert r.returncode == 2 and f"{key}: {granted} lies in the {what}" in r.stderr and "hint:" in r.stderr, r.stdout + r.stderr


@pytest.mark.parametrize("own, what", OWN)
def test_a_workspace_that_is_a_second_name_of_what_holds_agent6s_own_is_refused(lab, own, what):
    lab.repo(a="1\n")
    os.makedirs(os.path.join(lab.home, own), exist_ok=True)
    other = os.path.join(lab.ws, "inside")
    os.mkdir(other)
    for setup in (f'mount --bind "$HOME/{own}" "$WS/inside"', f'mount --bind "$HOME/{os.path.dirname(own)}" "$WS"'):
        r = in_mounts(lab, setup, AGENT6, "exec", "--", "true")
        assert r.returncode == 2 and f"and the {what}" in r.stderr and "it is mounted at" in r.stderr, r.stdout + r.stderr


@pytest.mark.parametrize("profile", ["strict", "hardened"])
def test_what_is_hidden_is_hidden_by_every_name_or_refused(lab, profile):
    if profile == "hardened":
        lab = as_hardened(lab)
    lab.repo(a="1\n")
    secret = os.path.join(lab.home, "secret")
    lab.write(os.path.join(secret, "key"), "CANARY-77e\n")
    lab.write(os.path.join(lab.ws, "near"), "beside CANARY-77e\n")
    os.mkdir(os.path.join(lab.ws, "other"))
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", "cat other/key; ls other; head -c 6 near"]), call("read_file", path="other/key"),
                             call("grep", pattern="NARY-77e"), call("list_dir", path="other"), call("read_file", path="near")), finish()),
                 extra=f'[sandbox]\nhide_paths = ["{secret}"]\n')
    r = in_mounts(lab, f'mount --bind {secret} "$WS/other"', AGENT6, "run", "--auto-approve", "look")
    if profile == "hardened":
        assert r.returncode == 2 and f"cannot hide {lab.ws}/other" in r.stderr and "hint:" in r.stderr, r.stdout + r.stderr
        return
    assert r.returncode == 0, r.stdout + r.stderr
    command, read, grep, listed, near = [json.dumps(x) for x in results(m)]
    assert "CANARY-77e" in near and "beside" in command and "beside CANARY-77e" in grep, (command, grep, near)
    assert "key" not in command.replace("other/key", "") and "CANARY" not in command + read + listed, (command, read, listed)
    assert "CANARY" not in grep.replace("beside CANARY-77e", "") and "other/" not in grep and "\"key" not in listed, (grep, listed)


def test_a_program_on_a_file_system_that_cannot_be_mapped_works_for_root_too(lab):
    """An overlay, as every container's root is: what a link of the operator's PATH leads to is shown as it is."""
    lab.repo(a="1\n")
    for name in ("lower", "upper", "over", "w", "home/.local/bin"):
        os.makedirs(os.path.join(lab.folder, name))
    lab.write(os.path.join(lab.folder, "lower", "bin", "tool"), "#!/bin/sh\necho works\n", 0o755)
    lab.write(os.path.join(lab.folder, "lower", "bin", "closed"), "CANARY\n", 0o600)
    os.symlink(f"{lab.folder}/over/bin/tool", f"{lab.home}/.local/bin/tool")
    lab.env["PATH"] = f"{lab.home}/.local/bin:" + lab.env["PATH"]
    lab.config('[sandbox]\nprofile = "strict"\n')
    over = "mount -t overlay -o lowerdir=$WS/../../lower,upperdir=$WS/../../upper,workdir=$WS/../../w none $WS/../../over"
    r = in_mounts(lab, over, AGENT6, "exec", "--", "sh", "-c",
                  f"tool; cat {lab.folder}/over/bin/closed; echo x > {lab.folder}/over/bin/tool; tool")
    # What only its owner may read stays closed to root's unprivileged id; an ordinary user is the owner.
    assert r.stdout == ("works\nCANARY\nworks\n" if os.geteuid() else "works\nworks\n"), r.stdout + r.stderr


# ---- what no grant shows: a name beneath a place of the system ----

USR = "/usr/local/share/again"
BENEATH = f'mount -t tmpfs none /usr/local/share; mkdir {USR}; mount --bind "$HOME" {USR}'


def own_files(lab):
    """One in each directory that is agent6's own, and one beside them; their paths by the second name."""
    lab.write(os.path.join(lab.home, "beside"), "seen\n")
    for own, _ in OWN:
        lab.write(os.path.join(lab.home, own, "canary"), "CANARY-5c2\n")
    return " ".join(f"{USR}/{own}/canary" for own, _ in OWN) + f" {USR}/beside"


def test_what_is_agent6s_own_is_in_no_cell_by_a_name_beneath_a_place_of_the_system(lab_of_each_profile):
    lab = lab_of_each_profile.repo(a="1\n")
    paths = own_files(lab)
    lab.config("")
    r = in_mounts(lab, BENEATH, AGENT6, "exec", "--", "sh", "-c", f"cat {paths}; echo end")
    if lab.profile == "hardened":
        assert r.returncode == 2 and "the configuration directory" in r.stderr and f"is mounted at {USR}/.config/agent6" in r.stderr, r.stdout + r.stderr
        assert "umount" in r.stderr and not r.stdout, r.stdout + r.stderr
        return
    assert r.returncode == 0 and r.stdout.split() == ["seen", "end"], r.stdout + r.stderr


def test_one_that_is_not_there_yet_is_made_so_that_it_is_hidden_beneath_a_place_of_the_system(lab):
    lab.repo(a="1\n")
    r = in_mounts(lab, BENEATH, AGENT6, "exec", "--", "true")
    assert r.returncode == 0, r.stdout + r.stderr
    assert all(os.path.isdir(os.path.join(lab.home, own)) for own, _ in OWN)


def test_a_configuration_directory_in_a_place_of_the_system_is_hidden_or_refused(lab_of_each_profile):
    lab = lab_of_each_profile.repo(a="1\n")
    lab.env["AGENT6_CONFIG_HOME"] = "/usr/local/share/mine"
    lab.config("")
    r = in_mounts(lab, 'mount -t tmpfs none /usr/local/share; cp -r "$HOME/.config/agent6" /usr/local/share/mine; chmod -R a+rX /usr/local/share/mine;'
                       ' echo "# CANARY-5c2" >> /usr/local/share/mine/config.toml; echo seen > /usr/local/share/beside', AGENT6, "exec", "--",
                  "sh", "-c", "cd /usr/local/share; cat mine/config.toml beside; echo end")
    if lab.profile == "hardened":
        assert r.returncode == 2 and "the configuration directory /usr/local/share/mine lies where every command sees it" in r.stderr, r.stdout + r.stderr
        assert "AGENT6_CONFIG_HOME" in r.stderr and not r.stdout, r.stdout + r.stderr
        return
    assert r.returncode == 0 and r.stdout.split() == ["seen", "end"], r.stdout + r.stderr


def test_a_second_name_in_what_is_shown_of_etc_is_refused_whatever_the_profile(lab_of_each_profile):
    """No mount of a cell can cover a part of its /etc; what is not shown of the host's is nobody's concern."""
    lab = lab_of_each_profile.repo(a="1\n")
    lab.config("")
    setup = 'mount -t tmpfs none /etc/alternatives; mkdir /etc/alternatives/again; mount --bind "$HOME" /etc/alternatives/again'
    r = in_mounts(lab, setup, AGENT6, "exec", "--", "true")
    assert r.returncode == 2 and "is mounted at /etc/alternatives/again/.config/agent6" in r.stderr and "umount" in r.stderr, r.stdout + r.stderr
    r = in_mounts(lab, 'mount -t tmpfs none /etc/profile.d; mkdir /etc/profile.d/again; mount --bind "$HOME" /etc/profile.d/again',
                  AGENT6, "exec", "--", "sh", "-c", "ls /etc/profile.d; echo end")
    assert r.returncode == 0 and r.stdout == "end\n", r.stdout + r.stderr


@pytest.mark.parametrize("linked, committed", [("patterns", ["a", "by-own"]), (".config/agent6/patterns", ["a", "by-beside", "by-own"])])
def test_neither_git_nor_a_server_sees_what_is_agent6s_own_beneath_a_place_of_the_system(lab, linked, committed):
    """Of git by what it leaves out of a commit: the list of that is a link to a file of agent6's own, or beside it, which is seen."""
    lab.repo(a="1\n")
    paths, out, exclude = own_files(lab), os.path.join(lab.home, "out"), os.path.join(lab.ws, ".git", "info", "exclude")
    os.mkdir(out)
    lab.write(os.path.join(lab.home, ".config", "agent6", "patterns"), "by-own\n")
    lab.write(os.path.join(lab.home, "patterns"), "by-beside\n")
    os.makedirs(os.path.dirname(exclude), exist_ok=True)
    if os.path.lexists(exclude):
        os.remove(exclude)
    os.symlink(f"{USR}/{linked}", exclude)
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo x > by-own; echo x > by-beside"])), finish()),
             extra=f'[mcp.look]\ncommand = ["/bin/sh", "-c", "cat {paths} > {out}/seen; echo end >> {out}/seen"]\nextra_write_paths = ["{out}"]\n')
    r = in_mounts(lab, BENEATH, AGENT6, "run", "--auto-approve", "look")
    assert r.returncode == 0, r.stdout + r.stderr
    heads = lab.git("for-each-ref", "--format=%(refname)", "refs/agent6/").split()
    assert [lab.git("ls-tree", "--name-only", head).split() for head in heads] == [committed], r.stdout + r.stderr
    with open(os.path.join(out, "seen"), encoding="utf-8") as f:
        assert f.read().split() == ["seen", "end"]


def test_what_is_granted_to_be_read_is_refused_where_a_second_name_of_it_is_written(lab):
    lab = as_hardened(lab)
    lab.repo(a="1\n")
    docs = os.path.join(lab.home, "docs")
    os.mkdir(docs)
    os.mkdir(os.path.join(lab.ws, "other"))
    lab.mock(script(finish()), extra=f'[sandbox]\nextra_read_paths = ["{docs}"]\n')
    r = in_mounts(lab, f'mount --bind {docs} "$WS/other"', AGENT6, "run", "--auto-approve", "look")
    assert r.returncode == 2 and f"cannot keep {docs}, mounted at {lab.ws}/other read-only" in r.stderr and "hint:" in r.stderr, r.stdout + r.stderr


@pytest.mark.parametrize("where", ["workspace", "grant"])
def test_a_program_at_a_second_name_of_what_the_model_writes_is_refused(lab, where):
    """What the spawner executes on this host: its own directory names no place of the model's, but a mount does."""
    lab.repo(a="1\n")
    other, source = os.path.join(lab.folder, "other"), lab.ws if where == "workspace" else os.path.join(lab.home, "w")
    os.makedirs(source, exist_ok=True)
    os.mkdir(other)
    lab.write(os.path.join(source, "hook"), "#!/bin/sh\n", 0o755)
    lab.config(f'notify.on_complete = ["{other}/hook"]\n' + (f'sandbox.extra_write_paths = ["{source}"]\n' if where == "grant" else ""))
    r = in_mounts(lab, f"mount --bind {source} {other}", AGENT6, "run", "--auto-approve", "x")
    assert r.returncode == 2 and f"{other}/hook lies in {other}, where the model may write" in r.stderr, r.stdout + r.stderr


# ---- what comes along with a grant ----

WINDOWS = 'for d in p c; do mkdir -p "$PLACE/tree/$d"; done; mount --rbind /proc "$PLACE/tree/p"; mount --rbind /sys "$PLACE/tree/c"; PLACE=""'


@pytest.mark.parametrize("key", [None, "extra_read_paths", "extra_write_paths"])
def test_a_window_into_the_kernel_in_what_was_granted_is_covered_or_refused(lab_of_each_profile, key):
    """A tree for chroot in the workspace or in a grant. As root its files would have to be mapped with the rest, which is refused."""
    lab = lab_of_each_profile.repo(a="1\n")
    place = lab.ws if key is None else os.path.join(lab.home, "granted")
    os.makedirs(place, exist_ok=True)
    look = f"cd {place}/tree; ls p c | grep -v :; cat p/version p/1/status c/kernel/*; echo 1 > p/self/oom_score_adj; rmdir p; mv p q; ls q; echo end"
    lab.config(f'[sandbox]\n{key} = ["{place}"]\n' if key else "")
    lab.env["PLACE"] = place
    r = in_mounts(lab, WINDOWS, AGENT6, "exec", "--", "sh", "-c", look + " 2>/dev/null")
    if lab.profile == "hardened" or os.geteuid() == 0:
        assert r.returncode == 2 and f"{place}/tree/" in r.stderr and "umount" in r.stderr and "file system" in r.stderr, r.stdout + r.stderr
        assert "ext4" not in r.stderr and "end" not in r.stdout, r.stdout + r.stderr
        return
    assert r.returncode == 0 and r.stdout.split() == ["end"], r.stdout + r.stderr
    assert f"a proc file system at {place}/tree/p" in r.stderr and f"a sysfs file system at {place}/tree/c" in r.stderr, r.stderr


def test_one_command_sees_no_window_into_the_kernel_either(lab):
    lab.env["PLACE"] = lab.ws
    policy = {"profile": "strict", "cwd": lab.ws, "argv": ["sh", "-c", "ls tree/p; cat tree/p/version; echo end"]}
    r = in_mounts(lab, WINDOWS, "sh", "-c", 'printf %s "$0" | "$1"', json.dumps(policy), os.path.join(os.path.dirname(AGENT6), "agent6-jail"))
    if os.geteuid() == 0:
        assert r.returncode != 0 and f"mounted at {lab.ws}/tree/" in r.stderr and "ext4" not in r.stderr, r.stdout + r.stderr
        return
    told = json.loads(r.stdout)
    assert told["stdout"] == "end\n" and f"a proc file system at {lab.ws}/tree/p" in told["stderr"], r.stdout + r.stderr


# ---- sockets ----

CONNECT = ("import socket,sys\nfor p in sys.argv[1:]:\n for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n  try:\n"
           "   s = socket.socket(socket.AF_UNIX, kind); s.connect(p); s.sendall(b'x'); print('REACHED', p)\n  except OSError as e: print(e.errno)\n")


@pytest.fixture(name="listen")
def listen_():
    """Makes sockets that this process, one of the host's, listens on, and tells whether anybody came."""
    made = []

    def listen(path, kind=socket.SOCK_STREAM):
        s = socket.socket(socket.AF_UNIX, kind)
        made.append(s)
        s.bind(path)
        os.chmod(path, 0o777)
        s.setblocking(False)
        if kind == socket.SOCK_STREAM:
            s.listen(8)
        return path

    yield listen
    for s in made:
        with pytest.raises(BlockingIOError):
            s.accept() if s.type & socket.SOCK_STREAM else s.recv(1)
        s.close()


@pytest.mark.parametrize("network", ["block", "allow"])
def test_a_socket_of_the_hosts_in_what_was_granted_is_reached_by_no_command(lab_of_each_profile, listen, network):
    lab = lab_of_each_profile.repo(a="1\n")
    read, write = os.path.join(lab.home, "read"), os.path.join(lab.home, "write")
    for d in (read, write, f"{lab.ws}/run"):
        os.mkdir(d)
    os.symlink(read, os.path.join(lab.home, "link"))  # bound by another name than the one it is found by
    paths = [f"{read}/s", f"{write}/s", f"{lab.ws}/run/s", f"{lab.ws}/run/d"]
    for p in (f"{lab.home}/link/s", *paths[1:3]):
        listen(p)
    listen(paths[3], socket.SOCK_DGRAM)
    lab.write("connect.py", CONNECT)
    lab.config(f'[sandbox]\ntool_network = "{network}"\nextra_read_paths = ["{read}"]\nextra_write_paths = ["{write}"]\n')
    r = lab.agent6("exec", "--", "sh", "-c", 'python3 connect.py "$@"; mv run run2 2>/dev/null && python3 connect.py run2/s; rm -f run/s; echo end', "sh", *paths)
    assert r.returncode == 0 and "REACHED" not in r.out and r.out.endswith("end\n"), r.both
    for p in paths if lab.profile != "hardened" else []:
        assert f"a socket of a process of the host at {p}" in r.err, r.both
        assert stat.S_ISSOCK(os.lstat(p).st_mode)


@pytest.mark.parametrize("device", ["same", "another"])
def test_a_socket_of_the_hosts_under_a_second_name_is_reached_by_no_command(lab, listen, device, request):
    lab.repo(a="1\n")
    away = tempfile.mkdtemp(dir=lab.home if device == "same" else "/dev/shm")
    request.addfinalizer(lambda: shutil.rmtree(away))
    assert (os.stat(away).st_dev == os.stat(lab.ws).st_dev) == (device == "same")
    os.mkdir(f"{lab.ws}/inside")
    listen(f"{away}/s")
    lab.write("connect.py", CONNECT)
    r = in_mounts(lab, f'mount --bind {away} "$WS/inside"', AGENT6, "exec", "--", "python3", "connect.py", "inside/s")
    assert r.returncode == 0 and "REACHED" not in r.stdout and f"at {lab.ws}/inside/s" in r.stderr, r.stdout + r.stderr


def test_what_no_process_of_the_hosts_listens_on_works_between_commands(lab):
    """The neighbour of it: what a command itself binds there is its own."""
    lab.repo(a="1\n")
    lab.write("both.py", "import socket\na = socket.socket(socket.AF_UNIX); a.bind('own'); a.listen(1)\n"
                         "b = socket.socket(socket.AF_UNIX); b.connect('own'); print('connected')\n")
    r = lab.agent6("exec", "--", "python3", "both.py")
    assert r.returncode == 0 and r.out == "connected\n", r.both


@pytest.mark.parametrize("key", ["extra_read_paths", "extra_write_paths"])
def test_a_grant_that_is_a_socket_is_refused_with_the_reason(lab_of_each_profile, listen, key):
    lab = lab_of_each_profile.repo(a="1\n")
    path = listen(os.path.join(lab.home, "s"))
    lab.config(f'[sandbox]\n{key} = ["{path}"]\n')
    r = lab.agent6("exec", "--", "true")
    assert r.returncode == 2 and f"{path}: it is a socket, and whoever listens there works outside" in r.err and "hint:" in r.err, r.both


def test_a_socket_of_the_hosts_is_reached_by_no_server(lab, listen):
    lab.repo(a="1\n")
    granted = os.path.join(lab.home, "granted")
    os.mkdir(granted)
    path = listen(f"{granted}/s")
    lab.write(f"{granted}/server.py", f"import subprocess, sys\nsaid = subprocess.run([sys.executable, '-c', {CONNECT!r}, {path!r}],"
              " capture_output=True, text=True).stdout\nimport json\nfor line in sys.stdin:\n    m = json.loads(line)\n"
              "    if 'id' not in m: continue\n    known = {'initialize': {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}},"
              " 'serverInfo': {'name': 'x', 'version': '1'}}, 'tools/list': {'tools': [{'name': 't', 'description': 'said ' + said,"
              " 'inputSchema': {'type': 'object'}}]}}\n    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], **({'result': known[m['method']]}"
              " if m['method'] in known else {'error': {'code': -32601, 'message': 'no'}})}), flush=True)\n")
    m = lab.mock(script(finish()), extra=f'[mcp.n]\ncommand = ["python3", "{granted}/server.py"]\nextra_read_paths = ["{granted}"]\n')
    r = lab.run()
    told = [t["function"]["description"] for t in m.model_requests()[0]["body"]["tools"] if "mcp" in t["function"]["name"]]
    assert r.returncode == 0 and len(told) == 1 and "said " in told[0] and "REACHED" not in told[0], (told, r.both)


def test_the_boundaries_say_which_sockets_of_the_hosts_are_left(lab_of_each_profile):
    lab = lab_of_each_profile.repo(a="1\n")
    lab.config("")
    said = lab.agent6("check", "boundaries").both
    row = re.search(r"commands\.sockets: (.*)", said)
    assert row and row[1].startswith("none") and (lab.profile == "hardened") == ("later" not in row[1]), said

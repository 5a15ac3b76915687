# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What an auditor would look at first: which files may start programs or open sockets, what the programs link, and how
every process of a real run is held, read from /proc while it stands."""
import array
import json
import os
import pty
import re
import socket
import struct
import subprocess

import pytest

import conftest
from conftest import call, finish, missing, script, turn

SRC = os.path.join(conftest.SOURCE, "src")
KEY = "dummy-key-0123456789"
AGENT6 = os.path.join(conftest.BUILD, "agent6")


# ---- the sources ----

def code_of(path):
    """Without comments and strings."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*", " ", text))


def files_with(pattern):
    found = set()
    for top, _, names in os.walk(SRC):
        for n in names:
            path = os.path.join(top, n)
            if n.endswith((".c", ".h")) and re.search(pattern, code_of(path)):
                found.add(os.path.relpath(path, SRC))
    return found


def test_every_event_of_the_table_is_sent_by_some_source_line():
    """Reading one (a view, a replay) does not count."""
    with open(os.path.join(SRC, "session/event.h"), encoding="utf-8") as f:
        rows = re.findall(r'^\tX\((\w+), "([^"]+)"', f.read(), re.M)
    assert len(rows) > 100
    readers = re.compile(r"^(view|ui)/|^session/event\.|/re(decide|play)")
    sources = {}
    for top, _, names in os.walk(SRC):
        for n in names:
            path = os.path.relpath(os.path.join(top, n), SRC)
            if n.endswith(".c") and not readers.search(path):
                with open(os.path.join(SRC, path), encoding="utf-8") as f:
                    sources[path] = f.read()
    never = [t for row, t in rows if not any(re.search(rf"\bEVENT_{row}\b(?!\s*\|)", s) or f'"{t}"' in s for s in sources.values())]
    assert never == [], "nobody sends these"


# Who makes a process or executes a program by a call of its own, and what for.
STARTERS = {
    "sys/proc.c",               # a copy of ourselves, or a program: for all below but sandbox/
    "sandbox/launch.c",         # the command of a jail, and the first process of its pid namespace
    "sandbox/namespace.c",      # the first process of a cell, in its namespaces
    "sandbox/group.c",          # a process that is born in its control group
    "sandbox/guards.c",         # the guardian of a jail without namespaces
    "sandbox/guard_once.c",     # the same of agent6-jail by hand
    "sandbox/zygote_ground.c",  # the zygote that stands where no namespace is
    "sandbox/gitwatch.c",       # who looks at .git, with nothing else in hand
    "sandbox/attempt.c",        # tries to, in a jail
}
# Who asks sys/proc.h or a jail for one.
ASKERS = {
    # a program of agent6's own or the system's, with words of the operator's or of a table
    "app/apparmor.c", "app/check_probes.c", "app/check_sandbox.c", "app/demo.c", "app/profile.c", "app/skills_fetch.c",
    "role/hooks.c", "role/launch.c", "role/spawner.c", "ui/cli/cmd_demo.c", "ui/cli/cmd_modes.c",
    # a copy of ourselves that confines itself
    "app/init.c", "app/leash.c", "app/rehearse.c", "index/pool.c", "ui/cli/talk.c",
    # what the model asked for: in a jail, or without one under profile "none"
    "sandbox/zygote_work.c", "sandbox/bare.c",
    # ctags, in the index worker's jail
    "index/ctags.c",
}


def test_only_named_files_start_processes():
    calls = (r"\b(fork|vfork|_Fork|execve|execv|execvp|execvpe|execl|execlp|execle|fexecve|execveat|posix_spawnp?|popen|system|clone|clone3|daemon"
             r"|forkpty)\s*\(|\bSYS_(clone|clone3|fork|vfork|execve|execveat)\b|\bsyscall\s*\(\s*__NR_(clone|fork|vfork|exec)")
    assert files_with(calls) - {"base/banned.h"} == STARTERS
    asks = r"\b(proc_(fork|spawn|run)|jail_spawn)\s*\("
    doors = {"sys/proc.c", "sys/proc.h", "sandbox/jail.c", "sandbox/jail.h"}
    assert files_with(asks) - doors == ASKERS


def test_only_one_file_says_which_calls_a_process_may_make():
    """The rows lie in one, what makes a filter of them in another; nobody else has a filter of its own, or changes the rows."""
    filters = r"\b(sock_fprog|BPF_STMT|BPF_JUMP|SECCOMP_SET_MODE_FILTER|SECCOMP_MODE_FILTER)\b"
    assert files_with(filters) == {"sandbox/seccomp.c",
                                   "sandbox/launch.c"}  # enters the same one with raw calls, between clone and execve
    assert files_with(r"\bstruct seccomp_row\s+\w+\[\]") == {"sandbox/seccomp_table.c"}
    assert files_with(r"\bstruct seccomp_table\b.*=\s*\{") == {"sandbox/seccomp_table.c"}


def test_only_named_files_open_sockets():
    sockets = r"(?<![\w.>])(socket|connect|bind|listen|accept4?)\s*\(|SYS_(socket|connect|bind)\b"
    assert {f for f in files_with(sockets) if f.endswith(".c")} == {
        "role/broker.c",        # dials the configured hosts
        "sandbox/namespace.c",  # raises lo
        "sandbox/side.c",       # the same, beside a cell of its own: in the network namespace that it made
        "sandbox/attempt.c",    # tries to, in a jail
    }
    assert {f for f in files_with(r"\bsocketpair\s*\(") if not f.startswith(("sys/", "sandbox/"))} == set()


def test_only_the_resolver_looks_names_up_and_loads_what_that_needs():
    assert files_with(r"(?<![\w.>])(getaddrinfo|gethostby\w+|getnameinfo|res_\w*query|dlopen)\s*\(") == {"resolver/main.c"}


def test_only_the_client_knows_a_tls_library():
    found = files_with(r"#\s*include\s*<(curl|openssl)/")
    assert found and {f.split("/")[0] for f in found} == {"net"}


# ---- the programs ----

def readelf(*args):
    try:
        return subprocess.run(["readelf", "-W", *args], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        missing("readelf is not installed")


def program(name):
    path = os.path.join(conftest.BUILD, name)
    if not os.path.exists(path):
        missing(f"{path} is not built")
    return path


def needed(name):
    return re.findall(r"NEEDED.*\[(.*?)\]", readelf("-d", program(name)))


def test_only_agent6_net_links_tls():
    for name in ("agent6", "agent6-jail", "agent6-index", "agent6-resolver"):
        assert [n for n in needed(name) if re.search(r"curl|ssl|crypto|gnutls", n)] == [], name
    assert [n for n in needed("agent6-net") if "curl" in n]


def test_only_agent6_index_holds_grammars():
    for name in ("agent6", "agent6-jail", "agent6-net", "agent6-resolver"):
        assert "ts_parser_" not in readelf("-Ws", program(name)) and not [n for n in needed(name) if "tree" in n], name
    built_with = subprocess.run([program("agent6-index"), "--version"], capture_output=True, text=True, timeout=300).stdout
    assert ("ts_parser_" in readelf("-Ws", program("agent6-index"))) == ("grammars" in built_with and "without" not in built_with), built_with


@pytest.mark.parametrize("name", ["agent6", "agent6-jail", "agent6-net", "agent6-index", "agent6-resolver"])
def test_the_programs_are_hardened(name):
    path = program(name)
    head, segments, dynamic = readelf("-h", path), readelf("-l", path), readelf("-d", path)
    assert re.search(r"Type:\s+DYN", head), "position independent"
    assert "GNU_RELRO" in segments
    assert re.search(r"BIND_NOW|FLAGS_1.*NOW", dynamic), "every symbol bound before main"
    stack = re.search(r"GNU_STACK\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)", segments).group(1)
    assert "E" not in stack, "no executable stack"
    assert not re.search(r"LOAD.*\bRWE\b", segments), "nothing both writable and executable"
    assert not re.search(r"R(UN)?PATH", dynamic)
    assert "__stack_chk_fail" in readelf("-s", path), "stack protector"


# ---- a run while it stands ----

def read(pid, what):
    with open(f"/proc/{pid}/{what}", "rb") as f:
        return f.read()


def status(pid):
    return dict(l.split(":\t", 1) for l in read(pid, "status").decode("utf-8", "replace").splitlines() if ":\t" in l)


def descendants(pid):
    found = [pid]
    for p in found:
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                found += [int(c) for c in read(p, f"task/{task}/children").split()]
        except OSError:
            pass
    return found


def describe(fd):
    """socket, pipe, anon kind, or what is open; directories below the run as .../NAME."""
    m = re.match(r"(socket|pipe):|anon_inode:\[?(\w+)", fd)
    return (m.group(1) or m.group(2)) if m else fd


def standing(lab):
    """The processes of a run that has a command under way, by what they are."""
    kinds = {}
    for pid in descendants(lab.standing.pid):
        try:
            argv = read(pid, "cmdline").decode("utf-8", "replace").split("\0")[:-1]
            st = status(pid)
            core = re.search(r"Max core file size +(\w+) +(\w+)", read(pid, "limits").decode()).groups()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # What another process of the same user may not read, root may.
        env, fds, ns = None, None, None
        try:
            env = read(pid, "environ")
            fds = {int(n): describe(os.readlink(f"/proc/{pid}/fd/{n}")) for n in os.listdir(f"/proc/{pid}/fd")}
            ns = {n: os.readlink(f"/proc/{pid}/ns/{n}") for n in ("net", "mnt", "pid", "user", "ipc", "uts", "cgroup")}
        except PermissionError:
            pass
        except (FileNotFoundError, ProcessLookupError):
            continue
        name = argv[2] if "--role" in argv else os.path.basename(argv[0]) if argv else "?"
        if name == "agent6":
            name = "monitor"
        kinds.setdefault(name, []).append({"pid": pid, "argv": argv, "env": env, "fds": fds, "status": st, "core": core, "ns": ns})
    return kinds


def hold(lab):
    """A real run, held while its command waits for a file."""
    lab.repo(a_DOT_txt="one\n")
    os.mkfifo(os.path.join(lab.ws, "hold"))
    lab.git("add", "-A")
    # One process and no other: nothing of it comes or goes while the test looks around.
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", ": >waiting; read x <hold"])), finish()),
             top='[sandbox]\nallow_urls = ["names.example"]\n')  # so that somebody looks names up
    leader, follower = pty.openpty()
    lab.standing = subprocess.Popen([conftest.AGENT6, "run", "--auto-approve", "do it"], cwd=lab.ws, env=lab.env,
                                    stdin=follower, stdout=follower, stderr=follower, start_new_session=True)
    os.close(follower)
    try:
        lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "waiting")))
        lab.kinds = standing(lab)
    except BaseException:
        lab.standing.kill()
        raise
    yield lab
    with open(os.path.join(lab.ws, "hold"), "w", encoding="utf-8") as f:
        f.write("go\n")
    while True:
        try:
            if not os.read(leader, 65536):
                break
        except OSError:
            break
    os.close(leader)
    assert lab.standing.wait(timeout=300) == 0


@pytest.fixture
def held(lab):
    yield from hold(lab)


@pytest.fixture(params=["strict", "hardened"])
def held_by_each_profile(request, lab):
    yield from hold(conftest.as_hardened(lab, root=True) if request.param == "hardened" else lab)


def closed_to_its_user(held):
    """For an ordinary user: everybody who reads hostile bytes or holds keys keeps even that user out."""
    if os.geteuid() == 0:
        return False
    for name in ("agent", "recorder", "broker", "agent6-net", "agent6-resolver", "view", "monitor"):
        assert held.kinds[name][0]["fds"] is None, f"{name} is open to every process of its user"
    return True


ROLES = {"monitor": 1, "spawner": 1, "recorder": 1, "broker": 1, "agent6-net": 1, "agent6-resolver": 1, "view": 1, "agent": 1}


def test_every_process_of_a_run_is_held_as_designed(held_by_each_profile):
    held = held_by_each_profile
    kinds = held.kinds
    for role, n in ROLES.items():
        assert len(kinds.get(role, [])) == n, (role, sorted(kinds))
    assert len(kinds["agent6-jail"]) >= 5, sorted(kinds)  # two zygotes, each with its cell's process 1, and the stubs
    everyone = [(name, p) for name, ps in kinds.items() for p in ps]
    free = {"spawner"}  # it starts the person's programs on the host, and reads nothing hostile
    outside = set()
    for name, p in everyone:
        st = p["status"]
        # A zygote's first process only waits for the cell: it holds no channel.
        if name == "agent6-jail" and "0" in (st["NoNewPrivs"], st["Seccomp"]) and p["fds"] is not None and "socket" not in p["fds"].values():
            outside.add(p["pid"])
            continue
        if name in free or (name == "agent6-jail" and p["fds"] is None and st["NSpid"].split() == [str(p["pid"])]):
            continue
        assert p["core"] == ("0", "0"), name
        assert st["NoNewPrivs"] == "1", name
        assert st["Seccomp"] == "2", name
        if name != "agent6-jail":
            assert int(st["CapEff"], 16) == 0 and int(st["CapPrm"], 16) == 0, name
        if os.geteuid() == 0:  # nobody else may empty it, and NoNewPrivs makes it useless
            assert int(st["CapBnd"], 16) == 0, name
    assert os.geteuid() != 0 or len(outside) >= 2
    # The cell's filter and its jail's hold a command as well; the agent's own comes on top of them.
    filters = {name: int(kinds[name][0]["status"]["Seccomp_filters"]) for name in ("agent", "sh")}
    assert filters["agent"] == filters["sh"] + 1, filters


def test_no_process_of_a_run_but_the_client_has_seen_the_key(held_by_each_profile):
    held = held_by_each_profile
    key = KEY.encode()
    assert held.env["MOCK_API_KEY"] == KEY
    for name, ps in held.kinds.items():
        for p in ps:
            assert key not in (p["env"] or b""), f"/proc/PID/environ of {name}"
            assert key not in "\0".join(p["argv"]).encode(), name
    if closed_to_its_user(held):
        return
    for name in ("agent", "recorder", "view", "broker", "agent6-net", "agent6-resolver"):
        assert held.kinds[name][0]["env"] == b"", name
    # Nor is it in the memory of who reads what the model says. (The scripted model speaks plain HTTP, so here the
    # broker has relayed it in the clear; over TLS it sees ciphertext.)
    for name in ("agent", "recorder", "view", "monitor", "spawner", "agent6-resolver"):
        pid = held.kinds[name][0]["pid"]
        for line in read(pid, "maps").decode().splitlines():
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r(\S+) .*?(\S*)$", line)
            if not m or "[v" in line:
                continue
            with open(f"/proc/{pid}/mem", "rb", 0) as f:
                f.seek(int(m.group(1), 16))
                try:
                    seen = key in f.read(int(m.group(2), 16) - int(m.group(1), 16))
                except OSError:
                    continue
                assert not seen, f"the key is in the memory of {name}: {line}"


def test_every_process_has_the_descriptors_it_was_given_and_no_other(held_by_each_profile):
    held = held_by_each_profile
    if closed_to_its_user(held):
        return

    def sockets(name):
        return sorted(n for n, f in held.kinds[name][0]["fds"].items() if f == "socket")

    def files(name):
        return sorted(f for n, f in held.kinds[name][0]["fds"].items() if f.startswith("/") and not f.startswith("/dev/"))

    run = held.run_dirs()[-1]
    assert sockets("agent") == [3, 4, 5, 6, 7]
    agent = [f for f in files("agent") if f != held.ws]
    assert agent == [], agent
    assert sockets("recorder") == [3, 4]
    repo = os.path.dirname(os.path.dirname(run))
    assert {f for f in files("recorder") if not f.startswith(run)} <= {os.path.dirname(run), os.path.join(repo, "memories")}
    assert set(files("view")) <= {os.path.join(run, "record"), os.path.join(run, "answers"),
                                  os.path.join(run, "record", "logs.jsonl")}
    assert files("agent6-net") == [] and files("broker") == []
    assert files("agent6-resolver") == [] and sockets("agent6-resolver") == [3, 4]
    assert sockets("spawner") == [3]
    # The command has its standard three, and a terminal is not among them.
    command = [p for ps in held.kinds.values() for p in ps if p["argv"][:2] == ["sh", "-c"]]
    assert len(command) == 1
    assert set(command[0]["fds"]) == {0, 1, 2} and "pts" not in str(command[0]["fds"])
    # The first process of a jail in a cell only waits, and holds nothing; hardened has a guardian there, with its socket.
    first = int(command[0]["status"]["PPid"])
    mine = [p for p in held.kinds["agent6-jail"] if p["pid"] == first]
    assert len(mine) == 1 and (held.profile == "hardened" or mine[0]["fds"] == {}), mine


def test_who_reads_hostile_bytes_has_a_network_of_its_own(held):
    if closed_to_its_user(held):
        return
    host = os.readlink("/proc/self/ns/net")
    command = [p for ps in held.kinds.values() for p in ps if p["argv"][:2] == ["sh", "-c"]][0]
    agent = held.kinds["agent"][0]
    assert agent["ns"]["net"] != host and command["ns"]["net"] != host
    assert agent["ns"]["net"] != command["ns"]["net"]
    for kind in ("mnt", "pid", "user", "ipc", "uts", "cgroup"):
        mine = os.readlink(f"/proc/self/ns/{kind}")
        assert agent["ns"][kind] != mine and command["ns"][kind] != mine, kind
    for kind in ("mnt", "pid", "ipc", "uts"):
        assert agent["ns"][kind] != command["ns"][kind], kind
    # An empty one: no interface but lo.
    dev = read(agent["pid"], "net/dev").decode().splitlines()[2:]
    assert [l.split(":")[0].strip() for l in dev] == ["lo"]
    dev = read(command["pid"], "net/dev").decode().splitlines()[2:]
    assert [l.split(":")[0].strip() for l in dev] == ["lo"]


def test_nobody_listens(held_by_each_profile):
    held = held_by_each_profile
    found = []
    for pid in descendants(held.standing.pid):
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
            lines = [l for t in ("tcp", "tcp6") for l in read(pid, f"net/{t}").decode().splitlines()[1:]]
            paths = [l for l in read(pid, "net/unix").decode().splitlines()[1:]]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        found += [l for l in lines if l.split()[3] == "0A" and f"socket:[{l.split()[9]}]" in links]
        found += [l for l in paths if int(l.split()[3], 16) & 0x10000 and f"socket:[{l.split()[6]}]" in links]
    assert found == []


HOSTILE = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x9b2J\u202ereversed\u2066\r\x08 end"


def test_nothing_the_model_says_steers_the_terminal(lab):
    """Its text, arguments, file names and content, the output of its commands: in the run and in every listing."""
    lab.repo(a_DOT_txt="one\n")
    lab.write("name\x1b[2Jx", "x\n")
    lab.git("add", "-A")
    lab.git("commit", "-q", "-m", "names " + HOSTILE)
    lab.mock(script(
        turn(call("run_command", argv=["printf", "%b", "\\033[2J\\033]0;x\\007\\302\\233" + HOSTILE.replace("\x00", "")]), text=HOSTILE),
        turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": HOSTILE}])),
        turn(call("read_file", path="no" + HOSTILE)), turn(call("no_such_tool" + "\x1b[2J", x=HOSTILE)), finish("done " + HOSTILE)))
    shown = {"run": lab.run("task " + HOSTILE)}
    run_id = os.path.basename(lab.run_dirs()[-1])
    for words in (["runs"], ["runs", "list"], ["runs", "show", run_id], ["runs", "commits", run_id], ["watch", run_id],
                  ["runs", "verify", run_id], ["runs", "list", "--json"], ["runs", "show", run_id, "--json"],
                  ["runs", "commits", run_id, "--json"], ["history", "search", "--json", "reversed"], ["runs", "graph", run_id, "--json"],
                  ["runs", "compare", run_id, run_id, "--json"], ["runs", "transcript", run_id, "--json"]):
        shown[" ".join(words)] = lab.agent6(*words)
        if "--json" in words and shown[" ".join(words)].returncode == 0:
            json.loads(shown[" ".join(words)].out)
    assert json.loads(shown["runs list --json"].out)[0]["task"] == "task " + HOSTILE
    shown = {what: r.both for what, r in shown.items()}
    # A patch that goes into a file or a pipe is what git would apply; on a terminal it is cleaned like the rest.
    shown["runs diff"] = on_terminal(lab, "runs", "diff", run_id)
    assert "reversed" in shown["run"] and "reversed" in shown["runs diff"]
    for what, text in shown.items():
        bad = re.search("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]", text)
        assert bad is None, (what, text[max(0, bad.start() - 60):bad.end() + 40])


def on_terminal(lab, *args, program=(conftest.AGENT6,)):
    """What a terminal without colours is sent."""
    leader, follower = pty.openpty()
    p = subprocess.Popen([*program, *args], cwd=lab.ws, env=dict(lab.env, NO_COLOR="1"), stdin=follower,
                         stdout=follower, stderr=follower, start_new_session=True)
    os.close(follower)
    out = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(leader)
    p.wait(timeout=300)
    return out.decode("utf-8", "replace")


def known_tests():
    known = set()
    for top, _, names in os.walk(os.path.join(conftest.SOURCE, "test")):
        for n in names:
            if n.endswith((".c", ".py")):
                with open(os.path.join(top, n), encoding="utf-8") as f:
                    known.update(re.findall(r"^(?:TEST\(|def )(\w+)", f.read(), re.M))
            elif n.endswith(".story"):
                known.add(n)
    return known


def test_every_rule_of_the_loop_names_tests_that_exist():
    with open(os.path.join(conftest.SOURCE, "docs/loop.md"), encoding="utf-8") as f:
        section = f.read().split("\n## Rules and what shows them\n")[1].split("\n## ")[0]
    known, (intro, *_) = known_tests(), section.split("\n|")
    short = dict(zip(("told", "patience"), re.findall(r"`(\w+_\w+)`", intro)))
    assert len(short) == 2
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ") and not line.startswith("| rule")]
    assert len(rows) > 30
    for rule, shown in rows:
        named = [short.get(n, n) for n in re.findall(r"`([\w.-]+)`", shown)]
        assert named, rule
        assert [n for n in named if n not in known] == [], rule


def test_every_promise_names_tests_that_exist():
    with open(os.path.join(conftest.SOURCE, "SECURITY.md"), encoding="utf-8") as f:
        text = f.read()
    known = known_tests()
    promises = re.split(r"^### (P\d+) ", text, flags=re.M)
    numbers = promises[1::2]
    assert numbers == [f"P{i}" for i in range(1, 11)]
    for number, body in zip(numbers, promises[2::2]):
        body = body.split("\n## ")[0]
        named = re.findall(r"`(\w+_\w+)`", body.split("\nTests: ")[1])
        assert named, number
        assert [n for n in named if n not in known] == [], number
        assert number in ("P9", "P10") or "Stops at:" in body, number
    for block in re.findall(r"^Tests: .*?(?=\n\n|\Z)", text, re.M | re.S):  # of whatever chapter
        assert [n for n in re.findall(r"`(\w+_\w+)`", block) if n not in known] == []
    # Elsewhere a test is named by the way, and so are files.
    assert [n for n in re.findall(r"`(test_\w+|[a-z]+(?:_[a-z0-9]+){3,})`", text) if n not in known] == []
    files = {os.path.relpath(os.path.join(top, n), conftest.SOURCE) for place in ("test", "src", "docs")
             for top, _, names in os.walk(os.path.join(conftest.SOURCE, place)) for n in names}
    named = set(re.findall(r"`([\w/.-]+\.(?:py|c|h|md|story))`", text)) | set(re.findall(r"\b((?:docs|src|test)/[\w/.-]*\w\.\w+)", text))
    assert [n for n in sorted(named) if n not in ("plan.md",) and not any(f == n or f.endswith("/" + n) for f in files)] == []


def ask_reader(body, *dirs):
    """One question to the process that reads what earlier runs left: its code (0: answered), its words, its answer."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    p = subprocess.Popen([AGENT6, "--role", "reader"], pass_fds=(3,), preexec_fn=lambda: os.dup2(theirs.fileno(), 3),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={})
    theirs.close()
    fds = [os.open(d, os.O_RDONLY | os.O_DIRECTORY) for d in dirs]
    ours.sendmsg([struct.pack("<HHIQ", 130, 0, len(body), 0) + body], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
    got, back, _, _ = socket.recv_fds(ours, 70000, 4)
    for fd in fds:
        os.close(fd)
    ours.close()
    p.communicate(timeout=300)
    if not got:
        return p.returncode, b"", b""
    assert struct.unpack("<H", got[:2]) == (131,)
    with open(back[0] if back else os.devnull, "rb") as f:
        f.seek(0)
        return got[16], got[21:], f.read()


def test_what_reads_earlier_runs_reaches_nothing_but_what_it_was_given(lab):
    """Told to read another repository than the one in its hands, as if it were taken over, it gets nothing there."""
    lab.repo(a="one\n")
    other = os.path.join(lab.folder, "other")
    subprocess.run(["git", "init", "-q", "-b", "hidden-branch", other], check=True, env=lab.env)

    def paths(top):
        return b"\x02" + b"".join(struct.pack("<I", len(p)) + p.encode() for p in (top, top + "/.git", top + "/.git", top + "/.git"))

    hands = [lab.ws, lab.ws + "/.git", lab.ws + "/.git"]
    code, said, answer = ask_reader(paths(lab.ws), *hands)
    assert (code, said) == (0, b"") and b"main" in answer and lab.git("rev-parse", "HEAD").strip().encode() in answer
    code, said, answer = ask_reader(paths(other), other, other + "/.git", other + "/.git")
    assert code == 0 and b"hidden-branch" in answer  # it could be read
    code, said, answer = ask_reader(paths(other), *hands)
    assert b"hidden-branch" not in said + answer, (code, said, answer)
    # A question there is not, one without its directory, and one with more than it says.
    for body, dirs in ((b"\x09", hands[:1]), (b"\x02", hands[:1]), (b"\x00\x01more", hands[:1]), (b"", hands[:1]), (b"\x04", hands[:1])):
        code, said, answer = ask_reader(body, *dirs)
        assert code != 0 and answer == b"", (body, code, said)
    # It adds what the operator says to a record, and writes nowhere else.
    record = os.path.join(lab.folder, "record")
    os.mkdir(record)
    with open(os.path.join(record, "manifest.json"), "w", encoding="utf-8") as f:
        f.write("{}")
    members = b'{"merged":{"into":"main"}}'
    code, said, answer = ask_reader(b"\x03" + struct.pack("<I", len(members)) + members, record)
    assert code == 0, said
    with open(os.path.join(record, "manifest.json"), encoding="utf-8") as f:
        assert json.load(f)["merged"] == {"into": "main"}
    assert os.listdir(record) == ["manifest.json"]


@pytest.mark.parametrize("manifest, says", [
    ("{", "manifest.json"), ("[]", "not a JSON object"), ('{"version":99}', "version 99"),
    ('{"base_sha":"--output=x"}', "a commit that cannot be one"), ("{" * 5000, "manifest.json"), ("\x00" * 100, "manifest.json"),
], ids=["cut", "list", "newer", "commit", "deep", "zeros"])
def test_a_record_that_cannot_be_read_is_said_and_nothing_is_done(lab, manifest, says):
    lab.repo(a="one\n")
    lab.mock(script(finish()))
    assert lab.run().returncode == 0
    run = lab.run_dirs()[-1]
    with open(os.path.join(run, "record", "manifest.json"), "w", encoding="utf-8") as f:
        f.write(manifest)
    before = lab.git("for-each-ref")
    run = os.path.basename(run)
    for words in (["runs", "diff", run], ["runs", "merge", run], ["resume", run, "--auto-approve", "--steer", "more"],
                  ["exec", run, "--", "true"]):
        r = lab.agent6(*words)
        assert r.returncode not in (0, -11, -6) and says in r.both, (words, r.both)
        assert "\x00" not in r.both
    assert lab.git("for-each-ref") == before

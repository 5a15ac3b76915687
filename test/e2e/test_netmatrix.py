# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The network matrix (docs/sandbox.md, "The network"), each cell tried: who listens is outside, who tries is a command,
an MCP server, a jail as a machine's tool state will have, the agent's place, or the broker's table. test/evil/netprobe.c
knows the ways; the cells below are written down a second time, from the documentation and not from the code's table."""
import contextlib
import json
import os
import re
import select
import shutil
import socket
import subprocess
import threading

import pytest

import conftest
from conftest import as_hardened, call, finish, missing, script, turn
from test_mcp import PYTHON, play, results, server

PROBE = os.path.join(conftest.BUILD, "netprobe")
EVIL = os.path.join(conftest.BUILD, "agent6-evil")
JAIL = os.path.join(conftest.BUILD, "agent6-jail")
ROOT = os.geteuid() == 0

NET = {"tcp4", "tcp6", "udp", "udp6", "dns"}
OUTSIDE = {"path", "abstract", "pair-path", "pair-abstract"}  # unix sockets of the host
ODD = {"netlink-uevent", "netlink-generic", "netlink-audit", "netlink-netfilter", "raw", "raw6", "ping", "sctp", "mptcp",
       "udplite", "packet", "packet-dgram", "vsock", "alg", "tipc", "bluetooth", "can", "rds", "xdp", "smc", "io_uring"}
V6 = {"tcp6", "udp6"}  # where this host has it
PLAIN = {"socketpair", "netlink", "own"}  # what ordinary programs do with themselves; own: a listener on their loopback
ALL = NET | OUTSIDE | ODD | PLAIN

# What works; everything else of ALL must be refused. UNENFORCED lists what must work at least.
RUN = ALONE = PLAIN
NOTHING_BUT_PAIRS = {"socketpair"}
NOTHING = set()
HOST = NET | PLAIN
UNENFORCED = NET | PLAIN | {"path", "abstract"}

# What each says that reaches something, and what that is to a program in a jail; None: nobody stands in a jail there.
REACHES = {
    "run": ("a loopback that the run's commands share, and nothing else", RUN),
    "alone": ("a loopback of its own, and nothing else", ALONE),
    "nothing": ("nothing: no socket can be made", NOTHING_BUT_PAIRS),
    "host": ("the host's network, and no unix socket outside", HOST),
    "none": ("the host's network: nothing is enforced", UNENFORCED),
    "refused": ("refused: it does not start", None),
    "table": ("the hosts of the broker's table: providers in use, MCP servers by url, allow_urls", None),
    "local": ("the hosts of the broker's table: providers and MCP servers on this machine", None),
    "any": ("any host, through a proxy where one is named", None),
}
PROFILES = ("strict", "hardened", "none")

# What is set, and what may be reached under each of PROFILES.
AGENT = ("nothing", "nothing", "none")  # whatever is set
CLIENT = {"providers": ("table", "table", "table"), "local": ("local", "local", "local"), "open": ("any", "any", "any")}
COMMANDS = {"block": ("run", "nothing", "none"), "only_explicit_states": ("run", "nothing", "none"), "allow": ("host", "host", "none")}
SERVERS = {"not set": ("alone", "nothing", "none"), "= false": ("alone", "nothing", "none"), "= true": ("host", "host", "none")}
STATES = {
    ("block", "auto"): ("alone", "nothing", "none"),
    ("block", "block"): ("alone", "nothing", "none"),
    ("block", "allow"): ("refused", "refused", "none"),
    ("only_explicit_states", "auto"): ("alone", "nothing", "none"),
    ("only_explicit_states", "block"): ("alone", "nothing", "none"),
    ("only_explicit_states", "allow"): ("host", "host", "none"),
    ("allow", "auto"): ("alone", "nothing", "none"),
    ("allow", "block"): ("alone", "nothing", "none"),
    ("allow", "allow"): ("host", "host", "none"),
}


def rows():
    """The matrix as the documentation writes it."""
    yield ("agent", "any `agent_network`"), AGENT
    yield from ((("client", f"`agent_network` = {k}"), v) for k, v in CLIENT.items())
    yield from ((("commands", f"`tool_network` = {k}"), v) for k, v in COMMANDS.items())
    yield from ((("MCP server", f"`mcp.NAME.allow_network` {k}"), v) for k, v in SERVERS.items())
    yield from ((("tool state", f"`tool_network` = {k[0]}, `allow_network` = {k[1]}"), v) for k, v in STATES.items())


def cells(table, *leave_out):
    """Each cell of it for a test: profile, what is set, what it may reach."""
    found = [(p, k, v[i]) for k, v in table.items() for i, p in enumerate(PROFILES) if v[i] not in leave_out]
    return pytest.mark.parametrize("profile,setting,reach", found, ids=["-".join([p, *([k] if isinstance(k, str) else k)]) for p, k, _ in found])


def test_the_rows_that_are_tried_are_those_of_the_documentation():
    """As written, in order; that these are the code's is test/app/test_network.c's to say."""
    with open(os.path.join(conftest.SOURCE, "docs", "sandbox.md"), encoding="utf-8") as f:
        lines = f.read().split("\n## The network\n")[1].split("\n## ")[0].splitlines()
    table = [tuple(c.strip() for c in l.strip("|").split("|")) for l in lines if l.startswith("|")]
    assert table[0] == ("who", "setting", *PROFILES) and set("".join(table[1])) == {"-"}
    assert table[2:] == [(*who, *(REACHES[r][0] for r in reach)) for who, reach in rows()]


class Servers:
    """One listener of each kind, outside of every jail; each answers whoever comes."""

    def __init__(self, folder):
        self.came, self.news = [], threading.Condition()
        self.open, self.threads, self.targets = [], [], {}
        self.tcp("tcp4", socket.AF_INET, "127.0.0.1")
        self.has_v6 = os.path.exists("/proc/net/if_inet6") and self.tcp("tcp6", socket.AF_INET6, "::1")
        self.udp("udp", socket.AF_INET, "127.0.0.1")
        if self.has_v6:
            self.udp("udp6", socket.AF_INET6, "::1")
        for name, address in (("path", os.path.join(folder, "s")), ("abstract", "\0agent6-test-%d" % os.getpid())):
            for kind, suffix in ((socket.SOCK_STREAM, ""), (socket.SOCK_DGRAM, ".d")):
                s = self.listen(name + suffix, socket.AF_UNIX, kind, address + suffix)
                self.targets[name + suffix] = (address + suffix).lstrip("\0")
                if name == "path":
                    os.chmod(address + suffix, 0o777)
                assert s

    def listen(self, name, family, kind, address):
        s = socket.socket(family, kind)
        self.open.append(s)
        s.bind(address)
        if kind == socket.SOCK_STREAM:
            s.listen(16)
        t = threading.Thread(target=self.serve, args=(name, s, kind), daemon=True)
        t.start()
        self.threads.append(t)
        return s

    def tcp(self, name, family, host):
        try:
            s = self.listen(name, family, socket.SOCK_STREAM, (host, 0))
        except OSError:
            return False
        self.targets[name] = s.getsockname()[1]
        return True

    def udp(self, name, family, host):
        s = self.listen(name, family, socket.SOCK_DGRAM, (host, 0))
        self.targets[name] = s.getsockname()[1]

    def serve(self, name, s, kind):
        while True:
            try:
                if kind == socket.SOCK_STREAM:
                    s.accept()[0].close()
                else:
                    _, who = s.recvfrom(64)
                    if not who:
                        continue
                    if s.family != socket.AF_UNIX:
                        s.sendto(b"here", who)
            except OSError:
                return
            with self.news:
                self.came.append(name)
                self.news.notify_all()

    def who_came(self, expected):
        """Whoever came, once those who are expected have."""
        with self.news:
            self.news.wait_for(lambda: expected <= set(self.came), 300)
            return {n.split(".")[0] for n in self.came}

    def words(self):
        return " ".join(f"{k}={v}" for k, v in self.targets.items())

    def close(self):
        for s in self.open:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)  # wakes who waits in accept
            if s.type == socket.SOCK_DGRAM:
                with contextlib.suppress(OSError), socket.socket(s.family, socket.SOCK_DGRAM) as end:
                    end.sendto(b"", s.getsockname())
            s.close()


@pytest.fixture
def servers():
    folder = conftest.tempfile.mkdtemp(prefix="agent6-net-", dir="/var/tmp")
    os.chmod(folder, 0o755)
    s = Servers(folder)
    yield s
    s.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place(lab):
    if not os.path.exists(PROBE) or not os.path.exists(EVIL):
        missing(f"{PROBE} is not built (meson option tests)")
    shutil.copy(PROBE, lab.write("netprobe", "", 0o755))
    lab.repo()
    return lab


def ways(lines):
    """{way: "" when it was reached, else the errno}; every way is there, or the probe did not run."""
    found = dict(re.match(r"(?:net )?([\w-]+) (?:reached|refused (\w+))$", l).groups() for l in lines
                 if re.match(r"(net )?[\w-]+ (reached|refused)", l))
    assert set(found) == ALL, lines
    assert [w for w, e in found.items() if e == "ENODATA" and w not in V6] == [], "a target is missing"
    return {w: e or "" for w, e in found.items()}


def judge(found, may, servers, exact=True):
    reached = {w for w, e in found.items() if not e}
    may = set(may) - (set() if servers.has_v6 else V6)
    if exact:
        assert reached == may, {w: found[w] for w in reached ^ may}
        # Who listens says the same: nobody came by a way that is not the commands'.
        listening = may & {"tcp4", "tcp6", "udp", "udp6", "path", "abstract"}
        assert servers.who_came(listening) == listening
        # A refused kind of socket is refused as such, and not by chance.
        odd = {found[w] for w in ODD & set(found)}
        assert odd <= {"EAFNOSUPPORT", "EACCES", "EPERM", "ENOSYS"}, odd
    else:
        assert may <= reached, {w: found[w] for w in may - reached}


def give_away(place, profile):
    """As root, hardened works as the workspace's owner, who must not be root."""
    if ROOT and profile == "hardened":
        subprocess.run(["chown", "-R", "64123:64123", place.ws], check=True)
        place.env.update(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*")


def jail(place, profile, network, argv):
    policy = {"profile": profile, "cwd": place.ws, "argv": argv, "network": network,
              "env": [["PATH", "/usr/bin:/bin"]], "timeout_s": 300}
    p = subprocess.Popen([JAIL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with p.stdin as f:
        f.write(json.dumps(policy))
    p.stdin = None
    return p


def ended(p):
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0, err
    return json.loads(out)


def one_shot(place, profile, network, words):
    return ended(jail(place, profile, network, ["./netprobe", words]))["stdout"].splitlines()


@cells(COMMANDS)
def test_what_a_command_reaches(place, servers, profile, setting, reach):
    words, may = REACHES[reach]
    place.config(f'[sandbox]\nprofile = "{profile}"\ntool_network = "{setting}"\n')
    network = "host" if setting == "allow" else "none"
    judge(ways(one_shot(place, profile, network, servers.words())), may, servers, exact=profile != "none")
    servers.came.clear()
    give_away(place, profile)
    r = place.agent6("exec", "--", "./netprobe", servers.words())
    judge(ways(r.out.splitlines()), may, servers, exact=profile != "none")
    # It is said aloud where it is wider than the default, and by the page that lists the boundaries.
    loud = {"none": "UNSANDBOXED"}.get(profile, "tool_network is \"allow\"")
    assert (loud in r.err) == (profile == "none" or setting == "allow"), r.err
    said = place.agent6("check", "boundaries").out
    assert f'commands.network: sandbox.tool_network = "{setting}": {words}' in said


# ---- tool states, and MCP servers: a cell of its own for each ----

# A listener on its loopback that stands until it is told that the other one has looked: both ways are named pipes.
HOLD = """import socket
s = socket.create_server(("127.0.0.1", 0))
with open("here", "w") as f:
    f.write(str(s.getsockname()[1]))
open("gone").read()
"""


@contextlib.contextmanager
def listening(place, profile, network):
    """A jail of the same kind in which somebody listens; the port is his own world's."""
    for name in ("here", "gone"):
        os.mkfifo(os.path.join(place.ws, name))
    p = jail(place, profile, network, [PYTHON, "-c", HOLD])
    here = os.open(os.path.join(place.ws, "here"), os.O_RDONLY | os.O_NONBLOCK)
    try:
        came = select.select([here, p.stdout], [], [], 300)[0]  # its result comes first when it could not listen
        assert came == [here], p.communicate()
        yield int(os.read(here, 16))
        with open(os.path.join(place.ws, "gone"), "w", encoding="utf-8"):
            pass
        assert ended(p)["returncode"] == 0
    finally:
        os.close(here)


@cells(STATES, "refused")
def test_what_the_jail_of_a_tool_state_reaches(place, servers, profile, setting, reach):
    """Machines are not built yet; what a state's program stands in is. Which network the jail of a reach has is
    network_of_jail's to say, and which rows are refused network_judge's (test/app/test_network.c)."""
    network = "host" if reach in ("host", "none") else "none"
    judge(ways(one_shot(place, profile, network, servers.words())), REACHES[reach][1], servers, exact=profile != "none")
    if reach == "nothing":
        return  # nobody can listen there
    # Another state's jail at the same time: its loopback is the host's like this one's, or one of its own.
    with listening(place, profile, network) as port:
        targets = dict(servers.targets, tcp4=port)
        found = ways(one_shot(place, profile, network, " ".join(f"{k}={v}" for k, v in targets.items())))
    assert found["own"] == "" and found["tcp4"] == ("ECONNREFUSED" if reach == "alone" else ""), found


@cells(SERVERS)
def test_what_a_server_reaches(lab, servers, profile, setting, reach):
    if profile == "hardened":
        as_hardened(lab, root=True)
    lab.profile = profile
    lab.repo(a="1\n")
    words, may = REACHES[reach]
    config = server(lab, extra="" if setting == "not set" else "allow_network " + setting)
    probe = shutil.copy(PROBE, os.path.join(lab.folder, "servers", "netprobe"))
    mock, r = play(lab, config, turn(call("mcp__lab__look", probe=[probe, servers.words()])))
    assert r.returncode == 0, r.both
    found = json.loads(results(mock)[0]["content"])
    judge(ways(found["probe"].splitlines()), may, servers, exact=profile != "none")
    assert ("MCP server lab has allow_network = true: it reaches the host's network" in r.err) is (reach == "host"), r.err
    assert ("UNSANDBOXED" in r.err) is (profile == "none"), r.err
    assert re.search(r"mcp\.lab: .*; network: " + re.escape(words) + ";", lab.agent6("check", "boundaries").out)


def test_the_loopback_of_a_server_is_shared_with_no_other_and_with_no_command(lab, servers):
    lab.repo(a="1\n")
    shutil.copy(PROBE, lab.write("netprobe", "", 0o755))
    port = 47111  # of a world of its own, so it is free
    targets = " ".join(f"{k}={v}" for k, v in dict(servers.targets, tcp4=port).items())
    config = server(lab) + server(lab, name="two")
    probe = shutil.copy(PROBE, os.path.join(lab.folder, "servers", "netprobe"))
    mock, r = play(lab, config, turn(call("mcp__lab__look", listen=port, probe=[probe, targets])),
                   turn(call("mcp__two__look", probe=[probe, targets])), turn(call("run_command", argv=["./netprobe", targets])))
    assert r.returncode == 0, r.both
    one, two, command = results(mock)
    one, two = (ways(json.loads(x["content"])["probe"].splitlines()) for x in (one, two))
    assert (one["tcp4"], two["tcp4"]) == ("", "ECONNREFUSED")
    assert "tcp4 refused ECONNREFUSED" in command["stdout"] and "own reached" in command["stdout"], command


def evil(place, case):
    """The report of what agent6-evil tried in the agent's place."""
    place.git("add", "-A")
    place.git("commit", "-qm", "targets")
    r = subprocess.run([EVIL, "run", "--auto-approve", "evil " + case], cwd=place.ws, env=place.env, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=300)
    path = os.path.join(place.ws, "evil.report")
    assert os.path.exists(path), r.stderr.decode()
    return place.read("evil.report").splitlines(), r.stderr.decode()


@pytest.mark.parametrize("setting", list(CLIENT))
@pytest.mark.parametrize("profile", ["strict", "hardened"])
@pytest.mark.parametrize("how", ["", "raw "])
def test_the_agents_place_has_no_socket_whatever_is_configured(place, servers, profile, setting, how):
    place.mock(script(finish()), top=f'[sandbox]\nprofile = "{profile}"\nagent_network = "{setting}"\ntool_network = "allow"\n')
    place.write("net.targets", servers.words())
    give_away(place, profile)
    lines, said = evil(place, how + "net")
    assert "DONE" in lines, said
    judge(ways(lines), NOTHING_BUT_PAIRS if how else NOTHING, servers)  # before it confines itself it may make a pair
    assert f"agent.network: {REACHES[AGENT[0]][0]}" in place.agent6("check", "boundaries").out


@pytest.mark.parametrize("setting", list(CLIENT))
def test_without_a_sandbox_the_agent_is_unconfined_and_that_is_said(place, servers, setting):
    place.mock(script(finish()), top=f'[sandbox]\nprofile = "none"\nagent_network = "{setting}"\n')
    place.write("net.targets", servers.words())
    lines, said = evil(place, "raw net")
    judge(ways(lines), UNENFORCED, servers, exact=False)
    assert "UNSANDBOXED" in said
    assert f"agent.network: {REACHES[AGENT[2]][0]}" in place.agent6("check", "boundaries").out


MOVES = "import os; os.mkdir('a'); os.mkdir('b'); open('a/x', 'w').close(); os.rename('a/x', 'b/x'); os.link('b/x', 'a/y'); print('moved')"


@pytest.mark.parametrize("profile", ["strict", "hardened"])
@pytest.mark.parametrize("setting", ["block", "allow"])
def test_a_command_moves_files_between_directories_whatever_network_it_has(place, profile, setting):
    """A Landlock domain that says nothing of files refuses that (EXDEV): no process around a command is in such a one."""
    m = place.mock(script(turn(call("run_command", argv=["python3", "-c", MOVES])), finish()),
                   top=f'[sandbox]\nprofile = "{profile}"\ntool_network = "{setting}"\n')
    give_away(place, profile)
    r = place.run()
    assert r.returncode == 0, r.err
    text = json.dumps(m.model_requests()[1]["body"])
    assert "moved" in text and "Errno" not in text, text[-2000:]


def test_a_live_run_under_allow_reaches_the_hosts_network_and_keeps_the_rest(place, servers):
    """The whole product: the model's command dials out; .git stays read-only, the agent is told, the person is told."""
    m = place.mock(script(turn(call("run_command", argv=["./netprobe", servers.words()])),
                          turn(call("run_command", argv=["sh", "-c", "echo x > .git/config; echo x > ../out; ls /proc/1/root"])),
                          finish()), top='[sandbox]\ntool_network = "allow"\n')
    r = place.run()
    assert r.returncode == 0, r.err
    assert 'sandbox.tool_network is "allow"' in r.err
    results = [e for e in place.events("loop.tool_result") if e.get("name") == "run_command"] or place.journal()
    text = json.dumps(m.model_requests()[1]["body"])
    out = re.search(r"tcp4 (reached|refused \w+)", text)
    assert out and out.group(1) == "reached", text[-2000:]
    assert "path refused" in text and "abstract refused" in text and results
    assert "have the network" in json.dumps(m.model_requests()[0]["body"])
    assert place.read(".git/config").startswith("[core]") and not os.path.exists(os.path.join(place.ws, "..", "out"))


# ---- the broker's table ----

# The row is the same whatever confines the rest: the broker and the client are processes of ours under every profile.
EACH = pytest.mark.parametrize("profile", PROFILES)


def broker_rows(place):
    return re.findall(r"broker\.reach: (\S+?),", place.agent6("check", "boundaries").out)


@EACH
def test_the_hosts_the_broker_may_dial_are_the_providers_in_use_and_allow_urls(place, servers, profile):
    """Another configured provider is not in it, and neither is what the environment names."""
    give_away(place, profile)
    place.mock(script(finish()), top=f'[sandbox]\nprofile = "{profile}"\nallow_urls = ["example.com", "http://10.0.0.1/x", "[fd00::1]:8443", '
               f'"localhost:{servers.targets["tcp4"]}", "example.com:443"]\n',
               extra='[providers.other]\napi_format = "openai"\nbase_url = "https://other.example.net/v1"\n')
    port = place.mocks[0].url.rsplit(":", 1)[1]
    assert broker_rows(place) == [f"127.0.0.1:{port}", "example.com:443", "10.0.0.1:80", "fd00::1:8443",
                                  f"localhost:{servers.targets['tcp4']}"]


@EACH
def test_local_refuses_a_provider_elsewhere_by_name_before_anything_exists(place, profile):
    give_away(place, profile)
    place.config(f'[sandbox]\nprofile = "{profile}"\nagent_network = "local"\nallow_urls = ["example.com"]\n[providers.far]\napi_format = "openai"\n'
                 'base_url = "https://far.example.net/v1"\napi_key_env = "MOCK_API_KEY"\n[models.worker]\nprovider = "far"\n'
                 'model = "m"\n')
    r = place.run()
    assert r.returncode == 2 and "provider far is at far.example.net" in r.err and "agent6 model" in r.err
    assert place.run_dirs() == []
    place.mock(script(finish()), top=f'[sandbox]\nprofile = "{profile}"\nagent_network = "local"\nallow_urls = ["example.com"]\n')
    r = place.run()
    assert r.returncode == 0, r.err
    assert 'sandbox.allow_urls has no effect: sandbox.agent_network is "local"' in r.err
    assert broker_rows(place) == [place.mocks[0].url.split("//")[1]]


@EACH
def test_open_dials_by_itself_and_honours_the_proxy_and_says_both(place, profile):
    """The proxy is a listener that notes what it is asked for: the name goes to it, nobody is asked here."""
    asked = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                c, _ = listener.accept()
            except OSError:
                return
            asked.append(c.recv(4096).split(b"\r\n")[0])
            c.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
            c.close()

    threading.Thread(target=serve, daemon=True).start()
    proxy = "http://127.0.0.1:%d" % listener.getsockname()[1]
    place.config('[git.commit]\nname = "Lab"\nemail = "lab@example.invalid"\n'
                 f'[sandbox]\nprofile = "{profile}"\nagent_network = "open"\n[providers.far]\napi_format = "openai"\n'
                 'base_url = "https://far.invalid/v1"\napi_key_env = "MOCK_API_KEY"\n[models.worker]\nprovider = "far"\n'
                 'model = "m"\n')
    give_away(place, profile)
    r = place.run(env={"https_proxy": proxy})
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    assert r.returncode != 0
    assert 'agent_network is "open"' in r.err and f"through the proxy {proxy[7:]}, which https_proxy names" in r.err
    assert asked and set(asked) == {b"CONNECT far.invalid:443 HTTP/1.1"}
    assert broker_rows(place) == []
    # One that cannot be used is refused; its value, which may hold a password, is not repeated.
    r = place.run(env={"https_proxy": "http://me:hunter2@127.0.0.1:1"})
    assert r.returncode != 0 and "the proxy that https_proxy names cannot be used" in r.err and "hunter2" not in r.err


@pytest.mark.parametrize("entry,why", [("example.com:0", "port"), ("example.com:65536", "port"), ("ftp://x", "https://"),
                                       ("user@example.com", "host"), ("https://u:p@example.com", "user"), ("", "1 to 253"),
                                       ("a b", "host"), ("[::1", "address")])
def test_an_entry_that_is_no_host_is_refused_where_it_stands(place, entry, why):
    place.config(f'[sandbox]\nallow_urls = ["{entry}"]\n')
    r = place.agent6("config", "show")
    assert r.returncode != 0 and "sandbox.allow_urls" in r.err and why in r.err, r.err


def test_a_metadata_address_in_allow_urls_is_said_aloud(place):
    place.mock(script(finish()), top='[sandbox]\nallow_urls = ["169.254.169.254:80"]\n')
    r = place.run()
    assert r.returncode == 0 and "allow_urls names 169.254.169.254:80, a link-local address" in r.err

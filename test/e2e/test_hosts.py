# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Hosts that can do less than this one, made by test/evil/under.c: what each profile becomes there and what is said
about it; and `agent6 check sandbox`, whose probes are shown to be able to fail."""
import json
import os
import re
import resource
import subprocess

import pytest

import conftest
from conftest import missing

UNDER = os.path.join(conftest.BUILD, "under")
JAIL = os.path.join(conftest.BUILD, "agent6-jail")
ROOT = os.geteuid() == 0

NS = "does not let user namespaces be made"
ZERO = "user namespaces are switched off (user.max_user_namespaces = 0)"
NESTED = "agent6 runs inside another sandbox"
NO_LL = "this kernel has no Landlock: one layer of the jail is missing"
FORBIDDEN_LL = "a filter around agent6 forbids Landlock: one layer of the jail is missing"
FORBIDDEN_ABI0 = "needs Landlock ABI 3 and seccomp, a filter around agent6 forbids Landlock, which leaves ABI 0"
ABI0 = "needs Landlock ABI 3 and seccomp, this kernel has ABI 0"

# host: {profile asked for: (profile that comes of it or None, what is said)}
HOSTS = {
    "": {"auto": ("strict", ""), "strict": ("strict", ""), "hardened": ("hardened", ""), "none": ("none", "UNSANDBOXED")},
    "no-userns": {"auto": ("hardened", NS), "strict": (None, NS), "hardened": ("hardened", ""), "none": ("none", "UNSANDBOXED")},
    "no-newuser": {"auto": ("hardened", NS), "strict": (None, NS), "hardened": ("hardened", ""), "none": ("none", "UNSANDBOXED")},
    "max-userns-0": {"auto": ("hardened", ZERO), "strict": (None, ZERO), "hardened": ("hardened", ""),
                     "none": ("none", "UNSANDBOXED")},
    "landlock": {"auto": ("hardened", NESTED), "strict": (None, NESTED), "hardened": ("hardened", ""),
                 "none": ("none", "UNSANDBOXED")},
    "masked-proc": {"auto": ("strict", "")},
    "no-landlock": {"auto": ("strict", NO_LL), "strict": ("strict", NO_LL), "hardened": (None, ABI0),
                    "none": ("none", "UNSANDBOXED")},
    "forbidden-landlock": {"auto": ("strict", FORBIDDEN_LL), "hardened": (None, FORBIDDEN_ABI0)},
    "no-userns,no-landlock": {"auto": (None, NS), "strict": (None, NS), "hardened": (None, ABI0),
                              "none": ("none", "UNSANDBOXED")},
}
if ROOT:  # who is not has that capability in the user namespace that the cell is made in
    HOSTS["no-chroot"] = {"auto": ("strict", "")}
LL_HINTS = {"no-landlock": b"hint: use Linux 6.2 or newer with Landlock enabled",
            "forbidden-landlock": b"hint: start agent6 where landlock_create_ruleset is allowed"}
# Where two hosts differ in the reason alone, what does not depend on it is tried on one of them.
CELLS = [(h, p) for h, row in HOSTS.items() for p in row
         if not (p == "none" and h not in ("", "no-userns,no-landlock")) and not (p == "hardened" and h in ("no-newuser", "landlock"))]
# What stays wrong there whatever the profile is.
FAILS = {"no-landlock": {"landlock_abi"}, "forbidden-landlock": {"landlock_abi"}, "no-userns,no-landlock": {"landlock_abi"}}


@pytest.fixture
def place(lab):
    if not os.path.exists(UNDER):
        missing(f"{UNDER} is not built (meson option tests)")
    lab.repo()
    return lab


def on(host, *argv, **kw):
    return subprocess.run([*([UNDER, host] if host else []), *argv], capture_output=True, timeout=300, **kw)


def rows_of(place, host=""):
    r = on(host, conftest.AGENT6, "check", "sandbox", "--json", cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL)
    said = json.loads(r.stdout)
    assert said["failed"] == len([x for x in said["rows"] if x["verdict"] == "FAIL"])
    assert r.returncode == (1 if said["failed"] else 0)
    return said["rows"]


@pytest.mark.parametrize("host,asked", CELLS, ids=[f"{h or 'this-host'}-{p}" for h, p in CELLS])
def test_a_profile_becomes_what_the_host_can_do_or_is_refused_with_the_reason(place, host, asked):
    want, reason = HOSTS[host][asked]
    place.config(f'[sandbox]\nprofile = "{asked}"\n')
    rows = rows_of(place, host)
    got = [r for r in rows if r["name"] == "profile"]
    assert len(got) == 1 and reason in got[0]["detail"], got
    if want is None:
        assert got[0]["verdict"] == "FAIL"
        assert re.search(r"; \w", got[0]["detail"]), "no remedy"
        r = on(host, conftest.AGENT6, "exec", "--", "true", cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL)
        assert r.returncode == 2 and reason in r.stderr.decode() and "hint:" in r.stderr.decode(), r.stderr
        return
    assert f"{asked} asked for, {want} it is" in got[0]["detail"]
    tried = {r["name"]: r["verdict"] for r in rows if r["name"].startswith("jail_")}
    assert (want == "none") == (not tried)
    r = on(host, conftest.AGENT6, "exec", "--", "echo", "works", cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL)
    if want != "none" and host in FAILS:  # the jail stands without Landlock; who reads what a model may have written does not
        assert r.returncode == 2 and b"by which agent6's own processes are confined\n" + LL_HINTS[host] in r.stderr, r.stderr
    elif not (ROOT and want == "hardened"):  # that is refused in a workspace of root's
        assert r.returncode == 0 and r.stdout == b"works\n", r.stderr
        assert (b"/proc is empty" in r.stderr) == (host == "masked-proc"), r.stderr
    said = [r["detail"] for r in rows if r["name"] == "proc"]
    assert (host == "masked-proc") == bool(said) and all("systempaths=unconfined" in d for d in said), said
    # What stands there is held: every probe passes, on the weak host as on the strong one.
    bad = [r for r in rows if r["verdict"] == "FAIL" and r["name"] not in FAILS.get(host, set())]
    assert want == "none" or bad == [], bad
    assert want == "none" or len(tried) >= 18, tried


@pytest.mark.parametrize("host", LL_HINTS)
@pytest.mark.parametrize("words", [["init", "--yes"], ["prompt", "show"], ["connect", "ollama"], ["runs", "list"], ["skills", "list"], ["demo"]], ids=" ".join)
def test_whoever_cannot_be_confined_without_landlock_says_what_helps(place, host, words):
    assert place.agent6("init", "--yes").returncode == 0  # there is a place for sessions, which is what `runs list` reads
    r = on(host, conftest.AGENT6, *words, cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL)
    said = r.stderr.decode() + r.stdout.decode()
    assert "by which agent6's own processes are confined" in said and LL_HINTS[host].decode().removeprefix("hint: ") in said, said


@pytest.mark.parametrize("host", ["no-userns", "no-newuser", "max-userns-0", "landlock"])
def test_the_launcher_refuses_strict_there_and_says_what_helps(place, host):
    policy = {"profile": "strict", "cwd": place.ws, "argv": ["true"], "env": [["PATH", "/usr/bin:/bin"]]}
    r = on(host, JAIL, input=json.dumps(policy).encode())
    assert r.returncode == 2 and r.stdout == b"" and HOSTS[host]["strict"][1] in r.stderr.decode(), r.stderr
    assert b"hint:" in r.stderr
    policy["profile"] = "hardened"
    r = on(host, JAIL, input=json.dumps(policy).encode())
    assert r.returncode == 0 and json.loads(r.stdout)["returncode"] == 0, r.stderr


@pytest.mark.parametrize("host", LL_HINTS)
def test_the_launcher_refuses_hardened_without_landlock_and_says_what_helps(place, host):
    policy = {"profile": "hardened", "cwd": place.ws, "argv": ["true"], "env": [["PATH", "/usr/bin:/bin"]]}
    r = on(host, JAIL, input=json.dumps(policy).encode())
    assert r.returncode == 2 and b"needs Landlock ABI 3" in r.stderr and LL_HINTS[host] in r.stderr, r.stderr


def test_a_policy_that_refuses_setns_is_named_with_what_helps(place):
    """Namespaces can be made there, which the probe tries, and none be entered: it shows when the cell is built."""
    for argv, stdin in (([conftest.AGENT6, "exec", "--", "true"], None),
                        ([JAIL], json.dumps({"profile": "strict", "cwd": place.ws, "argv": ["true"]}).encode())):
        r = on("no-setns", *argv, cwd=place.ws, env=place.env, input=stdin or b"")
        assert r.returncode == 2 and b" namespace: Permission denied" in r.stderr, r.stderr
        assert b"hint: a policy around agent6 refuses setns" in r.stderr and b'profile = "hardened"' in r.stderr, r.stderr


@pytest.mark.parametrize("limits,hint", [((64, 1024), "ulimit -n 256, in the shell that starts agent6, raises it"),
                                         ((64, 64), "ulimit -n 256, in the shell" if ROOT else "only root raises it in this shell, since the hard limit is 64")])
def test_too_few_open_files_are_refused_before_a_model_is_asked(place, limits, hint):
    m = place.mock(conftest.script(conftest.finish()))

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    r = subprocess.run([conftest.AGENT6, "run", "--auto-approve", "do it"], cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                       preexec_fn=limit, timeout=100)
    said = r.stderr.decode()
    assert r.returncode == 2 and "the limit of open files is 64 here, and a run needs 256" in said and f"hint: {hint}" in said, said
    assert not m.model_requests() and place.run_dirs() == []
    limits = (256, 256)
    r = subprocess.run([conftest.AGENT6, "run", "--auto-approve", "do it"], cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                       preexec_fn=limit, timeout=100)
    assert r.returncode == 0 and m.model_requests(), r.stderr


def test_every_row_of_check_sandbox_names_a_promise_of_the_security_page(place):
    with open(os.path.join(conftest.SOURCE, "SECURITY.md"), encoding="utf-8") as f:
        promises = set(re.findall(r"^### (P\d+) ", f.read(), re.M))
    rows = rows_of(place)
    assert {r["promise"] for r in rows if r["promise"]} <= promises
    named = {r["name"]: r["promise"] for r in rows if r["name"].startswith("jail_")}
    assert [n for n, p in named.items() if not p] == ["jail_limits_memory"]
    text = place.agent6("check", "sandbox").out
    for r in rows:
        assert f"[{r['verdict']}] {r['name']}: " in text


@pytest.mark.parametrize("attempt,arg", [("write", "new"), ("read", "given"), ("setid", None), ("trace", None),
                                         ("privileges", None), ("signal", "PID"), ("process", "PID"), ("sockets", None),
                                         ("mount", None), ("kernel", None), ("memory", "32")])
def test_an_attempt_outside_of_a_jail_works(place, attempt, arg):
    """Else a probe that passes would prove nothing."""
    place.write("given", "x")
    arg = str(os.getpid()) if arg == "PID" else arg
    r = on("", JAIL, "--attempt", attempt, *([arg] if arg else []), cwd=place.ws)
    assert r.returncode == 1 and r.stdout.strip(), r


def test_an_attempt_that_does_not_exist_or_lacks_its_word_says_so(place):
    for argv in (["nothing"], ["write"], ["trace", "x"]):
        assert on("", JAIL, "--attempt", *argv).returncode == 2


def test_a_probe_that_finds_a_hole_fails_the_check(place):
    """A launcher that confines nothing stands in for the jail: everything it lets through is a FAIL, and the status is 1."""
    place.env["AGENT6_JAIL_BIN"] = os.path.join(conftest.BUILD, "nojail")
    rows = {r["name"]: r["verdict"] for r in rows_of(place)}
    for name in ("jail_blocks_outside_write", "jail_blocks_setid", "jail_has_no_privileges", "jail_hides_outside",
                 "jail_hides_processes", "jail_blocks_tracing", "jail_blocks_signals", "jail_protects_git"):
        assert rows[name] == "FAIL", (name, rows)
    assert rows["jail_ends_leftovers"] == "FAIL"


@pytest.mark.parametrize("host", ["no-userns", "landlock"])
def test_what_the_launcher_may_counts_and_not_what_agent6_may(place, host):
    """AppArmor allows by program: a launcher that may make namespaces stands for one with a profile."""
    assert on("", JAIL, "--probe").returncode == 0
    r = on(host, JAIL, "--probe")
    assert r.returncode == 2 and HOSTS[host]["strict"][1] in r.stderr.decode()
    place.env["AGENT6_JAIL_BIN"] = os.path.join(conftest.BUILD, "nojail")
    said = {r["name"]: r["detail"] for r in rows_of(place, host)}
    assert said["profile"] == "auto asked for, strict it is" and said["userns"] == "user namespaces can be made"


def test_apparmor_is_refused_where_there_is_none_and_status_says_so(place):
    if os.path.exists("/sys/kernel/security/apparmor") or os.path.exists("/etc/apparmor.d/agent6-jail"):
        missing("a host without AppArmor")
    r = place.agent6("system", "apparmor", "install")
    assert r.returncode == 1 and "does not use AppArmor" in r.err
    r = place.agent6("system", "apparmor")
    assert r.returncode == 0 and "agent6-jail: not there" in r.out and "there is nothing to install" in r.out
    r = place.agent6("system", "apparmor", "remove")
    assert r.returncode == 0 and "no profile to remove" in r.err
    assert not os.path.exists("/etc/apparmor.d/agent6-jail")

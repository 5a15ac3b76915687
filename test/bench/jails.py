# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What one jailed /bin/true costs: in a run, and from the command line beside bubblewrap and the minimal program."""
import json
import os
import re
import shutil
import subprocess

from figures import over, say, times, tool
from conftest import SHARED


def bench_warm_jail(rounds):
    for profile, bound in (("strict", "2.5 x"), ("hardened", "1.45 x")):
        warm_jail(rounds, profile, bound)


def warm_jail(rounds, profile, bound):
    if profile == "hardened" and os.geteuid() == 0:
        say("one jailed /bin/true in a run, hardened", "not measured", bound, "as root it is another user's: run this as an ordinary user")
        return
    out = subprocess.run([tool("bench_zygote"), tool("agent6-jail"), str(rounds * 4), profile], capture_output=True, text=True)
    m = re.search(r"floor (\d+) us.*warm: (\d+) us, ([\d.]+) x.*least: \d+ and \d+ us, ([\d.]+) x; "
                  r"back to back: \d+ us, ([\d.]+) x, least ([\d.]+) x; p90 over p50: ([\d.]+)", out.stdout)
    if not m:
        say(f"one jailed /bin/true in a run, {profile}", "not measured", bound, (out.stderr or out.stdout).strip()[-80:])
        return
    say(f"one jailed /bin/true in a run, {profile}, over the floor", f"{m[3]} x [{m[4]}]", bound,
        f"{m[2]} us; vfork + execve + wait: {m[1]} us; with nothing between two of them {m[5]} x [{m[6]}]")
    say("  its ninth tenth over its median", m[7], "1.5")


BWRAP = ("--unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin "
         "--symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc/alternatives /etc/alternatives "
         "--ro-bind /etc/ssl /etc/ssl --ro-bind /etc/ld.so.cache /etc/ld.so.cache --proc /proc --dev /dev "
         "--tmpfs /dev/shm --tmpfs /tmp --cap-drop ALL").split()


def minimal_jail(lab):
    """The words of the hand-made minimum (jail_limit.c of the shared material) with what a jail of ours has too: loopback, a first
    process that stays, an empty bounding set; it runs /bin/true. None where it cannot be built."""
    source = os.path.join(SHARED, "bench", "jail_limit.c")
    program = os.path.join(lab.folder, "jail_limit")
    compiler = shutil.which("cc")
    if not compiler or not os.path.exists(source):
        return None
    subprocess.run([compiler, "-O2", "-static", "-w", "-o", program, source], check=True, capture_output=True)
    return [program, "--lo", "--init", "--bset", "--ws", lab.ws]


def launcher(lab, isolation, network):
    """agent6-jail, which runs /bin/true by a policy on its standard input."""
    policy = os.path.join(lab.folder, f"policy-{isolation}-{network}.json")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"isolation": isolation, "cwd": lab.ws, "argv": ["/bin/true"], "network": network}, f)
    return ["-s", policy, tool("agent6-jail")]


def bench_parts(lab, rounds):
    """Where the time of a cold jail goes, by the least of each: a line has one thing more than the one before, all in the same turns."""
    parts = [("the command itself: vfork, execve, wait", ["/bin/true"]),
             ("agent6-jail: its start, the policy, three pipes, the result", launcher(lab, "none", "host")),
             ("a first process, namespaces, the new root, Landlock, the filter", launcher(lab, "strict", "host")),
             ("a network namespace", launcher(lab, "strict", "none"))]
    t = times(rounds * 20, *(words for _, words in parts), env=lab.env, cwd=lab.ws)
    for i, (what, _) in enumerate(parts):
        say("  of that, " + what, f"{t[i][1] - (t[i - 1][1] if i else 0):.0f} us", "", f"{t[i][1]:.0f} us so far, {over(t, i, 0)} the floor")


def bench_cold_jail(lab, rounds):
    programs = [["/bin/true"], launcher(lab, "strict", "none"), launcher(lab, "hardened", "none")]
    bwrap, minimal = shutil.which("bwrap"), minimal_jail(lab)
    if bwrap:
        programs.append([bwrap, *BWRAP, "--bind", lab.ws, lab.ws, "--chdir", lab.ws, "/bin/true"])
    if minimal:
        programs.append(minimal)
    try:
        t = times(rounds * 20, *programs, env=lab.env, cwd=lab.ws)
    except subprocess.CalledProcessError as e:
        say("one jail, cold", "not measured", "4.6 x", e.stderr.strip()[-80:])
        return
    say("one jail from the command line, over the floor", over(t, 1, 0), "4.6 x",
        f"{t[1][0]:.0f} us; vfork + execve + wait: {t[0][0]:.0f} us")
    say("the same, hardened", over(t, 2, 0), "2.2 x", f"{t[2][0]:.0f} us")
    if bwrap:
        say("the same, strict, over bubblewrap", over(t, 1, 3), "0.6 x", f"bubblewrap: {t[3][0]:.0f} us")
    if minimal:
        last = len(t) - 1
        say("the same, strict, over the minimal program", over(t, 1, last), "",
            f"{t[last][0]:.0f} us, {over(t, last, 0)} the floor: with a first process that stays, loopback, an empty bounding set")
    else:
        say("the same, strict, over the minimal program", "not measured", "", "cc or jail_limit.c of the shared material is missing")
    bench_parts(lab, rounds)

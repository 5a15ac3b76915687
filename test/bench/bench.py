#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What agent6 costs, each figure beside its bound: bench.py ROUNDS. Nothing here fails because of speed.

Programs that are compared run in turns, so that what else the machine does hits all alike; the table shows the median,
of ratios that of each round, and, in brackets, the least. The model is mockllm from the shared material (AGENT6_SHARED).
"""
import contextlib
import ctypes
import datetime
import hashlib
import json
import os
import pty
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from figures import both, over, print_table, say, times, tool
from jails import bench_cold_jail, bench_warm_jail
from conftest import AGENT6, SHARED, Lab, call, turn

PR_SET_CHILD_SUBREAPER = 36
TURNS = 50


# ---- programs against an empty one ----

def bench_commands(lab, rounds):
    t = times(rounds * 80, [tool("bench_empty")], [AGENT6, "--version"], [AGENT6, "config", "show"],
              env=lab.env, cwd=lab.ws)
    note = f"an empty program: {t[0][0]:.0f} us [{t[0][1]:.0f}]"
    say("--version, over an empty C program", over(t, 1, 0), "1.3 x", f"{t[1][0]:.0f} us; {note}")
    say("config show, over an empty C program", over(t, 2, 0), "1.3 x", f"{t[2][0]:.0f} us")


# ---- whole runs ----

def descendants(of):
    """pid: parent of every process, then those below one of them."""
    parent = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    parent[int(name)] = int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    found, more = set(), {of}
    while more:
        found |= more
        more = {p for p, up in parent.items() if up in more} - found
    return found


def pss(pid):
    """(kB, its words); (None, ...) of a process that shows its memory to root only."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
            got = re.search(r"^Pss:\s+(\d+) kB", f.read(), re.M)
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
            words = f.read().replace("\0", " ").strip()
    except PermissionError:
        return None, ""
    except OSError:
        return 0, ""
    return (int(got[1]) if got else 0), words


class Watcher(threading.Thread):
    """The largest sum of PSS over a process tree that was seen while it lived."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.parts, self.hidden, self.over = pid, 0, [], 0, threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            parts = [pss(p) for p in descendants(self.pid)]
            total = sum(p[0] or 0 for p in parts)
            if total > self.most:
                self.most, self.parts = total, [p for p in parts if p[0]]
                self.hidden = sum(p[0] is None for p in parts)


class Measured:
    """One run of agent6: its wall time, the processor time of all its processes, the requests it made."""

    def __init__(self, lab, mock, *words, watch=False):
        stamp = os.path.join(lab.folder, "stamp")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        proc = subprocess.Popen([tool("bench_time"), "-t", stamp, AGENT6, *words], cwd=lab.ws, env=lab.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        watcher = Watcher(proc.pid)
        if watch:
            watcher.start()
        self.err = proc.communicate()[1].decode("utf-8", "replace")
        watcher.over.set()
        self.reap_orphans()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.most_kb, self.parts, self.hidden = watcher.most, watcher.parts, watcher.hidden
        self.status = proc.returncode
        with open(stamp, encoding="utf-8") as f:
            started = float(f.read())
        self.requests = self.made(lab, mock, started)
        self.first_ms = (self.requests[0]["time"] - started) * 1000 if self.requests else None
        self.gaps = [r["gap_ms"] for r in self.requests[1:] if r.get("gap_ms") is not None]

    def made(self, lab, mock, started):
        """The requests since then. The mock notes each one after it has answered it, and a long one a good while after: all the
        calls that the run says it made are waited for."""
        calls = sum(int(n) for n in re.findall(r" calls=(\d+)", self.err))
        found = []

        def there():
            found[:] = [r for r in mock.model_requests() if r["time"] >= started]
            return len(found) >= calls

        with contextlib.suppress(AssertionError):  # then it is one that is missing, and shown as that
            lab.wait_for(there)
        return found

    @staticmethod
    def reap_orphans():
        """What outlived its parent became ours (we are a subreaper); the mock is still running."""
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    return
            except ChildProcessError:
                return


def bodies(lab):
    """The requests byte for byte, from the transcripts: each is a prefix of the one before, and the rest."""
    folder = os.path.join(lab.run_dirs()[-1], "record", "transcripts")
    body, found = b"", []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            req = json.load(f).get("request")
        if req is None:  # the prompt, which no request is
            continue
        body = body[:req["prefix"]] + req["text"].encode()
        found.append(body)
    return found


@contextlib.contextmanager
def new_lab():
    folder = tempfile.mkdtemp(prefix="agent6-bench-")
    os.chmod(folder, 0o755)
    lab = Lab(folder)
    try:
        lab.repo(**{f"f{i}_DOT_txt": f"file {i}\n" * 20 for i in range(5)}, a_DOT_txt="hello\n" * 20)
        yield lab
    finally:
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


GATE = '[workflow]\nverify_command = ["false"]\n'
NO_LIMITS = "[workflow]\nmax_iterations = -1\n[budget]\nmax_input_tokens = -1\nmax_output_tokens = -1\nmax_usd = -1\n"


def one_run(scenario, watch=False, extra=""):
    with new_lab() as lab:
        mock = lab.mock(scenario, extra=extra)
        m = Measured(lab, mock, "run", "--auto-approve", "read the files", watch=watch)
        m.prefix = kept_prefix(bodies(lab)) if m.status == 0 else (0, 0)
        return m


def bench_long(turns):
    """A long run, and going on with it."""
    with new_lab() as lab:
        mock = lab.mock(dict(read_loop(turns), on_exhausted="finish"), extra=NO_LIMITS)
        m = Measured(lab, mock, "run", "--auto-approve", "read the files", watch=True)
        again = Measured(lab, mock, "resume", "--auto-approve", os.path.basename(lab.run_dirs()[-1]), "--steer", "go on")
        if m.status != 0 or again.first_ms is None:
            say(f"a run of {turns} turns", "ended badly", "", (m.err + again.err).strip()[-100:])
            return
        body = m.requests[-1]["bytes"] / 1e6
        say(f"memory after {turns} turns (PSS)", f"{m.most_kb / 1024:.1f} MB", f"{24 + body:.1f} MB",
            f"the conversation has {body:.1f} MB{unseen(m)}")
        say("resume of it, to the first request", f"{again.first_ms:.1f} ms", "50 ms", "the bound is for 2,000 turns")
        size = checkpoints(lab)
        at = [n for n in (1, 100, 1000) if n in size]
        say("checkpoint, bytes at turn " + ", ".join(f"{n:,}" for n in at), " ".join(str(size[n]) for n in at), "no growth",
            "a checkpoint is a state beside messages that were appended once")


def checkpoints(lab):
    """Bytes of each checkpoint of the newest run, by turn."""
    found = {}
    with open(os.path.join(lab.run_dirs()[-1], "record", "messages.jsonl"), "rb") as f:
        for line in f:
            if line.startswith(b'{"turn":'):
                found[int(line[8:line.index(b",")])] = len(line)
    return found


def lengthen(record, turns):
    """Makes a run of many turns out of a short one: the messages of a turn and its checkpoint, over and over. They are short
    enough that nothing is set aside for lack of room: in a run of that length that has happened long before."""
    path = os.path.join(record, "messages.jsonl")
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    state = [l for l in lines if l.startswith('{"turn":')][-1]
    state = state[state.index(',"state":'):]
    out = [lines[0]]
    for n in range(1, turns + 1):
        out.append('{"turn":%d%s' % (n, state.replace('"next_iteration":4', '"next_iteration":%d' % n)))
        out.append('{"i":%d,"message":{"role":"assistant","from":"openai:mock-model","content":[{"type":"tool_use",'
                   '"id":"call_%d","name":"read_file","input":{"path":"f%d.txt"}}]}}' % (2 * n - 1, n, n % 5))
        out.append('{"i":%d,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%d",'
                   '"content":"%s"}]}}' % (2 * n, n, "a line of the file\\\\n" * 4))
    out.append('{"turn":%d%s' % (turns + 1, state.replace('"next_iteration":4', '"next_iteration":%d' % (turns + 1))))
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")
    return os.path.getsize(path) / 1e6


def grow_journal(record, size):
    """The same chained events again and again, their chain made anew, up to that many bytes."""
    path = os.path.join(record, "logs.jsonl")
    with open(path, "rb") as f:
        bodies_ = [l[l.index(b',"type":'):l.rindex(b',"h":"')] for l in f.read().splitlines() if b',"h":"' in l]
    bodies_ = [b for b in bodies_ if b'"run.end"' not in b and b'"record.manifest"' not in b]
    talk = os.path.join(record, "messages.jsonl")  # what it has seen of the journal is of another one now
    with open(talk, "rb") as f:
        lines = [l for l in f.read().splitlines(True) if not l.startswith(b'{"journal":')]
    with open(talk, "wb") as f:
        f.writelines(lines)
    prev, seq, done = b"0" * 64, 0, 0
    with open(path, "wb") as f:
        while done < size:
            for b in bodies_:
                seq += 1
                line = b'{"ts":"2026-11-29T20:00:42.123456Z","seq":%d' % seq + b
                prev = hashlib.sha256(prev + line + b"}").hexdigest().encode()
                done += f.write(line + b',"h":"' + prev + b'"}\n')


def grow_transcripts(record, size):
    folder = os.path.join(record, "transcripts")
    with open(os.path.join(folder, sorted(os.listdir(folder))[1]), "rb") as f:
        one = f.read()
    one = one[:-2] + b',"more":"' + b"what was said about nothing in particular, " * 22000 + b'"}\n'
    for i in range(size // len(one)):
        with open(os.path.join(folder, f"{1000 + i}.json"), "wb") as f:
            f.write(one)


def seconds(lab, *words):
    best = None
    for _ in range(3):
        began = time.monotonic()
        r = lab.agent6(*words, timeout=120)
        took = time.monotonic() - began
        best = took if best is None else min(best, took)
    return best, r


def bench_record():
    """What stands on disk after much work: going on with it, looking at it, searching it."""
    with new_lab() as lab:
        mock = lab.mock(dict(read_loop(3), on_exhausted="finish"), extra=NO_LIMITS)
        lab.agent6("run", "--auto-approve", "--run-id", "long", "read the files")
        record = os.path.join(lab.run_dirs()[-1], "record")
        size = lengthen(record, 2000)
        firsts = []
        for _ in range(3):
            again = Measured(lab, mock, "resume", "--auto-approve", "long", "--steer", "go on")
            firsts.append(again.first_ms if again.first_ms is not None else float("inf"))
        say("resume of a run of 2,000 turns, to the first request", f"{min(firsts):.1f} ms", "50 ms",
            f"{size:.1f} MB of conversation" + ("" if again.status == 0 else again.err.strip()[-80:]))
        grow_transcripts(record, 1 << 30)
        took, r = seconds(lab, "history", "search", "a word that is nowhere")
        say("history search over 1 GB of transcripts", f"{took:.2f} s", "1 s", "" if r.returncode == 1 else r.both[-80:])
        shutil.rmtree(os.path.join(record, "transcripts"))
        grow_journal(record, 100 << 20)
        took, r = seconds(lab, "runs", "show", "long", "--json")
        say("fold of a 100 MB journal", f"{took:.2f} s", "1 s", "" if r.returncode == 0 else r.both[-80:])
        took, r = seconds(lab, "runs", "verify", "long")
        say("proof of it (runs verify)", f"{took:.2f} s", "", "" if r.returncode == 0 else r.both[-80:])


def bench_context():
    """What a provider's cache keeps of a long conversation: mockllm counts as the servers do."""
    def tokens(window):
        turns = [turn(call("read_file", path=f"f{i % 5}.txt", start_line=1 + i)) for i in range(TURNS)]
        with new_lab() as lab:
            for i in range(5):
                lab.write(f"f{i}.txt", "".join(f"line {k} of the file, with some words in it\n" for k in range(400)))
            lab.repo()
            mock = lab.mock(dict(turns=turns, on_exhausted="finish"), extra=f"context_tokens = {window}\n" + NO_LIMITS,
                            api="anthropic")
            r = lab.agent6("run", "--auto-approve", "read the files", timeout=300)
            if r.returncode != 0:
                return None
            last = lab.events("budget.update")[-1]
            read, fresh = last["cache_read_total"], last["input_total"]
            mock.stop()
            return read, fresh, len(lab.events("loop.compact.dropped")) + len(lab.events("loop.compact.summarise.done"))
    for window, name in ((1000000, "no compaction"), (120000, "a window of 120,000 tokens")):
        got = tokens(window)
        if got is None:
            say(f"cached input of {TURNS} turns", "ended badly")
            continue
        read, fresh, times = got
        say(f"cached input of {TURNS} turns, {name}", f"{100 * read / (read + fresh):.1f} %", "",
            f"{read} of {read + fresh} tokens read from the cache; {times} compactions")


def common(a, b):
    n, most = 0, min(len(a), len(b))
    step = most
    while step:  # bisect by halves: bytes compare quickly
        if a[n:n + step] == b[n:n + step] and n + step <= most:
            n += step
        else:
            step //= 2
    return n


def kept_prefix(bodies):
    """(turns whose request holds all of the one before, in its place; turns). What ends the JSON may move on."""
    kept = 0
    for a, b in zip(bodies, bodies[1:]):
        head = common(a, b)
        tail = common(a[::-1], b[::-1])
        kept += head + tail >= len(a)
    return kept, len(bodies) - 1


def floor_gap(run):
    """What mockllm itself takes between two of these requests: a bare socket sends them again."""
    with new_lab() as lab:
        mock = lab.mock({"turns": [{"text": "ok", "loop": "forever"}], "validate": "off"})
        host, port = mock.url.split("//")[1].split(":")
        s = socket.create_connection((host, int(port)))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for r in run.requests:
            body = json.dumps(r["body"]).encode()
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\n"
                      b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            got = b""
            while not got.endswith(b"0\r\n\r\n"):
                piece = s.recv(65536)
                if not piece:
                    break
                got += piece
        s.close()
        return [r["gap_ms"] for r in mock.model_requests()[1:] if r.get("gap_ms") is not None]


# ---- searching ----

def plant(folder, size):
    """A tree of this project's sources, again and again, up to that many bytes. Nothing in it is ignored."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    files = []
    for top in ("src", "docs", "test"):
        for at, _, names in os.walk(os.path.join(root, top)):
            for n in sorted(names):
                if n.endswith((".c", ".h", ".md", ".py")):
                    with open(os.path.join(at, n), "rb") as f:
                        files.append((os.path.relpath(os.path.join(at, n), root), f.read()))
    done, copy = 0, 0
    while done < size:
        for name, text in files:
            path = os.path.join(folder, f"copy{copy:03}", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                done += f.write(text)
        copy += 1


def clocked(words, stdin=""):
    """(wall, processor time) in seconds, and what came out."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    r = subprocess.run(words[1:], cwd=words[0], input=stdin, capture_output=True, text=True, check=False, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, r


def bench_grep(size, rounds=3):
    rg = shutil.which("rg")
    if not rg:
        say("grep of a 1 GB tree, over ripgrep", "not measured", "1.0 x", "there is no ripgrep (apt ripgrep)")
        return
    with tempfile.TemporaryDirectory(prefix="agent6-bench-", dir="/var/tmp") as folder:
        plant(folder, size)
        # Once a word that is nowhere, once what needs the whole expression: both programs read every file.
        for what, pattern in (("a word", "nowhere" + "_to_be_found"), ("an expression", r"[a-z]+_zz[0-9]{3}\b")):
            request = json.dumps({"pattern": pattern, "path": "."})
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(clocked([folder, tool("agent6-index")], request))
                theirs.append(clocked([folder, rg, "--hidden", "-j", str(os.cpu_count()), pattern, "."]))
            done = json.loads(ours[0][2].stdout.splitlines()[-1])
            if not done.get("done") or done["truncated"] or done["count"] != 0 or theirs[0][2].returncode != 1:
                say(f"grep of a 1 GB tree, {what}", "went wrong", "1.0 x", (ours[0][2].stdout + theirs[0][2].stderr)[-80:])
                continue
            wall, cpu = (min(o[k] for o in ours) / min(t[k] for t in theirs) for k in (0, 1))
            say(f"grep of a 1 GB tree, {what}, over ripgrep", f"{wall:.2f} x", "1.0 x",
                f"the least of {rounds} each; processor time {cpu:.2f} x; {min(o[0] for o in ours):.2f} s, "
                f"{os.cpu_count()} threads each")


# ---- waiting ----

def switches(pids):
    """How often these processes were given a processor."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                total += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)", f.read()))
        except OSError:
            pass
    return total


def bench_idle(seconds):
    """A run that asks a person, who does not answer."""
    with new_lab() as lab:
        lab.mock(command_loop(1))
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(lab.ws)
            os.execve(AGENT6, [AGENT6, "run", "do it"], lab.env)
        threading.Thread(target=lambda: drain(fd), daemon=True).start()
        lab.wait_for(lambda: asked(lab))
        time.sleep(1)
        pids = descendants(pid)
        before = switches(pids)
        time.sleep(seconds)
        woken = switches(pids) - before
        os.kill(pid, 15)
        os.waitpid(pid, 0)
        Measured.reap_orphans()
        say("wake-ups while a person is asked", f"{woken * 60 / seconds:.0f} a minute", "0",
            f"{len(pids)} processes, watched for {seconds} s")


def asked(lab):
    try:
        return lab.run_dirs() and lab.events("approval.prompt")
    except (OSError, ValueError):  # it is just being made
        return False


def drain(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass


def command_loop(n):
    return {"defaults": {"usage": {"input": 1000, "output": 20}, "wire": {"delta_chars": 0}},
            "turns": [turn(call("run_command", argv=["true", str(i)])) for i in range(n)] + [{"text": "Done."}]}


def read_loop(n):
    return {"defaults": {"usage": {"input": 1000, "output": 20}, "wire": {"delta_chars": 0}},
            "turns": [turn(call("read_file", path=f"f{i % 5}.txt")) for i in range(n)] + [{"text": "Done."}]}


def bench_runs(rounds):
    shared_loop = os.path.join(SHARED, "mockllm", "scenarios", "bench-loop.json")
    same, reads, commands, gated, floors = [], [], [], [], []
    for _ in range(rounds):
        same.append(one_run(shared_loop))
        reads.append(one_run(read_loop(TURNS)))
        commands.append(one_run(command_loop(30)))
        gated.append(one_run(command_loop(30), extra=GATE))
        floors += floor_gap(reads[-1])
    bad = [m for m in reads + commands + gated if m.status != 0]
    if bad:
        say("whole runs", f"{len(bad)} ended badly", "", bad[0].err.strip()[-100:])
    say("start to the first request", both([m.first_ms for m in reads], "{:.1f}") + " ms", "25 ms",
        "from execve to the model's clock")
    floor = statistics.median(floors)
    gaps = [g for m in reads for g in m.gaps]
    jail = [g for m in commands for g in m.gaps]
    say(f"a turn with a file read, {TURNS} of them", both([statistics.median(m.gaps) for m in reads]) + " ms", "1 ms",
        f"over the model's time; of it the mock's own: {floor:.2f} ms; mean {statistics.mean(gaps):.2f}")
    bench_loop = [g for m in same for g in m.gaps]
    # It asks for the same file again and again, which the loop guard ends.
    say(f"a turn of bench-loop.json, {len(same[0].requests)} requests", both([statistics.median(m.gaps) for m in same]) + " ms",
        "1 ms", f"mean {statistics.mean(bench_loop):.2f}")
    say("a turn with a jailed command", both([statistics.median(m.gaps) for m in gated]) + " ms", "5 ms",
        f"mean {statistics.mean(g for m in gated for g in m.gaps):.2f}")
    say("the same without a gate: git looks at each", both([statistics.median(m.gaps) for m in commands]) + " ms", "",
        f"mean {statistics.mean(jail):.2f}; a change is a step then, so there is a git status in the turn")
    say(f"CPU of a {TURNS}-turn loop, all processes", both([m.cpu_s for m in reads], "{:.3f}") + " s", "0.15 s")
    m = reads[0]
    say("the first request", f"{m.requests[0]['bytes']} bytes" if m.requests else "none", "12288 bytes",
        f"system {m.requests[0].get('system_bytes')}, {m.requests[0].get('tools')} tools {m.requests[0].get('tools_bytes')}"
        if m.requests else "")
    kept, of = (sum(x) for x in zip(*(m.prefix for m in reads)))
    say("prompt prefix kept byte for byte", f"{100 * kept / of if of else 0:.0f} %", "100 %", f"{kept} of {of} requests")
    m = one_run(read_loop(TURNS), watch=True)
    say("memory of the whole run (PSS)", f"{m.most_kb / 1024:.1f} MB", "24 MB",
        ", ".join(f"{short(w)} {kb / 1024:.1f}" for kb, w in sorted(m.parts, reverse=True) if kb > 300) + unseen(m))


def bench_many(n):
    """Commands one after another in one run: is the last as fast as the first?"""
    with new_lab() as lab:
        calls = [call("run_command", argv=["true", str(i)]) for i in range(n)]
        lab.mock({"turns": [turn(*calls[i:i + 50]) for i in range(0, n, 50)] + [{"text": "Done."}]}, extra=GATE)
        r = lab.run("many", timeout=600)
        at = [datetime.datetime.fromisoformat(e["ts"].rstrip("Z")).timestamp() * 1000 for e in lab.events("tool.result")]
        gaps = [b - a for i, (a, b) in enumerate(zip(at, at[1:])) if (i + 1) % 50]  # not where the model is asked
        if r.returncode not in (0, 4) or len(at) != n:
            say(f"{n} commands in one run", "ended badly", "", r.both.strip()[-100:])
            return
        first, last = (statistics.median(g) for g in (gaps[:n // 10], gaps[-(n // 10):]))
        say(f"{n} commands in one run: the last tenth over the first", f"{last / first:.2f} x", "1.1 x",
            f"{first:.2f} and {last:.2f} ms each, the disk included")


def unseen(m):
    return f"; WITHOUT {m.hidden} processes that only root may look at" if m.hidden else ""


def short(words):
    m = re.search(r"--role (\w+)", words)
    if m:
        return m[1]
    name = os.path.basename(words.split(" ")[0]) if words else "?"
    return "monitor" if name == "agent6" else name


def provider_figures():
    out = subprocess.run([tool("bench_provider")], capture_output=True, text=True).stdout
    for line in out.splitlines():
        m = re.match(r"(\S+)\s+(1000) turns:\s+([\d.]+) us a turn.*copy\s+([\d.]+) us.*/ copy\s+([\d.]+)", line)
        if m:
            say(f"decode and encode of turn 1,000, {m[1]}", f"{m[3]} us", "4 x a copy", f"{m[5]} x; one copy: {m[4]} us")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    load = os.getloadavg()[0]
    with new_lab() as lab:
        bench_commands(lab, rounds)
        bench_warm_jail(rounds)
        bench_cold_jail(lab, rounds)
    if os.path.isdir(os.path.join(SHARED, "mockllm")):
        bench_runs(rounds)
        bench_context()
        bench_long(1000)
        bench_record()
        bench_many(1000)
        bench_idle(10)
    else:
        say("whole runs", "not measured", "", f"no mockllm in {SHARED} (set AGENT6_SHARED)")
    provider_figures()
    bench_grep(1 << 30)
    print(f"agent6 bench: {os.cpu_count()} processors, load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end; "
          f"{rounds} rounds")
    print_table()
    return 0


if __name__ == "__main__":
    sys.exit(main())

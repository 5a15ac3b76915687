# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What a run leaves and how it is looked at: runs, watch, the record, the demo."""
import contextlib
import json
import os
import signal
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn
from test_run import FIXED, fix_bug, project
from test_terminal import screen  # noqa: F401  (a fixture)


def green(lab):
    project(lab)
    lab.mock(fix_bug())
    r = lab.run("make add() add")
    assert r.returncode == 0, r.both
    return os.path.basename(lab.run_dirs()[-1])


def log_of(lab):
    return os.path.join(lab.run_dirs()[-1], "record", "logs.jsonl")


def test_a_green_run_is_listed_shown_and_proved(lab):
    run_id = green(lab)
    rows = json.loads(lab.agent6("runs", "list", "--json").out)
    assert [(r["run_id"], r["status"], r["live"]) for r in rows] == [(run_id, "passed", False)]
    assert rows[0]["task"] == "make add() add"
    table = lab.agent6("runs").out.splitlines()
    assert table[0].split() == ["updated", "status", "cost", "id", "task"] and run_id in table[1]
    shown = json.loads(lab.agent6("runs", "show", run_id[:6], "--json").out)
    assert shown["status"] == "passed" and shown["commits"] == 1 and shown["all_passed"] is True
    assert f"agent6 runs merge {run_id}" in lab.agent6("runs", "show").out
    proof = lab.agent6("runs", "verify", run_id)
    assert proof.returncode == 0 and "unbroken chain" in proof.out
    assert lab.agent6("runs", "dir", run_id).out.strip() == lab.run_dirs()[-1]


def test_the_list_fits_a_terminal_and_calls_unmerged_what_there_is_to_merge(lab, screen):  # noqa: F811
    lab.repo(a_DOT_txt="one\n")
    lab.mock(script(turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}])), finish(),
                    finish(), turn(call("list_dir", path="."))))
    assert lab.run("a task that has many words, more than a narrow terminal has room for", "--run-id", "committed").returncode == 0
    lab.git("checkout", "-q", "-f", "--", ".")
    assert lab.run("look", "--run-id", "looked").returncode == 0
    assert lab.run("stop early", "--run-id", "stopped", "--max-iterations", "1").returncode == 1
    rows = lab.agent6("runs").out.splitlines()[1:]
    for name, unmerged in (("committed", True), ("looked", False), ("stopped", False)):
        (row,) = [r for r in rows if f"  {name}  " in r]
        assert ("unmerged" in row) is unmerged, rows
    s = screen("runs", width=64)
    assert s.status() == 0
    lines = [l for l in s.text().splitlines() if l.strip()]
    assert len(lines) == 4 and all(len(l) <= 64 for l in lines), lines
    assert "committed" in s.text() and "a task" in s.text()


@pytest.mark.parametrize("what", ["a byte", "a line gone", "a line twice", "half a line"])
def test_a_changed_record_is_found(lab, what):
    green(lab)
    with open(log_of(lab), "rb") as f:
        lines = f.read().splitlines(True)
    if what == "a byte":
        lines[3] = lines[3].replace(b"worker", b"Worker", 1) if b"worker" in lines[3] else lines[3].replace(b"1", b"2", 1)
    elif what == "a line gone":
        del lines[2]
    elif what == "a line twice":
        lines.insert(2, lines[2])
    else:
        lines[-1] = lines[-1][:40]
    with open(log_of(lab), "wb") as f:
        f.write(b"".join(lines))
    r = lab.agent6("runs", "verify")
    assert r.returncode == 1 and "line" in r.out, r.both


@pytest.mark.parametrize("lines", [1, 4, 1000])
def test_lines_that_were_cut_off_are_missed(lab, lines):
    green(lab)
    before = json.loads(lab.agent6("runs", "verify", "--json").out)
    assert before["whole"] and before["seen_event"] == before["events"] and before["cut"] is False, before
    with open(log_of(lab), "rb") as f:
        whole = f.read().splitlines(True)
    left = whole[:-lines]
    with open(log_of(lab), "wb") as f:
        f.write(b"".join(left))
    ends = sum(b',"seq":' in x for x in left)
    r = lab.agent6("runs", "verify")
    assert r.returncode == 1 and f"cut: the journal ends at event {ends}, messages.jsonl has seen event {before['events']}" in r.out, r.both
    after = json.loads(lab.agent6("runs", "verify", "--json").out)
    assert not after["whole"] and after["cut"] and (after["events"], after["seen_event"]) == (ends, before["events"]), after
    os.remove(log_of(lab))
    r = lab.agent6("runs", "verify")
    assert r.returncode == 1 and "cut: the journal ends at event 0, messages.jsonl has seen event" in r.out, r.both


def test_a_cut_journal_is_said_when_the_run_goes_on_and_stays_found(lab):
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("read_file", path="a.txt"), text="the first leg"), finish(), turn(text="the second leg"), finish()))
    assert lab.run("look").returncode == 0
    with open(log_of(lab), "rb") as f:
        whole = f.read().splitlines(True)
    with open(log_of(lab), "wb") as f:
        f.write(b"".join(whole[:-2]))
    r = lab.agent6("resume", "--auto-approve", "--steer", "again")
    assert "the second leg" in r.err and "record: the journal ends at event" in r.err and "what lies between is lost" in r.err, r.both
    r = lab.agent6("runs", "verify")
    assert r.returncode == 1 and "is not the one that messages.jsonl has seen" in r.out, r.both


def test_a_hash_that_was_kept_finds_a_record_that_was_made_anew(lab):
    run_id = green(lab)
    said = lab.agent6("runs", "verify").out
    head = said.split("head ")[1].strip()
    assert len(head) == 64, said
    kept = lab.agent6("runs", "verify", run_id, "--head", head)
    assert kept.returncode == 0 and "the kept hash is event" in kept.out, kept.both
    assert lab.agent6("runs", "verify", "--head", head[:16]).returncode == 0
    # Whoever cuts the journal and the conversation alike leaves nothing to compare.
    record = os.path.dirname(log_of(lab))
    with open(log_of(lab), "rb") as f:
        whole = f.read().splitlines(True)
    with open(log_of(lab), "wb") as f:
        f.write(b"".join(whole[:-1]))
    with open(os.path.join(record, "messages.jsonl"), "rb") as f:
        talk = f.read().splitlines(True)
    assert talk[-1].startswith(b'{"journal":')
    with open(os.path.join(record, "messages.jsonl"), "wb") as f:
        f.write(b"".join(talk[:-1]))
    assert lab.agent6("runs", "verify").returncode == 0
    r = lab.agent6("runs", "verify", "--head", head)
    assert r.returncode == 1 and f"no event has the hash {head}" in r.out, r.both
    assert json.loads(lab.agent6("runs", "verify", "--head", head, "--json").out)["head_event"] is None
    for bad in ("abc", head.upper(), head + "0", "--json"):
        r = lab.agent6("runs", "verify", "--head=" + bad)
        assert r.returncode == 2 and "a hash is 16 to 64 digits" in r.err, r.both


def test_a_manifest_that_was_changed_is_named_with_both_values(lab):
    green(lab)
    path = os.path.join(os.path.dirname(log_of(lab)), "manifest.json")
    with open(path, encoding="utf-8") as f:
        m = json.load(f)
    changed = dict(m, user_task="give \x1b[31mme\x1b[0m all", base_branch="release", base_sha="0" * 40,
                   mode="\x1b]0;theirs\x07\u202e\u009b31m")
    changed["policy"] = dict(m["policy"], run_commands="yes", isolation="none")
    changed["models"] = {"worker": dict(m["models"]["worker"], model="another")}
    changed["stash"] = "1" * 40  # which no run of it set
    with open(path, "w", encoding="utf-8") as f:
        json.dump(changed, f)
    r = lab.agent6("runs", "verify")
    assert r.returncode == 1 and "\x1b" not in r.out, r.both
    for words in (["list"], ["show"]):
        assert not [c for c in lab.agent6("runs", *words).both if c in "\x1b\x07\u202e\u009b"], words
    for member, found, recorded in (("base_branch", '"release"', '"main"'), ("base_sha", '"' + "0" * 40 + '"', f'"{m["base_sha"]}"'),
                                    ("policy.isolation", '"none"', f'"{m["policy"]["isolation"]}"'),
                                    ("stash", '"' + "1" * 40 + '"', "nothing"),
                                    ("models.worker.model", '"another"', f'"{m["models"]["worker"]["model"]}"')):
        assert f"manifest.json was changed: {member} is {found}, the journal recorded {recorded}\n" in r.out, r.both
    assert "user_task is" in r.out and '"make add() add"' in r.out, r.both
    proof = json.loads(lab.agent6("runs", "verify", "--json").out)
    assert {d["member"] for d in proof["differences"]} >= {"base_branch", "base_sha", "user_task", "policy.isolation"}, proof
    with open(path, "w", encoding="utf-8") as f:
        json.dump(m, f)
    lab.git("stash", "-q", check=False)
    assert lab.agent6("runs", "merge").returncode == 0  # the person's own command changes it too
    assert lab.agent6("runs", "verify").returncode == 0
    assert lab.agent6("fork", "--no-run", "--run-id", "other").returncode == 0
    assert lab.agent6("runs", "verify", "other").returncode == 0


def test_a_line_of_another_hand_steers_no_terminal(lab):
    green(lab)
    with open(log_of(lab), "rb") as f:
        whole = f.read().splitlines(True)
    whole.insert(3, whole[0][:35] + b',"type":"\x1b]0;x\x07\x1b[2J","volatile":true}\n')
    with open(log_of(lab), "wb") as f:
        f.write(b"".join(whole))
    r = lab.agent6("runs", "verify")
    assert r.returncode == 1 and "line 4 is wrong: the event " in r.out and "\x1b" not in r.out and "\x07" not in r.out, r.both


def test_diff_commits_and_merge(lab):
    run_id = green(lab)
    d = lab.agent6("runs", "diff")
    assert d.returncode == 0 and "+    return a + b" in d.out
    assert "calc.py" in lab.agent6("runs", "diff", run_id, "--stat").out
    assert lab.agent6("runs", "diff", run_id, "--path", "verify.sh").out == ""
    # What is piped is a patch that git takes.
    lab.git("stash", "-q")
    patch = os.path.join(lab.folder, "p.patch")
    with open(patch, "w", encoding="utf-8") as f:
        f.write(d.out)
    lab.git("apply", "--check", patch)
    commits = lab.agent6("runs", "commits", run_id)
    assert len(commits.out.splitlines()) == 1
    m = lab.agent6("runs", "merge", run_id)
    assert m.returncode == 0 and m.out.startswith(f"merged {run_id} into main (squash) -> "), m.both
    assert lab.git("show", "main:calc.py") == FIXED
    assert json.loads(lab.agent6("runs", "show", "--json").out)["merged_into"] == "main"
    again = lab.agent6("runs", "merge", run_id)
    assert again.returncode == 0 and "already contains" in again.err


def test_a_merge_that_conflicts_changes_nothing(lab):
    run_id = green(lab)
    lab.git("stash", "-q")
    lab.write("calc.py", "def add(a, b):\n    return b + a\n")
    lab.git("commit", "-qam", "mine")
    before = lab.git("rev-parse", "main"), lab.git("status", "--porcelain")
    r = lab.agent6("runs", "merge", run_id)
    assert r.returncode == 1 and "calc.py" in r.out, r.both
    assert (lab.git("rev-parse", "main"), lab.git("status", "--porcelain")) == before


def test_a_run_without_commits_has_nothing_to_merge(lab):
    project(lab)
    lab.mock(script(finish()))
    lab.run()
    assert lab.agent6("runs", "merge").returncode == 0
    assert lab.agent6("runs", "diff").out == ""


@pytest.mark.parametrize("args", [("show",), ("diff",), ("merge",), ("verify",), ("stop",)])
def test_without_a_session_it_says_so(lab, args):
    project(lab)
    r = lab.agent6("runs", *args)
    assert r.returncode == 2 and "no sessions" in r.err
    assert lab.agent6("runs", "list").returncode == 0
    r = lab.agent6("runs", *args, "nobody")
    assert r.returncode == 2 and "nobody" in r.err


def waiting(lab):
    """A run that holds until the file `go` is there."""
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done"])), finish()))
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "hold"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    return p


def test_a_live_run_is_watched_from_elsewhere_to_its_end(lab):
    p = waiting(lab)
    assert json.loads(lab.agent6("runs", "list", "--json").out)[0]["status"] == "running"
    w = subprocess.Popen([AGENT6, "watch"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    lab.write("go", "")
    out, _ = w.communicate(timeout=300)
    assert w.returncode == 0 and "run_command" in out and "finished" in out
    p.communicate(timeout=300)
    assert p.returncode == 0


def test_stop_from_another_terminal_ends_after_the_step(lab):
    p = waiting(lab)
    r = lab.agent6("runs", "stop")
    assert r.returncode == 0 and "agent6 resume" in r.out
    lab.wait_for(lambda: lab.events("run.stop_requested"))
    lab.write("go", "")
    p.communicate(timeout=300)
    assert p.returncode == 130
    assert "not running" in lab.agent6("runs", "stop").err


def test_stop_now_gives_up_the_command_under_way_and_the_run_can_be_resumed(lab):
    """The command waits for a file that nobody writes: only a stop at once ends it."""
    p = waiting(lab)
    r = lab.agent6("runs", "stop", "--now")
    assert r.returncode == 0 and " stops now; go on with: agent6 resume " in r.out, r.both
    p.communicate(timeout=300)
    assert p.returncode == 130
    asked = lab.events("run.stop_requested")
    assert asked and lab.events("run.end")[-1]["reason"] == "interrupted", asked
    r = lab.agent6("runs", "stop", "--now", "--json")
    assert json.loads(r.out)["asked"] is False, r.both
    lab.write("go", "")
    assert lab.agent6("resume", "--auto-approve").returncode == 0


def test_a_live_run_is_not_merged(lab):
    p = waiting(lab)
    r = lab.agent6("runs", "merge")
    assert r.returncode == 2 and "is running" in r.err
    lab.write("go", "")
    p.communicate(timeout=300)


def test_nothing_is_merged_into_a_checkout_that_another_run_works_in(lab):
    ended = green(lab)
    lab.git("stash", "-q")
    p = waiting(lab)
    head = lab.git("rev-parse", "main")
    r = lab.agent6("runs", "merge", ended)
    assert r.returncode == 2 and f"{os.path.basename(lab.run_dirs()[-1])} is running" in r.err, r.both
    assert lab.git("rev-parse", "main") == head
    lab.write("go", "")
    p.communicate(timeout=300)
    r = lab.agent6("runs", "merge", ended)
    assert r.returncode == 0, r.both


def child_of(pid, role):
    for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # another one, which has ended
            with open(f"/proc/{child}/cmdline", "rb") as f:
                if f.read().split(b"\0")[:3] == [b"agent6", b"--role", role]:
                    return int(child)
    return None


def test_a_view_that_is_killed_hurts_no_run(lab):
    p = waiting(lab)
    os.kill(child_of(p.pid, b"view"), signal.SIGKILL)
    lab.wait_for(lambda: lab.events("process.died"))
    lab.write("go", "")
    out, _ = p.communicate(timeout=300)
    assert p.returncode == 0 and lab.events("run.end")
    assert "the process that shows the run died; the run goes on" in out


def test_a_recorder_that_is_killed_ends_the_run_and_says_so(lab):
    p = waiting(lab)
    os.kill(child_of(p.pid, b"recorder"), signal.SIGKILL)
    out, _ = p.communicate(timeout=300)
    assert p.returncode == 1 and "record" in out
    assert lab.agent6("runs", "verify").returncode == 0  # what was written is whole
    assert json.loads(lab.agent6("runs", "show", "--json").out)["status"] == "stale"


def test_the_record_is_private(lab):
    green(lab)
    for top, dirs, files in os.walk(os.path.join(lab.home, ".local", "state", "agent6")):
        for name in dirs + files:
            assert os.lstat(os.path.join(top, name)).st_mode & 0o077 == 0, name


def test_an_approval_is_answered_from_another_terminal(lab, screen):  # noqa: F811
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("run_command", argv=["touch", "here"])), finish()))
    first = screen("run", "do it")
    first.until("N never:")
    second = screen("watch")
    second.until("N never:")
    second.keys("y", "Enter")
    assert second.status() == 0 and first.status() == 0
    assert os.path.exists(os.path.join(lab.ws, "here"))
    assert "allowed" in first.text()


def test_a_question_is_answered_by_number_or_in_words(lab, screen):  # noqa: F811
    project(lab)
    m = lab.mock(script(turn(call("ask_user", question="Which one?", options=["red", "blue"])), finish()))
    s = screen("run", "do it")
    s.until("your answer:")
    s.keys("2", "Enter")
    assert s.status() == 0
    assert lab.events("question.answer")[-1]["answers"] == ["blue"]
    assert "blue" in json.dumps(m.model_requests()[1]["body"])


def test_the_demo_needs_nothing_and_shows_what_was_stopped(lab):
    r = lab.agent6("demo", cwd=lab.home, env={"TMPDIR": lab.folder})
    assert r.returncode == 0, r.both
    assert "recording" in r.err
    stopped = r.out.split("What the jail stopped:")[1]
    assert "id_ed25519" in stopped and "escaped.txt" in stopped and "/443" in stopped or "1.1.1.1" in stopped
    assert "(net * rate + 50) / 100" in r.out and "verify passed" in r.out or "test decides" in r.out
    assert "this stands for your real key" not in r.both
    demo = [d for d in os.listdir(lab.folder) if d.startswith("agent6-demo-")]
    assert len(demo) == 1 and not os.path.exists(os.path.join(lab.folder, demo[0], "escaped.txt"))
    # What it says to look around with works as it stands, where nothing is in PATH and where it is.
    path = os.path.dirname(os.path.realpath(AGENT6)) + ":" + lab.env["PATH"]
    for said, env in ((r, lab.env), (lab.agent6("demo", cwd=lab.home, env={"TMPDIR": lab.folder, "PATH": path}), dict(lab.env, PATH=path))):
        look = said.out.split("Look around:")[1].splitlines()[0].strip()
        assert ("&& agent6 " in look) is (env is not lab.env), look
        env = {k: v for k, v in env.items() if k != "AGENT6_ALLOW_ROOT"}
        shown = subprocess.run(["sh", "-c", look], cwd=lab.home, env=env, capture_output=True, text=True, timeout=300)
        assert shown.returncode == 0 and "passed" in shown.stdout, (look, shown.stdout, shown.stderr)


@pytest.mark.parametrize("lines", [1, 3, 6, 9, 14])
def test_a_kill_at_any_moment_leaves_a_whole_record(lab, lines):
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(*[turn(call("run_command", argv=["true"]), text=f"step {i}") for i in range(40)], finish()))
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "steps"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def enough():
        try:
            with open(log_of(lab), "rb") as f:
                return f.read().count(b"\n") >= lines
        except (IndexError, FileNotFoundError):
            return False
    lab.wait_for(enough)
    recorder = child_of(p.pid, b"recorder")
    p.kill()
    p.wait(timeout=300)
    lab.wait_for(lambda: not os.path.exists(f"/proc/{recorder}"))  # it dies with the monitor; the record is at rest
    assert not json.loads(lab.agent6("runs", "list", "--json").out)[0]["live"]
    r = lab.agent6("runs", "verify")
    assert r.returncode == 0 or "incomplete line" in r.out, r.both
    shown = json.loads(lab.agent6("runs", "show", "--json").out)
    assert shown["status"] in ("stale", "failed", "finished") or (lines == 1 and shown["status"] == "created")  # before its start
    messages = os.path.join(lab.run_dirs()[-1], "record", "messages.jsonl")
    with open(messages, "rb") as f:
        for line in f.read().split(b"\n")[:-1]:
            json.loads(line)


@pytest.mark.parametrize("torn", [False, True])
def test_a_resumed_run_shows_its_own_leg_and_what_a_crash_cost(lab, torn):
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("read_file", path="a.txt"), text="the first leg"), finish(), turn(text="the second leg"), finish()))
    assert lab.run("look").returncode == 0
    if torn:
        with open(log_of(lab), "ab") as f:
            f.write(b'{"ts":"2026')
    r = lab.agent6("resume", "--auto-approve", "--steer", "again")
    assert "resumed: look" in r.err and "the second leg" in r.err, r.both
    assert "  all      2 legs: in=" in r.err, r.both
    assert "the first leg" not in r.err
    assert ("incomplete last line of logs.jsonl (11 bytes)" in r.err) is torn
    whole = lab.agent6("watch")
    assert "the first leg" in whole.out and "the second leg" in whole.out
    assert lab.agent6("runs", "verify").returncode == 0


def test_a_run_that_finds_the_checkout_in_use_is_parked_and_starts_when_resumed(lab):
    p = waiting(lab)
    task = "the other task, " + "and so on, " * 600 + "done"
    r = lab.run(task, "--run-id", "later")
    assert r.returncode == 2 and "is running, as process" in r.err and "parked as later" in r.err, r.both
    rows = {x["run_id"]: x for x in json.loads(lab.agent6("runs", "list", "--json").out)}
    assert rows["later"]["status"] == "parked" and rows["later"]["reason"] == "checkout busy", rows
    r = lab.agent6("resume", "--auto-approve", "later")  # still in use: it stays parked
    assert r.returncode == 2 and "is running, as process" in r.err, r.both
    live = next(i for i in rows if i != "later")
    r = lab.agent6("resume", "--auto-approve", live)  # itself is what is at work: it waits for nothing
    assert r.returncode == 2 and f"{live} is running, as process" in r.err and f"agent6 watch {live}" in r.err, r.both
    assert "waits" not in r.err and json.loads(lab.agent6("runs", "show", live, "--json").out)["status"] == "running", r.both
    lab.write("go", "")
    p.communicate(timeout=300)
    mock = lab.mock(script(finish()))
    r = lab.agent6("resume", "--auto-approve", "later")
    assert r.returncode == 0, r.both
    assert task in json.dumps(mock.model_requests()[0]["body"])
    assert json.loads(lab.agent6("runs", "show", "later", "--json").out)["status"] == "finished"
    r = lab.agent6("resume", "--auto-approve", "later")
    assert r.returncode == 2 and "nothing left to do" in r.err, r.both


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_fork_that_goes_on_has_the_key_of_the_environment(lab, api):
    """Whether it could go on is found out first, and reads the same variable."""
    lab.repo(a_DOT_txt="one\n")
    lab.mock(script(finish()), api=api)
    assert lab.run("do it", "--run-id", "one").returncode == 0
    mock = lab.mock(script(finish()), api=api)
    r = lab.agent6("fork", "one", "--auto-approve", "--steer", "go on")
    assert r.returncode == 0, r.both
    wanted = {"openai": "authorization", "anthropic": "x-api-key"}[api]
    assert [wanted in q["headers"] for q in mock.model_requests()] == [True]


def test_whether_a_fork_could_go_on_is_asked_of_the_preset_that_goes_with_the_run(lab):
    """It is in the record of the run that is forked, as for a resume."""
    lab.repo(a_DOT_txt="one\n")
    lab.mock(script(finish()), extra='[presets.kept]\nbudget.max_usd = 1.0\n[providers.keyless]\napi_format = "anthropic"\n'
             'api_key_env = "NOBODY_SET_IT"\nbase_url = "http://127.0.0.1:9"\n')
    path = lab.home + "/.config/agent6/config.toml"
    with open(path, encoding="utf-8") as f:
        was = f.read()
    assert lab.run("do it", "--preset", "kept", "--run-id", "one").returncode == 0
    lab.config(was.replace("budget.max_usd = 1.0", 'models.worker.provider = "keyless"'))
    runs = len(lab.run_dirs())
    for words in ([], ["--preset", "kept"]):
        r = lab.agent6("fork", "one", "--auto-approve", "--steer", "go on", *words)
        assert r.returncode != 0 and "keyless" in r.both and "forked" not in r.both, r.both
        assert len(lab.run_dirs()) == runs
    r = lab.agent6("fork", "one", "--no-run")  # nobody goes on with it yet
    assert r.returncode == 0, r.both
    # The other way round: only the preset makes it possible.
    lab.config(was.replace('provider = "mock"', 'provider = "keyless"').replace("budget.max_usd = 1.0", 'models.worker.provider = "mock"'))
    r = lab.agent6("fork", "one", "--auto-approve", "--steer", "go on")
    assert r.returncode == 0 and "forked" in r.both, r.both

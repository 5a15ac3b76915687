# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""`runs merge`, `runs diff` and `runs commits` in the situations a person can be in, and the runs before them.

A row is shell on both sides: what the repository is, what the model's command does, what the person does in between.
Which file follows its branch and which stays is the table of test/git/test_repo_carry.c.
"""
import json
import os
import re
import signal
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn
from test_faults import all_gone, tree
from test_kills import events

WORK = "echo two > a.txt; rm b.txt; mkdir d; echo new > d/n.txt; chmod 755 c.txt; ln -s a.txt l"
BACK = "git checkout -q -- .; git clean -qfd"

# why, then what differs from: files a, b, c on main; WORK; nothing in between; exit 0; a clean checkout
ROWS = [
    dict(why="squash, and the checkout is clean"),
    dict(why="a merge commit", args="--strategy merge", check="git rev-parse -q --verify HEAD^2"),
    dict(why="fast forward", args="--strategy ff", check="test $(git rev-parse HEAD) = $(git rev-parse refs/agent6/mine/head)"),
    dict(why="the branch is deleted, the chain is there", after="git branch -qD agent6/mine"),
    dict(why="another branch is checked out", after=BACK + "; git checkout -qb topic", check="git show main:a.txt | grep two"),
    dict(why="the run began on no branch", setup="git checkout -q --detach", exit=2, says="--into", status=None),
    dict(why="the run began on no branch, one is named", setup="git checkout -q --detach", after=BACK + "; rm -f l", args="--into main",
         check="git show main:a.txt | grep two"),
    dict(why="no such branch", args="--into nowhere", exit=2, says="nowhere", status=None),
    dict(why="its own branch", args="--into agent6/mine", exit=2, says="own branch", status=None),
    dict(why="a rebase is going on", after=BACK + "; git checkout -qb o HEAD; echo o > c.txt; git commit -qam o; git checkout -q main; "
         "echo m > c.txt; git commit -qam m; git rebase -q o || true", exit=2, says="a rebase of branch \"main\"", status=None),
    dict(why="a merge waits", after=BACK + "; git checkout -qb o HEAD; git commit -q --allow-empty -m o; git checkout -q main; "
         "git merge -q --no-ff --no-commit o", exit=2, says="a merge of branch \"main\"", status=None),
    dict(why="checked out in another worktree", after=BACK + "; git checkout -q --detach; git worktree add -q ../other main", exit=2,
         says="checked out in"),
    dict(why="the workspace is a linked worktree", setup="git worktree add -q ../linked -b side", ws="linked",
         check="git show side:a.txt | grep two; test \"$(git show main:a.txt)\" = one"),
    dict(why="a worktree of a bare repository", setup="git clone -q --bare . ../bare; git -C ../bare worktree add -q ../linked main",
         ws="linked"),
    dict(why="git's variables in the environment mean nothing", env=dict(
        GIT_DIR="/nonexistent", GIT_WORK_TREE="/", GIT_INDEX_FILE="/nonexistent/index", GIT_OBJECT_DIRECTORY="/nonexistent",
        GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="core.hooksPath", GIT_CONFIG_VALUE_0="/nonexistent", GIT_NAMESPACE="x",
        GIT_CEILING_DIRECTORIES="/", GIT_EXTERNAL_DIFF="/nonexistent", GIT_TRACE="1", GIT_LITERAL_PATHSPECS="0")),
    dict(why="SHA-256", init="git init -q -b main --object-format=sha256"),
    dict(why="a branch without a commit", unborn=True, work="echo new > n.txt; ln -s n.txt l", check="test $(git rev-list --count main) = 1"),
    dict(why="autocrlf", setup="git config core.autocrlf true; rm a.txt; git checkout -q a.txt; grep -q 'one.$' a.txt",
         work="printf 'two\\r\\n' > a.txt", check="test \"$(git cat-file -p HEAD:a.txt)\" = two"),
    dict(why="a branch is called agent6", setup="git branch agent6", said="refs/agent6/mine/head", check="test -z \"$(git branch --list agent6/mine)\""),
    dict(why="names that are no text", work="printf x > \"$(printf 'n\\377\\n')\""),
    dict(why="a file too large for a step", work=WORK + "; truncate -s 65M big.bin", said="big.bin", status="?? big.bin\n"),
    dict(why="an untracked file stays untracked", setup="echo u > u.txt", work=WORK + "; echo more >> u.txt", status="?? u.txt\n"),
    dict(why="ignored but tracked", setup="echo a.txt > .gitignore; git add .gitignore; git commit -qm i", check="git show HEAD:a.txt | grep two"),
    dict(why="the person's changes were included", setup="echo mine > c.txt", top="git.require_clean_worktree = false",
         check="git show HEAD:c.txt | grep mine"),
    dict(why="a nested repository and a submodule", setup="git init -q nested; echo n > nested/n; git init -q sub; "
         "git -C sub -c user.name=s -c user.email=s@s commit -q --allow-empty -m s; git add sub 2>/dev/null; git commit -qm s",
         work=WORK + "; echo 2 > nested/n; echo 2 > sub/n", status=" M sub\n?? nested/\n"),
    dict(why="hooks and drivers do not run", setup="printf '#!/bin/sh\\ntouch ../ran\\nexit 1\\n' | tee .git/hooks/post-merge "
         ".git/hooks/pre-commit .git/hooks/reference-transaction .git/hooks/post-index-change > /dev/null; chmod 755 .git/hooks/*; "
         "git config core.fsmonitor .git/hooks/pre-commit", after="git config --unset core.fsmonitor; test ! -e ../ran || rm ../ran",
         last="rm .git/hooks/*", check="! test -e ../ran"),
]


def sh(lab, line, cwd=None):
    env = dict(lab.env, GIT_AUTHOR_NAME="Lab", GIT_AUTHOR_EMAIL="lab@example.invalid", GIT_COMMITTER_NAME="Lab",
               GIT_COMMITTER_EMAIL="lab@example.invalid", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="advice.detachedHead",
               GIT_CONFIG_VALUE_0="false")
    r = subprocess.run(["sh", "-ec", line], cwd=cwd or lab.ws, env=env, capture_output=True)
    out = r.stdout.decode("utf-8", "replace")
    assert r.returncode == 0, f"{line}: {out}{r.stderr.decode('utf-8', 'replace')}"
    return out


def ran(lab, row):
    """The repository, the run, and what the person did then."""
    sh(lab, row.get("init", "git init -q -b main"))
    if not row.get("unborn"):
        sh(lab, "echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start; " + row.get("setup", "true"))
    if "ws" in row:
        lab.ws = os.path.join(os.path.dirname(lab.ws), row["ws"])
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", row.get("work", WORK)])), finish()), top=row.get("top", ""))
    r = lab.run("change them", "--run-id", "mine", env=row.get("env"))
    assert r.returncode == 0 and row.get("said", "") in r.both, r.both
    sh(lab, row.get("after", "true"))


def test_notes_stand_where_they_were_said_and_name_what_there_is(lab):
    ran(lab, dict(why="", unborn=True, work="echo new > n.txt"))
    said = lab.agent6("runs", "diff").err
    assert "the changes of mine, all there is: the repository had no commit" in said and "since" not in said, said
    out = subprocess.run([AGENT6, "runs", "commits"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=300).stdout.splitlines()
    assert len(out) == 2 and out[1] == "[agent6] 1 commit on agent6/mine", out


@pytest.mark.parametrize("row", ROWS, ids=[r["why"] for r in ROWS])
def test_merge(lab, row):
    ran(lab, row)
    d = lab.agent6("runs", "diff", "mine", env=row.get("env"))
    c = lab.agent6("runs", "commits", "mine", env=row.get("env"))
    assert d.returncode == 0 and "diff --git" in d.out, d.both
    assert c.returncode == 0 and len(c.out.splitlines()) == 1, c.both
    tips = sh(lab, "git for-each-ref refs/heads")
    m = lab.agent6("runs", "merge", "mine", *row.get("args", "").split(), env=row.get("env"))
    assert m.returncode == row.get("exit", 0), m.both
    assert row.get("says", "") in m.both
    sh(lab, row.get("last", "true"))
    if m.returncode:
        assert sh(lab, "git for-each-ref refs/heads") == tips
    elif "left as it is" not in m.err:
        again = lab.agent6("runs", "merge", "mine", *row.get("args", "").split())
        assert again.returncode == 0 and "already contains" in again.err, again.both
    if row.get("status", "") is not None:
        assert sh(lab, "git status --porcelain") == row.get("status", "")
    sh(lab, row.get("check", "true"))


def test_the_command_by_hand_is_the_one_that_helps(lab):
    ran(lab, dict(after=BACK + "; rm -f l; echo else > a.txt; git commit -qam else; git checkout -q -b \"we'ird;\"; echo k > c.txt"))
    before = sh(lab, "git for-each-ref; git status --porcelain; cat a.txt c.txt")
    m = lab.agent6("runs", "merge", "mine")
    assert m.returncode == 1 and m.out == "  a.txt\n", m.both
    assert sh(lab, "git for-each-ref; git status --porcelain; cat a.txt c.txt") == before
    line = m.err.split("by hand: ")[1].strip()
    sh(lab, f"! ({line}) > ../out 2>&1; grep -q CONFLICT ../out; git status --porcelain | grep '^AA\\|^UU'")


def test_a_changed_checkout_without_a_person_is_refused_before_anything_is_done(lab):
    lab.repo(a_DOT_txt="one\n")
    lab.write("a.txt", "mine\n")
    m = lab.mock(script(finish()))
    r = lab.run("change them")
    assert r.returncode == 2 and "a.txt" in r.err and not m.model_requests(), r.both


def test_a_bare_repository_is_refused(lab):
    lab.git("init", "-q", "--bare")
    lab.mock(script(finish()))
    for args in (["run", "--auto-approve", "x"], ["runs", "merge"], ["runs", "diff"]):
        r = lab.agent6(*args)
        assert r.returncode == 2 and "without a work tree" in r.err, r.both


def test_the_persons_lock_on_the_index_stops_no_step_and_is_not_removed(lab):
    row = dict(setup="touch .git/index.lock")
    ran(lab, row)
    m = lab.agent6("runs", "merge", "mine")
    assert m.returncode == 1 and "index.lock" in m.err and sh(lab, "git rev-list --count main") == "1\n", m.both
    sh(lab, "rm .git/index.lock")
    assert lab.agent6("runs", "merge", "mine").returncode == 0
    assert sh(lab, "git status --porcelain") == ""


# what is configured; what the run says; its exit status; what holds in the repository then
AUTO = [
    ("git.auto_merge = true", "merged mine into main (squash)", 0, "test $(git rev-list --count main) = 2; git show main:a.txt | grep two"),
    ("git.auto_merge = true\ngit.merge_strategy = \"merge\"", "merged mine into main (merge)", 0, "git rev-parse -q --verify main^2"),
    ("git.auto_merge = true\ngit.merge_strategy = \"ff\"", "merged mine into main (ff)", 0,
     "test $(git rev-parse main) = $(git rev-parse refs/agent6/mine/head)"),
    ("git.auto_merge = true\ngit.auto_prune = true", "branch agent6/mine was removed", 0,
     "test -z \"$(git branch --list 'agent6/*')\"; git rev-parse -q --verify refs/agent6/mine/head"),
    ("git.auto_merge = true\nworkflow.verify_command = [\"sh\", \"-c\", \"grep two ?.txt\"]", "merged mine into main (squash)", 0,
     "git show main:a.txt | grep two"),
    ("git.auto_merge = true", "nothing else checked it", 0, "true"),
    ("git.auto_prune = true", "merge    agent6 runs merge mine", 0, "git rev-parse -q --verify agent6/mine; test $(git rev-list --count main) = 1"),
]


@pytest.mark.parametrize("top, says, code, holds", AUTO, ids=[a[0].replace("\n", ", ") for a in AUTO])
def test_a_run_that_ended_well_is_merged_where_that_is_configured(lab, top, says, code, holds):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start")
    gate = [turn(call("run_verify_command"))] if "verify_command" in top else []
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", WORK])), *gate, finish()), top=top)
    r = lab.run("change them", "--run-id", "mine")
    assert r.returncode == code and says in r.both, r.both
    sh(lab, holds)
    if "auto_merge" in top:
        assert sh(lab, "git status --porcelain") == ""


OWN_GATE = "the change touches what the gate runs: verify.sh"
# what the model's command does; the gate; what keeps the run from being merged by itself
OWN = {
    "it is as it was": ("echo two > a.txt", ["sh", "verify.sh"], None),
    "rewritten": ("echo two > a.txt; printf '#!/bin/sh\\n' > verify.sh", ["sh", "./verify.sh"], OWN_GATE),
    "named in a shell line": ("echo two > a.txt; printf '#!/bin/sh\\n' > verify.sh", ["sh", "-c", "true && ./verify.sh"], OWN_GATE),
    "found, not set": ("echo two > a.txt; printf '#!/bin/sh\\n' > verify.sh", None, OWN_GATE),
    "in no commit": ("echo two > a.txt; echo true > mine.sh", ["sh", "mine.sh"],
                     "what the gate runs is in no commit, so nobody can say whether the run changed it: mine.sh"),
}


@pytest.mark.parametrize("why", OWN)
def test_a_run_that_wrote_its_own_gate_is_not_merged_by_itself(lab, why):
    work, gate, refused = OWN[why]
    sh(lab, "git init -q -b main; echo one > a.txt; printf '#!/bin/sh\\ngrep -q two a.txt\\n' > verify.sh; chmod 755 verify.sh; git add -A; git commit -qm start")
    if "mine.sh" in work:
        lab.write("mine.sh", "grep -q two a.txt\n")
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", work])), turn(call("run_verify_command")), finish()),
             top="git.auto_merge = true", extra=f"[workflow]\nverify_command = {json.dumps(gate)}\n" if gate else "")
    r = lab.run("change it", "--run-id", "mine")
    assert lab.events("run.end")[-1]["exit_code"] == 0, r.both
    if not refused:
        assert r.returncode == 0 and "merged mine into main" in r.both and OWN_GATE not in r.both, r.both
        return
    assert r.returncode == 1 and refused in r.both and "was not merged: agent6 runs merge mine" in r.both, r.both
    assert sh(lab, "git rev-list --count main") == "1\n"
    if refused == OWN_GATE:  # its end says so as well; a person who wants it merges it
        assert lab.events("run.end")[-1]["gate_touched"] == ["verify.sh"] and r.both.count(OWN_GATE) == 2, r.both
        told = json.loads(lab.agent6("runs", "show", "mine", "--json").out)
        assert told["gate_touched"] == ["verify.sh"] and told["edited_untracked"] == [], told
        m = lab.agent6("runs", "merge", "mine")
        assert m.returncode == 0 and OWN_GATE in m.both and "merged mine into main" in m.both, m.both


@pytest.mark.parametrize("leg", ["run", "resume"])
def test_the_gate_that_is_run_again_is_the_one_of_the_runs_preset(lab, leg):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start")
    gate = ["sh", "-c", "! git rev-parse -q --verify refs/agent6/mine/head"]  # green until something is committed
    last = [turn(call("run_command", argv=["true"])), finish()] if leg == "resume" else []
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", WORK])), turn(call("run_verify_command")), finish(), *last),
             top="git.auto_merge = true" if leg == "run" else "", extra=f"[presets.careful]\nworkflow.verify_command = {json.dumps(gate)}\n")
    r = lab.run("change them", "--run-id", "mine", "--preset", "careful")
    if leg == "resume":
        assert r.returncode == 0, r.both
        lab.agent6("config", "set", "git.auto_merge", "true")
        r = lab.agent6("resume", "--auto-approve", "mine", "--steer", "go on")
    assert lab.events("run.end")[-1]["exit_code"] == 0, r.both
    assert r.returncode == 1 and "the gate was run again on what would be merged and ended with 1" in r.both, r.both
    assert sh(lab, "git rev-list --count main") == "1\n"


def test_a_name_that_the_model_gave_steers_no_terminal_where_a_merge_is_refused(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start")
    gate = ["sh", "-c", "git rev-parse -q --verify refs/agent6/mine/head && for f in evil*; do echo more >>$f; done; true"]
    name = "evil\x1b[2J\x1b]0;owned\x07\u009b31m"
    lab.mock(script(turn(call("apply_edit", path=name, edits=[{"kind": "create", "new_string": "x\n"}])),
                    turn(call("run_command", argv=["touch", name])), turn(call("run_verify_command")), finish()),
             top="git.auto_merge = true\nworkflow.verify_command = " + json.dumps(gate))
    r = lab.run("change them", "--run-id", "mine")
    assert r.returncode == 1 and "the gate was run again and changed what would be merged: evil" in r.both, r.both
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", r.both), r.both


@pytest.mark.parametrize("why", ["a red gate", "a conflict", "the run broke"])
def test_a_run_that_did_not_end_well_is_not_merged_by_itself(lab, why):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start")
    work = WORK
    turns = [turn(call("run_command", argv=["sh", "-ec", work])), turn(call("run_command", argv=["sh", "-c", "while ! test -e go; do :; done; rm go"])),
             finish()]
    extra = '[workflow]\nverify_command = ["false"]\n' if why == "a red gate" else ""
    if why == "the run broke":
        turns = turns[:1] + [dict(fault={"status": 401})] + turns[1:]
    if why != "a conflict":
        turns.pop(1 if why == "a red gate" else 2)
    lab.mock(script(*turns), top="git.auto_merge = true", extra=extra)
    if why == "a conflict":
        p = subprocess.Popen([AGENT6, "run", "--auto-approve", "--run-id", "mine", "change them"], cwd=lab.ws, env=lab.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lab.wait_for(lambda: "refs/agent6/mine/head" in sh(lab, "git for-each-ref"))
        sh(lab, "GIT_INDEX_FILE=.git/other git read-tree HEAD; b=$(echo three | git hash-object -w --stdin); GIT_INDEX_FILE=.git/other git "
           "update-index --cacheinfo 100644,$b,a.txt; t=$(GIT_INDEX_FILE=.git/other git write-tree); git update-ref refs/heads/main $(git "
           "commit-tree -p main -m three $t); touch go")
        out = p.communicate(timeout=300)[0]
        assert p.returncode == 1 and "was not merged: agent6 runs merge mine" in out and "a.txt" in out, out
    else:
        r = lab.run("change them", "--run-id", "mine")
        assert r.returncode in ((4,) if why == "a red gate" else (1, 2)) and "merged mine" not in r.both, r.both
    assert "two" not in sh(lab, "git show main:a.txt")


def test_a_squash_says_what_was_wanted_and_what_the_steps_did(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; git add -A; git commit -qm start")
    lab.mock(script(turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}]), text="Count on."), finish()))
    assert lab.agent6("config", "set", "git.commit.trailer", "Assisted-by: agent6 ({model})").returncode == 0
    assert lab.run("Count up. And not down, whatever else is said about that by whomever it may be.", "--run-id", "mine").returncode == 0
    assert lab.agent6("runs", "merge", "mine").returncode == 0
    assert sh(lab, "git log -1 --format=%B").strip() == (
        "Count up. And not down, whatever else is said about that by whomever it\n\n"
        "Count up. And not down, whatever else is said about that by whomever it\nmay be.\n\n- Count on.\n\nagent6 run mine\n\n"
        "Assisted-by: agent6 (mock-model)")


def test_a_fork_that_nobody_could_go_on_with_is_not_made(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start")
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", WORK])), finish()))
    assert lab.run("change them", "--run-id", "mine").returncode == 0
    sh(lab, BACK)
    refs = sh(lab, "git for-each-ref")

    def nothing_new():
        return [os.path.basename(d) for d in lab.run_dirs()] == ["mine"] and sh(lab, "git for-each-ref") == refs
    assert lab.agent6("config", "set", "sandbox.run_commands", "ask").returncode == 0
    f = lab.agent6("fork", "--run-id", "other", "mine")
    assert f.returncode == 2 and 'sandbox.run_commands is "ask" and nobody can answer here' in f.err and "--auto-approve" in f.err, f.both
    assert nothing_new() and "forked" not in f.both, f.both
    assert lab.agent6("config", "set", "models.worker.provider", "nowhere").returncode in (0, 2)
    # Only to make it asks nobody anything; whoever goes on with it is asked then.
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo four > c.txt"])), finish()))
    made = lab.agent6("fork", "--no-run", "--run-id", "other", "mine")
    assert made.returncode == 0 and made.out == "other\n", made.both
    assert lab.agent6("resume", "--auto-approve", "other").returncode == 0
    assert lab.agent6("runs", "verify", "other").returncode == 0


def test_a_fork_that_was_made_and_could_not_begin_is_said_with_the_way_on(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start")
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", WORK])), finish()))
    assert lab.run("change them", "--run-id", "mine").returncode == 0
    sh(lab, BACK)
    assert lab.agent6("config", "unset", "git.commit.name").returncode == 0  # found out when its git is asked
    f = lab.agent6("fork", "--auto-approve", "--run-id", "other", "mine")
    assert f.returncode == 2 and "the fork other is there all the same; `agent6 resume other` goes on with it" in f.err, f.both
    assert "`agent6 runs rm other` removes it" in f.err, f.both
    assert lab.agent6("config", "set", "git.commit.name", "Lab").returncode == 0
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo four > c.txt"])), finish()))
    assert lab.agent6("resume", "--auto-approve", "other").returncode == 0


def test_a_fork_and_a_merge_in_a_checkout_that_is_in_use_wait_with_words(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start")
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", WORK])), finish()))
    assert lab.run("change them", "--run-id", "mine").returncode == 0
    sh(lab, BACK)
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "while ! test -e go; do :; done; rm go"])), finish()))
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "--run-id", "busy", "wait"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lab.wait_for(lambda: any(e["type"] == "tool.call" for e in events(lab, "busy")))
    before = sh(lab, "git for-each-ref refs/heads")
    m = lab.agent6("runs", "merge", "mine")
    assert m.returncode == 2 and "busy is running" in m.both and sh(lab, "git for-each-ref refs/heads") == before, m.both
    f = lab.agent6("fork", "--auto-approve", "--run-id", "other", "mine")
    assert f.returncode == 2 and "the checkout is in use, and other waits: busy is running" in f.both, f.both
    assert "agent6 resume other" in f.both
    sh(lab, "touch go")
    p.communicate(timeout=300)
    assert p.returncode == 0
    r = lab.agent6("resume", "--auto-approve", "--steer", "go on", "other")
    assert r.returncode == 0, r.both


@pytest.mark.parametrize("what", ["merge", "run"])
def test_no_git_is_taken_through_a_link_that_the_model_may_change(lab, what):
    """A link in a directory of PATH that is the person's own; what it leads through is the model's."""
    own, marker = os.path.join(lab.folder, "own"), os.path.join(lab.home, "executed-on-the-host")
    os.makedirs(own)
    sh(lab, "git init -q -b main; echo one > a.txt; git add -A; git commit -qm start")
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", f"echo two > a.txt; printf '#!/bin/sh\\ntouch {marker}\\n' > git; "
                                                                 "chmod 755 git"])), finish()))
    r = lab.run("change them", "--run-id", "mine")
    assert r.returncode == 0, r.both
    os.symlink(os.path.join(lab.ws, "git"), os.path.join(own, "git"))
    env = {"PATH": own + ":" + lab.env["PATH"]}
    m = lab.agent6("runs", "merge", "mine", env=env) if what == "merge" else lab.agent6("run", "--auto-approve", "x", env=env)
    assert m.returncode == 2 and not os.path.exists(marker), m.both
    assert f"PATH: {own}/git leads through {lab.ws}, which lies in {lab.ws}, where the model may write" in m.both, m.both


@pytest.mark.parametrize("grant", ["commands", "a server"])
def test_a_merge_takes_no_git_from_where_the_model_may_write(lab, grant):
    tools, marker = os.path.join(lab.folder, "tools"), os.path.join(lab.home, "executed-on-the-host")
    os.makedirs(os.path.join(tools, "bin"))
    top = f'sandbox.extra_write_paths = ["{tools}"]' if grant == "commands" else ""
    extra = f'[mcp.files]\ncommand = ["/bin/cat"]\nextra_write_paths = ["{tools}"]\n' if grant == "a server" else ""
    sh(lab, "git init -q -b main; echo one > a.txt; git add -A; git commit -qm start")
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", "echo two > a.txt"])), finish()), top=top, extra=extra)
    r = lab.run("change them", "--run-id", "mine")
    assert r.returncode == 0, r.both
    with open(os.path.join(tools, "bin", "git"), "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\ntouch {marker}\n")
    os.chmod(f.name, 0o755)
    m = lab.agent6("runs", "merge", "mine", env={"PATH": os.path.join(tools, "bin") + ":" + lab.env["PATH"]})
    assert m.returncode == 0 and not os.path.exists(marker), m.both
    assert sh(lab, "git show main:a.txt") == "two\n"


# git.auto_stash: why, then what differs from: the run does WORK2, ends well, and what was set aside comes back
STASH_TOP = "git.auto_stash = true\ngit.auto_stash_pop = true"
MINE = "rm b.txt; echo mine > a.txt; git add a.txt; echo more >> a.txt; echo new > n.txt; git add n.txt; echo u > u.txt"
STASHES = [
    dict(why="it comes back", says="what was set aside before mine is back"),
    dict(why="it stays where that is configured", top="git.auto_stash = true", back=False,
         says="git stash apply --index $SHA && git update-ref -d refs/agent6-stash/mine"),
    dict(why="where a preset wants it", top="preset = \"bold\"", preset="\n".join(["[presets.careful]", STASH_TOP, "[presets.bold]"])),
    dict(why="after a merge by itself", top=STASH_TOP + "\ngit.auto_merge = true", commits=2),
    dict(why="the run's commits would have no name", unset="git.commit.name", top="git.auto_stash = true", code=2, untouched=True,
         says="git has no name for the commits of this run, and the repository's own user.name and user.email are not used; nothing was "
              "set aside"),
    dict(why="no commits are wanted, and so no name", unset="git.commit.name", top=STASH_TOP + "\ngit.commit_per_step = false"),
    dict(why="the run breaks", turns=[dict(fault={"status": 401})], code=1),
    dict(why="the run changes the same file", work="echo theirs > a.txt", back=False, says="  a.txt", keeps=("a.txt", "theirs\n")),
    dict(why="the stash cannot be made", before="echo i > i.txt; git add -N i.txt", code=2,
         says="git.auto_stash: i.txt cannot be set aside: it is only announced"),
    dict(why="nothing is changed", mine="true"),
    dict(why="what is hidden would be readable in git's objects", hide="a.txt", code=2, untouched=True,
         says="a.txt is changed and not committed, and hidden by sandbox.hide_paths: set aside it could be read by every command, as all that git "
              "keeps can\nhint: keep its content where git does not"),
    dict(why="what is hidden is not changed", hide="c.txt", work="echo two > d.txt; rm d.txt"),
]


@pytest.mark.parametrize("row", STASHES, ids=[r["why"] for r in STASHES])
def test_what_is_not_committed_is_set_aside_before_a_run(lab, row):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start; "
       + row.get("mine", MINE) + "; " + row.get("before", "true"))
    look = "git status --porcelain; git diff; git diff --cached; cat *.txt"
    was = sh(lab, look)
    lab.mock(script(*row.get("turns", [turn(call("run_command", argv=["sh", "-ec", row.get("work", "echo two > c.txt")])), finish()])),
             top=row.get("top", STASH_TOP) + (f'\nsandbox.hide_paths = ["{lab.ws}/{row["hide"]}"]' if "hide" in row else ""),
             extra=row.get("preset", ""))
    if "unset" in row:
        assert lab.agent6("config", "unset", row["unset"]).returncode == 0
    marks = {n: os.stat(os.path.join(lab.ws, n)).st_mtime_ns for n in os.listdir(lab.ws) if n.endswith(".txt")}
    r = lab.run("change c", "--run-id", "mine", *(["--preset", "careful"] if "preset" in row else []))
    assert r.returncode == row.get("code", 0), r.both
    if row.get("untouched"):
        assert marks == {n: os.stat(os.path.join(lab.ws, n)).st_mtime_ns for n in marks} and "is back" not in r.both and not lab.run_dirs()
        assert "unset" not in row or "git.commit.name" in r.both, r.both
    assert "preset" not in row or "what was set aside before mine is back" in r.both, r.both
    refs = sh(lab, "git for-each-ref --format='%(objectname)' refs/agent6-stash").split()
    assert row.get("says", "").replace("$SHA", refs[0] if refs else "") in r.both, r.both
    if row.get("back", True):
        assert refs == []
        if row.get("commits"):
            assert sh(lab, "git rev-list --count main").strip() == str(row["commits"])
        sh(lab, "git show HEAD:c.txt > c.txt" if row.get("commits") else "git checkout -q c.txt")
        assert sh(lab, look) == (was.replace("sea", "two") if row.get("commits") else was)
        return
    if "keeps" in row:
        with open(os.path.join(lab.ws, row["keeps"][0]), encoding="utf-8") as f:
            assert f.read() == row["keeps"][1]
    shown = lab.agent6("runs", "show", "mine", "--json")
    assert f'"stash":"{refs[0]}"' in shown.out.replace(" ", ""), shown.both
    # What the person is told works, once the run's own change is out of the way.
    sh(lab, "git checkout -q .; git stash apply -q --index " + refs[0] + " && git update-ref -d refs/agent6-stash/mine")
    assert sh(lab, look) == was


def test_a_kill_of_everything_leaves_what_was_set_aside_and_resume_brings_it_back(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; echo bee > b.txt; echo sea > c.txt; git add -A; git commit -qm start; " + MINE)
    look = "git status --porcelain; git diff; git diff --cached; cat *.txt"
    was = sh(lab, look)
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "while ! test -e go; do :; done; rm go"])), finish()), top=STASH_TOP)
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "--run-id", "mine", "wait"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    lab.wait_for(lambda: lab.run_dirs() and any(e["type"] == "tool.call" for e in events(lab, "mine")))
    assert sh(lab, "git status --porcelain") == "?? u.txt\n"
    all_of_it = tree(p.pid)
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    all_gone(lab, all_of_it)  # the command too, which waits for the same file as the next leg's
    sha = sh(lab, "git for-each-ref --format='%(objectname)' refs/agent6-stash").strip()
    assert sh(lab, f"git show {sha}:a.txt; git show {sha}^2:a.txt; git show {sha}:n.txt") == "mine\nmore\nmine\nnew\n"
    sh(lab, "touch go")
    r = lab.agent6("resume", "--auto-approve", "mine")
    assert r.returncode == 0 and "what was set aside before mine is back" in r.both, r.both
    sh(lab, "rm -f go")
    assert sh(lab, look) == was and sh(lab, "git for-each-ref refs/agent6-stash") == ""


def test_what_came_back_is_the_persons_change_for_a_later_leg(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; echo sea > c.txt; git add -A; git commit -qm start; echo mine > a.txt")
    mock = lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo two > c.txt"])), finish()), top=STASH_TOP)
    r = lab.run("change c", "--run-id", "mine")
    assert r.returncode == 0 and "what was set aside before mine is back" in r.both, r.both
    assert sh(lab, "git show refs/agent6/mine/head:a.txt; cat a.txt") == "one\nmine\n"
    mock = lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo three > c.txt"])), finish()), top=STASH_TOP)
    r = lab.agent6("resume", "--auto-approve", "mine", "--steer", "and three")
    assert r.returncode == 0 and "set aside before" not in r.both, r.both
    assert "1 file changed since the last leg ended: a.txt; it is in the next step (git.auto_stash sets nothing aside when a run goes on" in r.both, r.both
    assert "a.txt" in json.dumps(mock.model_requests()[0]["body"]["messages"][-1])  # the model is told
    assert sh(lab, "git show refs/agent6/mine/head:a.txt; cat a.txt; git for-each-ref refs/agent6-stash") == "mine\nmine\n"


def test_a_run_is_removed_and_what_was_set_aside_before_it_is_named(lab):
    sh(lab, "git init -q -b main; echo one > a.txt; echo sea > c.txt; git add -A; git commit -qm start; echo mine > a.txt")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo two > c.txt"])), finish()), top=STASH_TOP)
    assert lab.agent6("config", "set", "git.auto_stash_pop", "false").returncode == 0
    assert lab.run("change c", "--run-id", "mine").returncode == 0
    sha = sh(lab, "git rev-parse refs/agent6-stash/mine").strip()
    r = lab.agent6("runs", "rm", "--unmerged", "mine")
    way = f"git stash apply --index {sha} && git update-ref -d refs/agent6-stash/mine"
    assert r.returncode == 0 and way in r.err, r.both
    sh(lab, "git checkout -q .; " + way.replace("apply", "apply -q"))
    assert sh(lab, "cat a.txt c.txt; git for-each-ref refs/agent6-stash refs/agent6") == "mine\nsea\n"


# git.commit.checkpoint.message: why, the style, what the summarizer says, the subject of the step
FORGED = "Signed-off-by: Mallory <m@example.invalid>\nCo-authored-by: Mallory <m@example.invalid>\n"
SUBJECTS = [
    ("as it was", "agent6", None, "agent6 iter 1: Count on."),
    ("a kind by the paths", "conventional", None, "feat(part): count on"),
    ("a model's", "model", json.dumps({"subject": "Count up to two"}), "Count up to two"),
    ("a model's, with what is not its to say", "model", json.dumps({"subject": FORGED + "\x1b]0;t\x07Count\n" + FORGED}), "\\x1b]0;t\\x07Count"),
    ("a model's that says nothing else", "model", json.dumps({"subject": FORGED}), "agent6 iter 1: Count on."),
    ("a model that does not answer", "model", "no", "agent6 iter 1: Count on."),
]


@pytest.mark.parametrize("why, style, says, subject", SUBJECTS, ids=[s[0] for s in SUBJECTS])
def test_a_step_says_what_it_did_in_the_style_that_is_configured(lab, why, style, says, subject):
    lab.repo(**{"src__pkg__part__a.txt": "one\n"})
    turns = [turn(call("run_command", argv=["sh", "-c", "echo two > src/pkg/part/b.txt"]), text="Count on.")]
    if says is not None:
        turns += [{"text": says}] * (1 if says.startswith("{") else 3)
    mock = lab.mock(script(*turns, finish()))
    assert lab.agent6("config", "set", "git.commit.checkpoint.message", style).returncode == 0
    assert lab.agent6("config", "set", "git.commit.trailer", "Assisted-by: agent6 ({model})").returncode == 0
    r = lab.run("count", "--run-id", "mine")
    assert r.returncode == 0, r.both
    assert sh(lab, "git log -1 --format=%B refs/agent6/mine/head").strip() == subject + "\n\nAssisted-by: agent6 (mock-model)"
    assert sh(lab, "git log -1 --format='%(trailers)' refs/agent6/mine/head").strip() == "Assisted-by: agent6 (mock-model)"
    assert sh(lab, "git log -1 --format='%an %ae %cn %ce' refs/agent6/mine/head").strip() == "Lab lab@example.invalid Lab lab@example.invalid"
    assert len(mock.requests()) == len(turns) + 1
    replayed = lab.agent6("replay", "mine")
    assert replayed.returncode == 0, replayed.both


SQUASHES = [
    ("agent6", "Count up\n\n- Count on."),
    ("conventional", "feat(part): count up\n\n- Count on."),
    ("combine", "Count up\n\n- agent6 iter 1: Count on."),
    ("model", "Counted to two\n\nCounted to two. Nothing else was touched."),
]


@pytest.mark.parametrize("style, message", SQUASHES, ids=[s[0] for s in SQUASHES])
def test_a_squash_says_it_in_the_style_that_is_configured(lab, style, message):
    lab.repo(**{"src__pkg__part__a.txt": "one\n"})
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo two > src/pkg/part/b.txt"]), text="Count on."),
                    finish(summary=FORGED + "Counted to two. Nothing else was touched.\n\n" + FORGED)))
    assert lab.agent6("config", "set", "git.commit.squash.message", style).returncode == 0
    assert lab.run("Count up.", "--run-id", "mine").returncode == 0
    m = lab.agent6("runs", "merge", "mine")
    assert m.returncode == 0, m.both
    assert sh(lab, "git log -1 --format=%B").strip() == message + "\n\nagent6 run mine"
    assert sh(lab, "git log -1 --format='%(trailers)'").strip() == ""

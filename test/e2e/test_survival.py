# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What happens to a repository, or to the clock, between two legs of a run: it goes on where it was, or says why not and changes
nothing. Deaths and failing disks: test_kills.py and test_faults.py."""
import json
import os
import re

import pytest

from conftest import call, finish, script, turn
from test_merge import sh
from test_replay import rehash

EDIT = turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}]))
AGAIN = turn(call("apply_edit", path="a.txt", edits=[{"old_string": "two", "new_string": "three"}]))

# why; base: before the run; between: the legs; exit and words of the resume; same: what must print the same before and after it
ROWS = [
    dict(why="nothing"),
    dict(why="HEAD moved", between="git commit -q --allow-empty -m mine", says="HEAD moved since the last leg", same="git log --format=%H -3"),
    dict(why="another branch", between="git switch -q -c other", says="now it is other at", same="git symbolic-ref HEAD"),
    dict(why="detached", between="git checkout -q --detach", says="now it is no branch at", same="git rev-parse HEAD; ! git symbolic-ref -q HEAD"),
    dict(why="began detached", base="git checkout -q --detach", same="git rev-parse HEAD; ! git symbolic-ref -q HEAD"),
    dict(why="the branch has no commit yet", unborn=True, same="git symbolic-ref HEAD; ! git rev-parse -q --verify HEAD"),
    dict(why="became unborn", between="git stash -q; git switch -q --orphan fresh; echo two > a.txt", says="now it is fresh without a commit",
         same="git symbolic-ref HEAD; ! git rev-parse -q --verify HEAD"),
    dict(why="a rebase stopped to be edited", base="git commit -q --allow-empty -m 2; git commit -q --allow-empty -m 3",
         between="git stash -q; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i --keep-empty HEAD~1 2>/dev/null; git stash pop -q",
         same="git rev-parse HEAD; ls .git/rebase-merge"),
    dict(why="a bisection", between="git stash -q; git bisect start -q HEAD > /dev/null; git stash pop -q", same="cat .git/BISECT_START; git rev-parse HEAD"),
    dict(why="a merge stopped at a conflict", between="git stash -q; git switch -q -c o; echo o > a.txt; git commit -qam o; git switch -q main; "
         "echo m > a.txt; git commit -qam m; ! git merge -q o", exit=2, says="stopped at a conflict here", same="git status --porcelain; cat .git/MERGE_HEAD a.txt"),
    dict(why="the branch of the run is gone", between="git branch -qD agent6/mine"),
    dict(why="all that git may throw away is gone", between="git stash -q; git reflog expire --expire=now --all; git gc -q --prune=now; git stash pop -q || "
         "echo two > a.txt"),
    dict(why="the repository is gone", between="rm -rf .git", exit=2, says="began in a git repository, and"),
    dict(why="another repository stands there", between="rm -rf .git; git init -q -b main; git add -A; git commit -qm new", exit=2,
         says="the chain of this run is not what its record says"),
    dict(why="the work tree was removed and added again", worktree=True, between="cd ../../work/top; git worktree remove --force ../project; git "
         "worktree add -q ../project side; cd ../project; echo two > a.txt"),
]


def legs(lab, row):
    if row.get("worktree"):
        top = os.path.join(os.path.dirname(lab.ws), "top")
        os.rmdir(lab.ws)
        os.makedirs(top)
        sh(lab, "git init -q -b main; echo one > a.txt; git add -A; git commit -qm start; git worktree add -q ../project -b side", cwd=top)
    elif row.get("unborn"):
        sh(lab, "git init -q -b main; echo one > a.txt; git add a.txt")
    else:
        sh(lab, "git init -q -b main; echo one > a.txt; git add -A; git commit -qm start; " + row.get("base", "true"))
    lab.mock(dict(script(EDIT, AGAIN, finish()), order="depth"), top="git.require_clean_worktree = false")
    r = lab.run("count up", "--run-id", "mine", "--max-iterations", "1")
    assert r.returncode == 1 and lab.read("a.txt") == "two\n", r.both


@pytest.mark.parametrize("row", ROWS, ids=[r["why"] for r in ROWS])
def test_a_run_goes_on_whatever_became_of_its_repository_or_says_why_not(lab, row):
    legs(lab, row)
    sh(lab, row.get("between", "true"))
    same = row.get("same", "true")
    before = sh(lab, same)
    r = lab.agent6("resume", "--auto-approve", "mine")
    assert r.returncode == row.get("exit", 0) and row.get("says", "") in r.both, r.both
    assert sh(lab, same) == before
    if r.returncode == 0:
        assert lab.read("a.txt") == "three\n"
        assert sh(lab, "git show refs/agent6/mine/head:a.txt") == "three\n"
        assert lab.agent6("replay", "mine").returncode == 0
    assert lab.agent6("runs", "verify", "mine").returncode == 0


def test_a_clock_that_was_set_back_confuses_nobody(lab):
    legs(lab, {})
    run = lab.run_dirs()[-1]
    record = os.path.join(run, "record")
    for name in ("logs.jsonl", "manifest.json"):  # as a clock five years ahead would have written them
        path = os.path.join(record, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r'("(?:ts|start_ts)": ?")(\d{4})', lambda m: m[1] + str(int(m[2]) + 5), text))
    rehash(record)
    for folder, _, names in os.walk(run):
        for name in names:
            os.utime(os.path.join(folder, name), (2e9, 2e9))
    assert lab.agent6("runs", "verify", "mine").returncode == 0
    assert "ago" in lab.agent6("runs", "show", "mine").out and "-" not in lab.agent6("runs", "show", "mine").out.split("last event:")[1].split("ago")[0]
    r = lab.agent6("resume", "--auto-approve", "mine")
    assert r.returncode == 0 and lab.read("a.txt") == "three\n", r.both
    assert lab.agent6("runs", "verify", "mine").returncode == 0 and lab.agent6("replay", "mine").returncode == 0
    shown = json.loads(lab.agent6("runs", "show", "mine", "--json").out)
    assert shown["status"] == "finished" and shown["elapsed_s"] >= 0 and shown["last_event_age_s"] >= 0, shown
    assert lab.agent6("runs", "prune", "--older-than", "1", "--unmerged").returncode == 0
    assert os.path.exists(record), "what is young by the clock of then is not pruned by the clock of now"
    assert lab.agent6("history", "search", "count up").returncode == 0

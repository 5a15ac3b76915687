# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Whose a repository is: agent6 works where the person's own git would, and refuses where that does. Each row is asked of
plain git as well. Owners can be given away by root alone, so the rows are played as root, by root and by an ordinary user."""
import contextlib
import os
import subprocess

import pytest

from conftest import AGENT6, call, finish, new_lab, script, turn

OTHER, THIRD = 64123, 64124
STEP = turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}]))
LIST_MAX = 16000  # ANSWER_MAX of src/role/spawner.c
# why; whose the work tree and its .git are; who runs; what the person said; whether it is refused. DIR is the work tree.
ROWS = [
    dict(why="one's own, as root", owner=0, user=0, refused=False),
    dict(why="one's own, as a user", owner=OTHER, user=OTHER, refused=False),
    dict(why="a user's, as root", owner=OTHER, user=0, refused=True),
    dict(why="root's, as a user", owner=0, user=OTHER, refused=True),
    dict(why="another user's", owner=THIRD, user=OTHER, refused=True),
    dict(why="only .git is another one's", owner=0, git=OTHER, user=0, refused=True),
    dict(why="only the work tree is another one's", owner=OTHER, git=0, user=0, refused=True),
    dict(why="of whoever called sudo", owner=OTHER, user=0, env=dict(SUDO_UID=str(OTHER)), refused=False),
    dict(why="root's, called with sudo", owner=0, user=0, env=dict(SUDO_UID=str(OTHER)), refused=False),
    dict(why="not of whoever called sudo", owner=OTHER, user=0, env=dict(SUDO_UID=str(THIRD)), refused=True),
    dict(why="sudo counts for root alone", owner=THIRD, user=OTHER, env=dict(SUDO_UID=str(THIRD)), refused=True),
    dict(why="named by root", owner=OTHER, user=0, safe=["DIR"], refused=False),
    dict(why="named by a user", owner=0, user=OTHER, safe=["DIR"], refused=False),
    dict(why="another place is named", owner=0, user=OTHER, safe=["/elsewhere", "DIR2"], refused=True),
    dict(why="every place", owner=0, user=OTHER, safe=["*"], refused=False),
    dict(why="named and forgotten", owner=0, user=OTHER, safe=["DIR", ""], refused=True),
    dict(why="all below a place", owner=0, user=OTHER, safe=["UP/*"], refused=False, new=True),
    dict(why="from the home directory", owner=0, user=OTHER, safe=["~/../work/project"], refused=False, new=True),
    dict(why="in a file that is included", owner=0, user=OTHER, include=["DIR"], refused=False),
    dict(why="in the system's configuration", owner=0, user=OTHER, system=["DIR"], refused=False),
    dict(why="for this call alone", owner=0, user=OTHER, env=dict(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory",
                                                                  GIT_CONFIG_VALUE_0="*"), refused=False),
    dict(why="by the repository itself", owner=0, user=OTHER, local=["*"], refused=True),
    # What git prints of it is read to a limit, and what was cut is not believed: its end may say something else.
    dict(why="in a list as long as is read", owner=0, user=OTHER, safe=["DIR"], bytes=LIST_MAX - 1, refused=False),
    dict(why="in a longer list", owner=0, user=OTHER, safe=["DIR"], bytes=LIST_MAX, refused=True, new=True),
    dict(why="in a list that is far too long", owner=0, user=OTHER, safe=["DIR"], bytes=4 * LIST_MAX, refused=True, new=True),
    dict(why="forgotten at the end of a list that is far too long", owner=0, user=OTHER, safe=["*"], bytes=4 * LIST_MAX, last=[""],
         refused=True),
    dict(why="a linked work tree", owner=OTHER, linked=True, user=0, refused=True),
]


def give(path, uid):
    for top, dirs, files in os.walk(path):
        for name in dirs + files:
            os.lchown(os.path.join(top, name), uid, uid)
    os.chown(path, uid, uid)


def say(lab, path, values):
    with open(path, "a", encoding="utf-8") as f:
        for v in values:
            f.write(f"[safe]\n\tdirectory = {v.replace('DIR', lab.ws).replace('UP', os.path.dirname(lab.ws))}\n")


def fill(lab, row):
    """Values that name nothing, for as many bytes of git's answer as the row wants in all: each of them ends with a NUL there."""
    left = row.get("bytes", 0) - sum(len(v.replace("DIR", lab.ws)) + 1 for v in row.get("safe", []))
    lines = []
    while left > 0:
        n = left if left <= 1000 else 500
        lines.append("/" + "x" * (n - 2))
        left -= n
    return lines


def prepare(lab, row):
    """The repository with a run in it, then given away; what runs agent6 and git there."""
    lab.env.update(row.get("env", {}))
    say(lab, lab.home + "/.gitconfig", row.get("safe", []) + fill(lab, row) + row.get("last", []))
    for kind, path in (("include", lab.home + "/include"), ("system", lab.home + "/system"), ("local", lab.ws + "/.git/config")):
        if kind in row:
            say(lab, path, row[kind])
    if "include" in row:
        lab.git("config", "--global", "include.path", "include")
    lab.env.update({"GIT_CONFIG_SYSTEM": lab.home + "/system"} if "system" in row else {})
    give(lab.home, row["user"])
    give(lab.ws, row["owner"])
    if "git" in row:
        give(lab.ws + "/.git", row["git"])
    for folder in (lab.folder, os.path.dirname(lab.ws)):
        os.chmod(folder, 0o755)

    def act(*argv, **kw):
        who = dict(user=row["user"], group=row["user"], extra_groups=[]) if row["user"] else {}
        return subprocess.run(argv, cwd=kw.get("cwd", lab.ws), env=lab.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, **who)
    return act


@contextlib.contextmanager
def as_root():
    if os.geteuid() != 0:
        pytest.skip("what belongs to somebody else is made as root")
    with new_lab() as lab:
        yield lab


@pytest.mark.parametrize("row", ROWS, ids=[r["why"] for r in ROWS])
def test_a_repository_of_somebody_else_is_worked_in_where_git_would(row):
    with as_root() as lab:
        lab.repo(a_DOT_txt="one\n")
        if row.get("linked"):
            os.rename(lab.ws, lab.ws + "-main")
            subprocess.run(["git", "-C", lab.ws + "-main", "worktree", "add", "-q", lab.ws, "-b", "side"], env=lab.env, check=True)
        lab.mock(script(STEP, finish()))
        act = prepare(lab, row)
        git = act("git", "status")
        if not row.get("new"):  # an older git does not know of it
            assert ("dubious ownership" in git.stderr) == row["refused"], git
        r = act(AGENT6, "run", "--auto-approve", "do it")
        if not row["refused"]:
            assert r.returncode == 0, r
            return
        assert r.returncode == 2 and "belongs to user" in r.stderr, r
        assert f"git config --global --add safe.directory '{lab.ws}'" in r.stderr, r
        assert lab.run_dirs() == [] and act(AGENT6, "runs", "list", "--json").stdout.strip() == "[]"


COMMANDS = [["run", "--auto-approve", "x"], ["plan", "x"], ["ask", "x"], ["review", "x"], ["init", "--yes"], ["exec", "--", "true"],
            ["prompt", "show"], ["resume", "ID"], ["runs", "merge", "ID"], ["runs", "diff", "ID"], ["runs", "commits", "ID"],
            ["fork", "ID", "--no-run"], ["runs", "rm", "ID"]]


def test_every_command_that_works_in_a_repository_refuses_that_of_somebody_else():
    with as_root() as lab:
        lab.repo(a_DOT_txt="one\n")
        lab.mock(script(*[STEP, finish()] * len(COMMANDS)))
        assert lab.run().returncode == 0
        one = os.path.basename(lab.run_dirs()[0])
        lab.git("checkout", "-q", "main")
        before = lab.git("for-each-ref")
        act = prepare(lab, dict(owner=OTHER, user=0))
        for words in COMMANDS:
            r = act(AGENT6, *[one if w == "ID" else w for w in words])
            assert r.returncode == 2 and "belongs to user 64123, and you are user 0" in r.stderr, (words, r)
        assert "belongs to user" in act(AGENT6, "check", "config").stdout
        assert len(lab.run_dirs()) == 1  # nothing was made, nothing taken away
        act("git", "config", "--global", "--add", "safe.directory", lab.ws)
        assert act("git", "for-each-ref").stdout == before and act("git", "status", "--porcelain").stdout == " M a.txt\n"
        for words in COMMANDS:  # and when the person trusts it they work
            if words[0] in ("exec", "runs"):
                r = act(AGENT6, *[one if w == "ID" else w for w in words])
                assert r.returncode == 0, (words, r)


INITS = [dict(why="a user's, named by root", owner=OTHER, user=0, safe=["DIR"]),
         dict(why="of whoever called sudo", owner=OTHER, user=0, env=dict(SUDO_UID=str(OTHER))),
         dict(why="root's, named by a user", owner=0, user=OTHER, safe=["DIR"])]


@pytest.mark.parametrize("mode", [0o755, 0o700], ids=oct)
@pytest.mark.parametrize("row", INITS, ids=[r["why"] for r in INITS])
def test_init_adds_its_files_as_whose_the_repository_is_or_says_who_may(row, mode):
    """Root gives its capabilities up before it reads what is in the repository, and may touch nothing of another's then."""
    with as_root() as lab:
        lab.repo(Makefile="test:\n\ttrue\n")
        act = prepare(lab, row)
        os.chmod(lab.ws, mode if row["owner"] else 0o755)
        r = act(AGENT6, "init", "--yes")
        if row["owner"] == 0:
            assert r.returncode == 2 and "Permission denied" in r.stderr and "run it as user 0, whose directory that is" in r.stderr, r
            return
        assert r.returncode == 0 and "left alone" not in r.stderr and "make test" in r.stdout, r
        for name in (".gitignore", "AGENTS.md"):
            st = os.lstat(os.path.join(lab.ws, name))
            assert (st.st_uid, st.st_gid, st.st_mode & 0o777) == (OTHER, OTHER, 0o644), (name, st)


def test_what_the_persons_configuration_includes_says_who_they_are(lab):
    lab.repo(a_DOT_txt="one\n")
    m = lab.mock(script(STEP, finish()))
    with open(lab.home + "/.config/agent6/config.toml", encoding="utf-8") as f:
        text = f.read().replace('name = "Lab"\nemail = "lab@example.invalid"\n', "")
    lab.config(text)
    with open(lab.home + "/.gitconfig", "w", encoding="utf-8") as f:
        f.write("[include]\n\tpath = me\n")
    with open(lab.home + "/me", "w", encoding="utf-8") as f:
        f.write("[user]\n\tname = Included One\n\temail = one@example.invalid\n")
    r = lab.run()
    assert r.returncode == 0, r.both
    one = os.path.basename(lab.run_dirs()[0])
    assert lab.git("log", "-1", "--format=%an %ae", f"refs/agent6/{one}/head") == "Included One one@example.invalid\n"
    assert m.model_requests()

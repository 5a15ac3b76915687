# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Where agent6 keeps what it believes: nobody else may be able to put something else there. What a person's directories look like
where that is so, and in the ways they are laid out that have to work."""
import os
import shutil
import stat

import pytest

from conftest import call, finish, script, turn

FOREIGN = 64123
STEP = turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}]))
COMMANDS = [["run", "--auto-approve", "x"], ["config", "show"], ["config", "set", "budget.max_usd", "7"], ["runs", "list"], ["resume"],
            ["memory", "list"], ["skills", "list"], ["connect", "other", "--format", "openai", "--base-url", "http://127.0.0.1:9/v1", "--no-verify"], ["init", "--yes"],
            ["ask", "x"], ["exec", "--", "true"], ["check", "config"]]


def tree(top):
    """Everything there is, by name and content."""
    found = {}
    for here, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(here, name)
            with open(path, "rb") if os.path.isfile(path) else open(os.devnull, "rb") as f:
                found[path] = f.read()
    return found


@pytest.fixture
def told(lab):
    """A lab in which a run was made, so that every directory is there."""
    lab.repo(a_DOT_txt="one\n")
    lab.mock(script(STEP, finish(), finish()))
    os.makedirs(lab.home + "/.cache/agent6")
    os.makedirs(lab.home + "/.local/share/agent6")
    for top in (lab.home, lab.home + "/.config", lab.home + "/.local", lab.home + "/.local/share", lab.home + "/.cache"):
        os.chmod(top, 0o755)
    r = lab.run()
    assert r.returncode == 0, r.both
    return lab


@pytest.mark.parametrize("name", [".config/agent6", ".config", "", ".local", ".local/state", ".local/state/agent6", ".local/state/agent6/REPO",
                                  ".local/share", ".local/share/agent6", ".cache", ".cache/agent6", ".config/agent6/config.toml"])
def test_what_everybody_may_replace_is_refused_with_the_command_that_mends_it(told, name):
    path = os.path.join(told.home, name).rstrip("/").replace("REPO", os.listdir(told.home + "/.local/state/agent6")[0])
    was = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, was | 0o022)
    before = tree(told.home)
    for words in COMMANDS if name in (".config/agent6", ".local/state/agent6") else COMMANDS[:1]:
        r = told.agent6(*words, stdin="sk-1\n")
        assert r.returncode in (1, 2) and f"{path} can be written by everybody (mode {was | 0o022:04o})" in r.both, (words, r.both)
        assert words[0] == "check" or f"chmod go-w {path}" in r.err, (words, r.both)
    assert tree(told.home) == before
    os.chmod(path, was & ~0o022)
    assert told.agent6("runs", "list").returncode == 0


def test_a_place_of_ones_own_group_goes_on_working_and_one_of_another_group_does_not(told):
    """As where umask is 002, since each person has a group of their own."""
    for name in ("", ".config", ".config/agent6", ".config/agent6/config.toml", ".local/state/agent6"):
        path = os.path.join(told.home, name).rstrip("/")
        os.chmod(path, os.stat(path).st_mode | 0o020)
    r = told.agent6("runs", "list")
    assert r.returncode == 0, r.both
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another group; the tests run as root too")
    os.chown(told.home + "/.config", -1, FOREIGN)
    os.chmod(told.home + "/.config", 0o775)
    r = told.agent6("runs", "list")
    assert r.returncode == 2 and f"/.config can be written by others of group {FOREIGN} (mode 0775)" in r.err, r.both
    assert f"chmod g-w {told.home}/.config" in r.err, r.both


@pytest.mark.parametrize("name", ["", ".config/agent6", ".local/state", ".local/share/agent6"])
def test_a_directory_of_somebody_else_is_refused_as_where_root_has_a_users_home(told, name):
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away; the tests run as root too")
    path = os.path.join(told.home, name).rstrip("/")
    os.chown(path, FOREIGN, FOREIGN)
    r = told.run()
    assert r.returncode == 2 and f"{path} belongs to user {FOREIGN}, and you are user 0" in r.err and "sudo -H" in r.err, r.both
    assert len(told.run_dirs()) == 1


@pytest.mark.parametrize("where", ["within", "outside"])
def test_dotfiles_behind_a_link_work_and_count_where_they_are(told, where):
    """As stow lays them out."""
    top = told.home if where == "within" else told.folder
    dots = os.path.join(top, "dotfiles")
    os.makedirs(dots, mode=0o755)
    shutil.move(told.home + "/.config/agent6", dots + "/agent6")
    os.symlink(os.path.relpath(dots + "/agent6", told.home + "/.config"), told.home + "/.config/agent6")
    assert told.agent6("config", "show").returncode == 0
    r = told.agent6("config", "set", "budget.max_usd", "7")
    assert r.returncode == 0 and os.path.islink(told.home + "/.config/agent6"), r.both
    os.chmod(dots, 0o777)
    r = told.agent6("config", "show")
    assert r.returncode == 2 and f"{dots} can be written by everybody" in r.err, r.both


def test_a_sticky_directory_on_the_way_is_no_harm(told):
    os.chmod(told.home, 0o1777)
    assert told.agent6("runs", "list").returncode == 0


def test_a_stored_key_is_read_from_where_others_cannot_put_another(told):
    r = told.agent6("connect", "other", "--format", "openai", "--base-url", "http://127.0.0.1:9/v1", "--no-verify", stdin="sk-1\n")
    keys = told.home + "/keys"
    os.makedirs(keys)
    shutil.move(told.home + "/.config/agent6/secrets.toml", keys + "/secrets.toml")
    os.symlink("../../keys/secrets.toml", told.home + "/.config/agent6/secrets.toml")
    os.chmod(keys, 0o777)
    before = tree(told.home)
    for words in (["check", "config"], ["connect", "other", "--format", "openai", "--base-url", "http://127.0.0.1:9/v1", "--no-verify"]):
        r = told.agent6(*words, stdin="sk-2\n")
        assert f"{keys} can be written by everybody" in r.both, (words, r.both)
    assert tree(told.home) == before

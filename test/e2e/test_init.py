# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""agent6 init: adds, never replaces; leaves what is not its own alone."""
import os
import subprocess

import pytest

from conftest import AGENT6, finish, script


def init(lab, *args):
    return subprocess.run([AGENT6, "init", *args], cwd=lab.ws, env=lab.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def get(lab, key):
    return subprocess.run([AGENT6, "config", "get", key], cwd=lab.ws, env=lab.env, capture_output=True, text=True).stdout


def test_a_project_gets_its_gate_its_ignored_files_and_notes_and_a_second_time_changes_nothing(lab):
    lab.repo(Makefile="test:\n\ttrue\n", _DOT_gitignore="*.o\n.env", package_DOT_json="{}\n")
    r = init(lab, "--yes")
    assert r.returncode == 0, r.stderr
    assert "make test" in r.stdout and "Makefile:test" in r.stdout and '["make", "test"]' in get(lab, "workflow.verify_command")
    ignored = lab.read(".gitignore")
    assert ignored.startswith("*.o\n.env\n") and ignored.count("\n.env\n") == 1 and "node_modules/\n" in ignored
    assert "## Verify\n\n```sh\nmake test\n```\n" in lab.read("AGENTS.md")
    before = {n: lab.read(n) for n in (".gitignore", "AGENTS.md")}
    head = lab.git("rev-parse", "HEAD")
    r = init(lab, "--yes")
    assert r.returncode == 0 and "0 lines added" in r.stdout and "as it was" in r.stdout
    assert {n: lab.read(n) for n in before} == before and lab.git("rev-parse", "HEAD") == head
    assert not any(n.endswith(".toml") for n in os.listdir(lab.ws))


def test_what_is_no_file_of_the_repository_is_left_alone(lab):
    outside = os.path.join(lab.folder, "outside")
    with open(outside, "w", encoding="utf-8") as f:
        f.write("mine\n")
    lab.repo(a="1\n")
    os.symlink(outside, os.path.join(lab.ws, ".gitignore"))
    os.mkfifo(os.path.join(lab.ws, "AGENTS.md"))
    r = init(lab, "--yes", "--ecosystem", "rust")
    assert r.returncode == 0, r.stderr
    assert r.stderr.count("left alone") == 2
    with open(outside, encoding="utf-8") as f:
        assert f.read() == "mine\n"


@pytest.mark.parametrize("args,word", [((), "agent6 init --yes"), (("--yes", "--ecosystem", "ruby"), "not one of py, rust, node")])
def test_it_asks_first_and_knows_its_words(lab, args, word):
    lab.repo(a="1\n")
    r = init(lab, *args)
    assert r.returncode == 2 and word in r.stderr
    assert sorted(os.listdir(lab.ws)) == [".git", "a"]


@pytest.mark.parametrize("mode", [0o000, 0o111, 0o444], ids=oct)
def test_a_directory_that_its_owner_closed_is_said_as_that(lab, mode):
    if os.geteuid() == 0:
        pytest.skip("root opens every directory; an ordinary user tries it in the other half")
    lab.repo(a="1\n")
    lab.mock(script(finish()))
    assert lab.run("nothing", "--run-id", "mine").returncode == 0
    for words in (["run", "--auto-approve", "x"], ["ask", "why"], ["exec", "true"], ["init", "--yes"], ["prompt", "show"],
                  ["runs", "merge", "mine"], ["runs", "list"]):
        # Who stands in it may still be there when it closes.
        r = subprocess.run(["sh", "-c", 'chmod "$0" "$PWD" && exec "$@"', f"{mode:o}", AGENT6, *words], cwd=lab.ws, env=lab.env,
                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
        os.chmod(lab.ws, 0o755)
        if words == ["runs", "list"]:
            assert r.returncode == 0 and "mine" in r.stdout, r.stderr
            continue
        assert r.returncode == 2 and f"{lab.ws} cannot be read and entered by this user" in r.stderr, (words, r.stderr)
        assert f"chmod u+rx {lab.ws}" in r.stderr, r.stderr
    assert len(lab.run_dirs()) == 1

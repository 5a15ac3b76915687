# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What agent6 gives the shell, tried in real shells."""
import json
import os
import shutil
import subprocess
import uuid

import pytest

from conftest import AGENT6, BUILD, finish, missing, script


def run(lab, *args, **env):
    return subprocess.run([AGENT6, *args], cwd=lab.ws, env={**lab.env, **env}, capture_output=True, text=True)


START = {
    "bash": ["bash", "-i"],
    "zsh": ["zsh", "-i"],
    "fish": ["fish", "-i"],
}


@pytest.fixture
def shell(lab):
    """Starts a shell as a person does, in a tmux of its own, with agent6 in its PATH."""
    names = []

    def start(kind):
        if not shutil.which(kind):
            missing(f"{kind} is not installed")
        name = "agent6-" + uuid.uuid4().hex[:8]
        env = dict(lab.env, PATH=BUILD + ":" + os.environ["PATH"], SHELL=shutil.which(kind), PS1="ready> ")
        subprocess.run(["env", "-i", *[f"{k}={v}" for k, v in env.items()], "tmux", "-L", name, "-f", "/dev/null", "new-session",
                        "-d", "-x", "120", "-y", "40", *START[kind]], cwd=lab.ws, check=True)
        names.append(name)

        def tmux(*args):
            return subprocess.run(["tmux", "-L", name, *args], capture_output=True, text=True).stdout
        return tmux
    yield start
    for name in names:
        subprocess.run(["tmux", "-L", name, "kill-server"], capture_output=True)


@pytest.mark.parametrize("kind", START)
def test_a_shell_completes_verbs_flags_and_the_ids_of_this_repository(lab, shell, kind):
    lab.repo(a="1\n")
    lab.mock(script(finish()), extra='[mcp.files]\ncommand = ["/bin/cat"]\nenabled = false\n')
    lab.run("nothing", "--run-id", "calm-fox-1234")
    skill = os.path.join(lab.folder, "ringing", "SKILL.md")
    os.makedirs(os.path.dirname(skill))
    with open(skill, "w", encoding="utf-8") as f:
        f.write("---\nname: ringing\ndescription: how it rings\n---\nRing.\n")
    assert run(lab, "skills", "install", skill).returncode == 0
    assert "mock-small" in run(lab, "model", "worker", "mock").stdout  # kept: a shell asks nobody
    r = run(lab, "completions", kind)
    assert r.returncode == 0, r.stderr
    if kind == "zsh":  # what a person's own start file does
        with open(os.path.join(lab.home, ".zshrc"), "r+", encoding="utf-8") as f:
            old = f.read()
            f.seek(0)
            f.write("autoload -Uz compinit && compinit -u -D\nPROMPT='ready> '\n" + old)
    tmux = shell(kind)

    def screen():
        return tmux("capture-pane", "-p").replace("\n", " ")

    lab.wait_for(lambda: screen().strip())  # a prompt
    for keys, wanted in (("agent6 config set sandbox.prof", "sandbox.profile"), ("hard", "hardened")):
        tmux("send-keys", "-l", "--", keys)
        lab.wait_for(lambda k=keys: k in screen())
        tmux("send-keys", "Tab")
        lab.wait_for(lambda w=wanted: w in screen())
    tmux("send-keys", "C-u")
    tmux("send-keys", "-l", "--", "agent6 run --preset para")
    lab.wait_for(lambda: "--preset para" in screen())
    tmux("send-keys", "Tab")
    lab.wait_for(lambda: "paranoid" in screen())
    for keys, wanted in (("agent6 config unset mcp.fi", "mcp.files"), ("agent6 mcp connect fi", "connect files"),
                         ("agent6 run --skill ringi", "--skill ringing"), ("agent6 skills disable ringi", "disable ringing"),
                         ("agent6 model worker mock mock-sm", "mock-small"), ("agent6 prompt show --role plan", "--role planner"),
                         ("agent6 connect anthr", "connect anthropic")):
        tmux("send-keys", "C-u")
        lab.wait_for(lambda k=keys: k not in screen())
        tmux("send-keys", "-l", "--", keys)
        lab.wait_for(lambda k=keys: k in screen())
        tmux("send-keys", "Tab")
        lab.wait_for(lambda w=wanted: w in screen())
    tmux("send-keys", "C-u")
    for keys, wanted in (("agent6 runs mer", "runs merge"), ("--strat", "--strategy"), ("squ", "squash"), ("cal", "calm-fox-1234")):
        tmux("send-keys", "-l", "--", keys)
        lab.wait_for(lambda k=keys: k in screen())
        tmux("send-keys", "Tab")
        lab.wait_for(lambda w=wanted: w in screen())


@pytest.mark.parametrize("kind,rc", [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_completions_adds_one_block_and_leaves_the_rest_of_a_start_file(lab, kind, rc):
    real = os.path.join(lab.folder, "dotfiles")
    with open(real, "w", encoding="utf-8") as f:
        f.write("mine=1")  # without a newline at the end
    os.chmod(real, 0o640)
    os.symlink(real, os.path.join(lab.home, rc))
    for _ in range(2):
        assert run(lab, "completions", kind).returncode == 0
    with open(real, encoding="utf-8") as f:
        text = f.read()
    assert text.startswith("mine=1\n# >>> agent6 completions >>>\n. '") and text.count(">>>") == 2
    assert os.path.islink(os.path.join(lab.home, rc)) and os.stat(real).st_mode & 0o777 == 0o640
    with open(real, "a", encoding="utf-8") as f:
        f.write("after=1\n")
    assert run(lab, "completions", kind).returncode == 0
    with open(real, encoding="utf-8") as f:
        assert f.read() == text + "after=1\n"
    with open(real, "w", encoding="utf-8") as f:
        f.write("# >>> agent6 completions >>>\n")
    r = run(lab, "completions", kind)
    assert r.returncode == 2 and "remove what is left" in r.stderr
    with open(real, encoding="utf-8") as f:
        assert f.read() == "# >>> agent6 completions >>>\n"


def test_print_writes_nothing_and_an_unknown_shell_is_named(lab):
    r = run(lab, "completions", "bash", "--print")
    assert r.returncode == 0 and "complete -o default -F _agent6 agent6" in r.stdout
    assert os.listdir(lab.home) == []
    r = run(lab, "completions", "tcsh")
    assert r.returncode == 2 and '"tcsh" is not one of bash, zsh, fish' in r.stderr
    r = run(lab, "completions", "--print", SHELL="/usr/bin/fish")  # started by python: SHELL decides
    assert r.returncode == 0 and "fish" in r.stdout


def test_the_manual_reads_as_a_manual(lab):
    r = run(lab, "man")
    assert r.returncode == 0
    if not shutil.which("mandoc"):
        missing("mandoc is not installed")
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "error"], input=r.stdout, capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout
    shown = subprocess.run(["mandoc", "-T", "html"], input=r.stdout, capture_output=True, text=True).stdout
    assert "runs merge [flags] [ID]" in shown


def candidates(lab, *words):
    r = run(lab, "complete", "--", *words)
    assert r.returncode == 0, r.stderr
    return dict(line.split("\t", 1) for line in r.stdout.splitlines())


def test_personas_are_completed_behind_each_comma_and_notes_by_their_id(lab):
    lab.repo(a="1\n")
    one = candidates(lab, "review", "--personas", "")
    assert {"security", "correctness", "tests"} <= set(one)
    assert set(candidates(lab, "review", "--personas", "security,")) == {"security," + p for p in one if p != "security"}
    assert list(candidates(lab, "review", "--personas", "security,te")) == ["security,tests"]
    assert list(candidates(lab, "review", "--personas", "security,sec")) == []
    assert candidates(lab, "memory", "show", "") == {}
    ids = [json.loads(run(lab, "memory", "add", "build", text, "--json").stdout)["id"] for text in ("make\x1b[31m\nit so", "no longer so")]
    assert run(lab, "memory", "invalidate", ids[1], "moved").returncode == 0
    for verb in ("show", "invalidate", "rm"):
        found = candidates(lab, "memory", verb, "")
        assert list(found) == ids[:1] and "make" in found[ids[0]] and "\x1b" not in found[ids[0]], found
    assert list(candidates(lab, "memory", "show", ids[0][:3])) == ids[:1]


def test_branches_are_completed_loose_and_packed_and_nothing_that_is_no_branch(lab):
    lab.repo(a="1\n")
    for name in ("old/one", "two"):
        lab.git("branch", name)
    lab.git("pack-refs", "--all")
    lab.git("branch", "new/three")
    heads = os.path.join(lab.ws, ".git", "refs", "heads")
    for name in ("$(touch${IFS}pwned)", "`id`", "a;id", "a|id", "x'y", 'x"y', "a&b", "<x", "!x", "{a,b}", "\u202eabc", "\u009bm"):
        lab.git("branch", name)  # a shell would read more than a word, a person another one
    lab.git("branch", "größe")
    for name in ("a b", "x\ny\tz", "e\x1b[31m", "f.lock"):
        with open(os.path.join(heads, name), "w", encoding="ascii") as f:
            f.write("0" * 40 + "\n")
    os.symlink(os.path.join(lab.ws, "a"), os.path.join(heads, "link"))
    assert set(candidates(lab, "runs", "merge", "--into", "")) == {"main", "old/one", "two", "new/three", "größe"}
    assert set(candidates(lab, "runs", "merge", "--into", "old")) == {"old/one"}
    os.unlink(os.path.join(lab.ws, ".git", "packed-refs"))
    os.mkfifo(os.path.join(lab.ws, ".git", "packed-refs"))
    assert set(candidates(lab, "runs", "merge", "--into", "n")) == {"new/three"}

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What is granted, and what no grant reaches: agent6's own keys, configuration and records."""
import json
import os
import shutil
import socket
import subprocess

import pytest

from conftest import call, finish, script, turn

LOOK = "cat {home}/.config/agent6/* {home}/.local/state/agent6/*/runs/*/record/manifest.json; ls -A {home}/.config/agent6 {home}/.local/state/agent6"
TAKE = ("mv {home}/.config {home}/c; mv {home}/.config/agent6 {home}/a; rm -rf {home}/.config {home}/.local; mkdir -p {home}/.config/agent6; "
        "echo '[sandbox]' > {home}/.config/agent6/config.toml; echo x > {home}/.local/state/agent6/x; cat {home}/c/agent6/*")


@pytest.mark.parametrize("key, where", [("extra_read_paths", ""), ("extra_read_paths", "/.config"), ("extra_write_paths", ""),
                                        ("extra_write_paths", "/.local/state"), ("extra_write_paths", "/.config")])
def test_a_grant_around_what_is_agent6s_own_shows_and_changes_none_of_it(lab, key, where):
    lab.repo(a="1\n")
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", LOOK.format(home=lab.home)])),
                    turn(call("run_command", argv=["sh", "-c", TAKE.format(home=lab.home)])),
                    turn(call("read_file", path=f"{lab.home}/.config/agent6/config.toml"), call("list_dir", path=lab.home + where)),
                    turn(call("apply_edit", path=f"{lab.home}/.config/agent6/new", edits=[{"old_string": "", "new_string": "x"}])),
                    finish()))
    path = os.path.join(lab.home, ".config", "agent6", "config.toml")
    lab.write(os.path.join(lab.home, "beside"), "seen\n")
    with open(path, "a", encoding="utf-8") as f:
        f.write(f"\n[sandbox]\nrun_commands = \"yes\"\n{key} = [\"{lab.home}{where}\"]\n# CANARY-31c\n")
    with open(path, encoding="utf-8") as f:
        before = f.read()
    secrets = os.path.join(os.path.dirname(path), "secrets.toml")
    lab.write(secrets, "# CANARY-31c\n", 0o600)
    r = lab.run()
    assert r.returncode == 0, r.both
    said = "".join(str(x["body"]["messages"]) for x in m.model_requests())
    assert "CANARY-31c" not in said and "run_id" not in said and "mock-model" not in said, said
    with open(path, encoding="utf-8") as f:
        assert f.read() == before
    assert sorted(os.listdir(os.path.dirname(path))) == ["config.toml", "secrets.toml"]
    assert not os.path.exists(os.path.join(lab.home, ".local", "state", "agent6", "x"))
    assert lab.agent6("runs", "verify").returncode == 0


@pytest.mark.parametrize("key, path, says", [
    ("extra_write_paths", "/", "is the whole machine"),
    ("extra_read_paths", "/", "is the whole machine"),
    ("hide_paths", "/", "is the whole machine"),
    ("extra_write_paths", "/usr/share", "part of the system"),
    ("extra_read_paths", "/proc", "a /proc of their own"),
    ("extra_read_paths", "~/.config/agent6", "lies in the configuration directory"),
    ("extra_write_paths", "~/.local/state/agent6/x", "lies in the state directory"),
    ("extra_write_paths", "~/.local/share/agent6/skills", "lies in the data directory"),
])
def test_a_grant_that_cannot_be_given_is_refused_by_the_name_of_its_key(lab, key, path, says):
    lab.repo(a="1\n")
    lab.config(f"sandbox.{key} = [\"{path}\"]\n")
    r = lab.agent6("exec", "--", "true")
    assert r.returncode == 2 and f"sandbox.{key}" in r.err and says in r.err and "policy" not in r.err, r.both
    assert (lab.agent6("check", "config").returncode == 1) == (says.startswith(("is the", "part", "a /proc")))


def test_what_an_explanation_says_is_what_makes_it_work(lab):
    """One follows them, one after the other, as a person does, and takes nothing back in between."""
    lab.repo(a="1\n", secret="s\n")
    lab.write(os.path.join(lab.home, "kept", "f"), "kept\n")
    listener = socket.create_server(("127.0.0.1", 0))
    steps = [  # a command; what its explanation names; what is done about it
        (f"cat {lab.home}/kept/f", "sandbox.extra_read_paths", ("add", "sandbox.extra_read_paths", f"{lab.home}/kept")),
        (f"echo new > {lab.home}/kept/new", "sandbox.extra_write_paths", ("add", "sandbox.extra_write_paths", f"{lab.home}/kept")),
        ("git -c user.name=x -c user.email=x commit -q --allow-empty -m x", "sandbox.protect_git", ("set", "sandbox.protect_git", "false")),
        ("cat secret/x", "sandbox.hide_paths", ("remove", "sandbox.hide_paths", f"{lab.ws}/secret")),
        (f"bash -c ': > /dev/tcp/127.0.0.1/{listener.getsockname()[1]}'", "sandbox.tool_network", ("set", "sandbox.tool_network", "allow")),
    ]
    os.unlink(os.path.join(lab.ws, "secret"))
    lab.write("secret/x", "s\n")
    lab.config("")
    assert lab.agent6("config", "add", "sandbox.hide_paths", f"{lab.ws}/secret").returncode == 0
    for line, key, todo in steps:
        r = lab.agent6("exec", "sh", "-c", line)
        assert r.returncode not in (0, 2) or "[agent6] jail: " in r.err, (line, r.both)
        assert key in r.err.split("[agent6] jail: ")[1], (line, r.both)
        r = lab.agent6("config", *todo)
        assert r.returncode == 0, r.both
        r = lab.agent6("exec", "sh", "-c", line)
        assert r.returncode == 0 and "jail" not in r.err, (line, r.both)
    assert lab.read(os.path.join(lab.home, "kept", "new")) == "new\n"


@pytest.mark.parametrize("who", ["commands", "a server"])
def test_a_grant_around_the_skills_leaves_them_the_operators(lab, who):
    lab.repo(a="1\n")
    data = os.path.join(lab.home, ".local", "share", "agent6")
    plant = f"mkdir -p {data}/skills/x; echo x > {data}/skills/x/SKILL.md; echo x > {lab.home}/.local/seen"
    if who == "commands":
        lab.mock(script(turn(call("run_command", argv=["sh", "-c", plant])), finish()), top=f'sandbox.extra_write_paths = ["{lab.home}/.local"]')
    else:
        lab.mock(script(finish()), extra=f'[mcp.files]\ncommand = ["/bin/sh", "-c", "{plant}"]\nextra_write_paths = ["{lab.home}/.local"]\n')
    r = lab.run()
    assert r.returncode == 0, r.both
    assert os.path.exists(os.path.join(lab.home, ".local", "seen")), r.both
    assert os.listdir(data) == []


def test_check_config_says_what_run_would_refuse_about_the_keys(lab):
    lab.config("")
    secrets = os.path.join(lab.home, ".config", "agent6", "secrets.toml")
    lab.write(secrets, "", 0o644)
    r = lab.agent6("check", "config")
    assert r.returncode == 1 and "[FAIL] config.secrets" in r.out and "chmod 600" in r.out, r.both
    os.chmod(secrets, 0o600)
    r = lab.agent6("check", "config")
    assert r.returncode == 0 and "[PASS] config.secrets" in r.out, r.both


def test_a_configuration_file_that_the_model_could_write_is_none(lab):
    lab.repo(a="1\n")
    lab.write(os.path.join(lab.home, "d", "own.toml"), f"sandbox.extra_write_paths = [\"{lab.home}/d\"]\n")
    r = lab.agent6("exec", "--config", os.path.join(lab.home, "d", "own.toml"), "--", "true")
    assert r.returncode == 2 and "--config" in r.err and "sandbox.extra_write_paths" in r.err, r.both
    assert "hint: move that file to a place that nothing grants for writing" in r.err, r.both


PLANT = ("for d in sub gone wt; do rm -rf $d/.git; mv $d $d.old; mkdir -p $d/.git/objects $d/.git/refs; echo 'ref: refs/heads/main' > $d/.git/HEAD; "
         "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch {out}/ran; false\\n' > $d/.git/config; done; "
         "echo 'gitdir: x' > sub/.git; true")


def test_a_submodule_or_work_tree_inside_cannot_be_exchanged_for_one_that_runs_something(lab):
    """`git status` at the top enters them, and runs what their .git says: in the hands of the person, afterwards."""
    lab.repo(a="1\n")
    allow = ("-c", "protocol.file.allow=always")
    other = os.path.join(lab.folder, "other")
    subprocess.run(["git", "clone", "-q", lab.ws, other], check=True, env=lab.env)
    for name in ("sub", "gone"):
        lab.git(*allow, "submodule", "add", "-q", other, name)
    lab.git("commit", "-q", "-m", "submodules")
    lab.git("submodule", "deinit", "-q", "-f", "gone")
    lab.git("worktree", "add", "-q", "wt")
    lab.git("status")
    out = os.path.join(lab.folder, "out")
    os.mkdir(out)
    os.chmod(out, 0o777)
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", PLANT.format(out=out)])), finish()))
    before = lab.git("status", "--porcelain")
    r = lab.run()
    assert r.returncode == 0, r.both
    assert [e["moved_to"] for e in lab.events("jail.git_quarantined")] == [".git.quarantined-1"], r.both
    assert lab.events("jail.git_quarantined")[0]["path"] == os.path.join(lab.ws, "gone", ".git")
    said = str(m.model_requests()[-1]["body"]["messages"])
    assert "gone, where no git repository was, and was renamed" in said
    for where in (lab.ws, os.path.join(lab.ws, "sub"), os.path.join(lab.ws, "wt"), os.path.join(lab.ws, "gone")):
        subprocess.run(["git", "status", "--porcelain"], cwd=where, env=lab.env, capture_output=True, check=True)
        assert os.listdir(out) == [], where
    assert lab.git("-C", "sub", "rev-parse", "--show-toplevel").strip() == os.path.join(lab.ws, "sub")
    assert "sub" not in lab.git("status", "--porcelain", "sub") or before


def test_a_place_of_the_index_that_was_never_cloned_gets_no_repository(lab):
    """A clone without its submodules has such: `git status` at the top enters what lies there."""
    lab.repo(a="1\n")
    for name in ("sub", "absent", "own"):
        lab.git("update-index", "--add", "--cacheinfo", f"160000,{lab.git('rev-parse', 'HEAD').strip()},{name}")
    lab.git("commit", "-q", "-m", "links")
    for name in ("sub", "own"):
        os.makedirs(os.path.join(lab.ws, name), exist_ok=True)
    lab.git("init", "-q", "own")
    out = os.path.join(lab.folder, "out")
    os.mkdir(out)
    os.chmod(out, 0o777)
    plant = PLANT.format(out=out).replace("sub gone wt", "sub absent own").replace("echo 'gitdir: x' > sub/.git; ", "")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", plant])), finish()))
    r = lab.run()
    assert r.returncode == 0, r.both
    found = {os.path.relpath(e["path"], lab.ws) for e in lab.events("jail.git_quarantined")}
    assert found == {"sub/.git", "absent/.git"}, r.both
    subprocess.run(["git", "status", "--porcelain"], cwd=lab.ws, env=lab.env, capture_output=True, check=True)
    assert os.listdir(out) == []


def test_a_granted_repository_keeps_its_git_directory(lab):
    """protect_git is meant for every repository a command may write in."""
    lab.repo(a="1\n")
    other = os.path.join(lab.home, "other")
    subprocess.run(["git", "init", "-q", other], check=True, env=lab.env)
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", f"echo x > {other}/f; echo y >> {other}/.git/config; mv {other}/.git {other}/g"])),
                        finish()), extra=f"[sandbox]\nextra_write_paths = [\"{other}\"]\n")
    with open(os.path.join(other, ".git", "config"), encoding="utf-8") as f:
        before = f.read()
    r = lab.run()
    assert r.returncode == 0, r.both
    with open(os.path.join(other, ".git", "config"), encoding="utf-8") as f:
        assert f.read() == before
    assert os.path.exists(os.path.join(other, "f"))
    assert "sandbox.protect_git" in str(m.model_requests()[-1]["body"]["messages"])


def test_what_a_server_may_write_comes_before_no_program_of_the_system(lab):
    """The operator's PATH decides which of two programs commands get, but not where the model can put one."""
    lab.repo(a_DOT_py="x = 1\n")
    first = os.path.join(lab.home, ".local", "bin")
    os.makedirs(first)
    with open(os.path.join(first, "sort"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho mine\n")
    os.chmod(os.path.join(first, "sort"), 0o755)
    lab.env["PATH"] = first + ":" + lab.env["PATH"]
    server = f'[mcp.s]\nenabled = true\ncommand = ["true"]\nextra_write_paths = ["{first}"]\n'
    for config, want in (("", f"{first}/sort"), (server, shutil.which("sort", path="/usr/bin:/bin"))):
        lab.config(config)
        r = lab.agent6("exec", "sh", "-c", "command -v sort")
        assert want in r.out.split(), (config, r.both)


def test_a_link_among_the_tools_shows_the_program_and_not_what_lies_beside_it(lab_of_each_profile):
    lab = lab_of_each_profile
    lab.repo(a_DOT_txt="one\n")
    for name, mode in (("Documents", 0o755), (".ssh", 0o755), ("mine", 0o700), ("opt/tool/bin", 0o755)):
        os.makedirs(f"{lab.home}/{name}")
        os.chmod(f"{lab.home}/{name}", mode)
        for file, text in (("tool", f"#!/bin/sh\necho it is {name}\n"), ("letter", "CANARY\n")):
            with open(f"{lab.home}/{name}/{file}", "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(f"{lab.home}/{name}/{file}", 0o755)
    os.makedirs(lab.home + "/.local/bin")
    for link, to in (("one", "Documents"), ("two", ".ssh"), ("three", "mine"), ("four", "opt/tool/bin")):
        os.symlink(f"../../{to}/tool", f"{lab.home}/.local/bin/{link}")
    read = [f"cat {lab.home}/{d}/letter; ls {lab.home}/{d}" for d in ("Documents", ".ssh", "mine")]
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "one; four; two; three; " + "; ".join(read)])), finish()))
    r = lab.run()
    assert r.returncode == 0, r.both
    [result] = [json.loads(m["content"]) for m in lab.mocks[0].model_requests()[-1]["body"]["messages"] if m["role"] == "tool"][:1]
    assert "it is Documents" in result["stdout"] and "it is opt/tool/bin" in result["stdout"], result
    assert "it is .ssh" not in result["stdout"] and "it is mine" not in result["stdout"] and "CANARY" not in result["stdout"], result
    [notice] = [e["text"] for e in lab.events("run.notice") if "private directory" in e["text"]]
    assert f"{lab.home}/.local/bin/two" in notice and f"{lab.home}/.local/bin/three" in notice, notice
    assert "bin/one" not in notice and "sandbox.extra_read_paths" in notice, notice

# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""A hostile model with an honest agent: what its tool calls and the files they leave can do to what comes after."""
import json
import os
import subprocess

import pytest

from conftest import call, finish, script, turn


def sh(text):
    return call("run_command", argv=["sh", "-c", text])


def results(mock):
    """What the model was told, in order, from its last request."""
    return [m["content"] for m in mock.model_requests()[-1]["body"]["messages"] if m["role"] == "tool"]


def outside(lab):
    """A directory beside the workspace with a file that must stay as it is."""
    path = os.path.join(os.path.dirname(lab.ws), "outside")
    os.makedirs(path)
    with open(os.path.join(path, "file"), "w", encoding="utf-8") as f:
        f.write("precious\n")
    return path


def test_links_a_command_left_lead_no_tool_out_of_the_workspace(lab):
    lab.repo(a_DOT_txt="one\n", d__f_DOT_txt="two\n")
    there = outside(lab)
    m = lab.mock(script(
        turn(sh(f"mv d real && ln -s {there} d && ln -s {there}/file l && ln -s ../outside rel && ln a.txt hard; ln {there}/file h2; echo ok")),
        turn(call("read_file", path="d/file")), turn(call("read_file", path="l")), turn(call("read_file", path="rel/file")),
        turn(call("apply_edit", path="d/file", edits=[{"old_string": "precious", "new_string": "owned"}])),
        turn(call("apply_edit", path="l", edits=[{"old_string": "precious", "new_string": "owned"}])),
        turn(call("apply_edit", path="rel/new", edits=[{"kind": "create", "content": "owned"}])),
        turn(call("apply_patch", patch="*** Begin Patch\n*** Add File: d/added\n+owned\n*** End Patch\n")),
        turn(call("apply_patch", patch="*** Begin Patch\n*** Delete File: l\n*** End Patch\n")),
        turn(call("list_dir", path="d")), turn(call("grep", pattern="precious")), finish()))
    assert lab.run().returncode in (0, 1, 4)
    assert sorted(os.listdir(there)) == ["file"]
    assert open(os.path.join(there, "file"), encoding="utf-8").read() == "precious\n"
    told = "\n".join(results(m)[1:10])
    assert "precious\\n" not in told and "owned" not in lab.git("status", "--porcelain")


def test_pipes_huge_files_and_odd_names_in_the_tree_hold_nothing_up(lab):
    lab.repo(a_DOT_txt="one\n")
    lab.write("verify.sh", "#!/bin/sh\ntrue\n", 0o755)
    lab.git("add", "-A")
    lab.git("commit", "-q", "-m", "gate")
    m = lab.mock(script(
        turn(sh("mkfifo pipe; truncate -s 1T hole; mkdir -p .GIT sub/.git 'git~1'; cp -r .git sub/ 2>/dev/null; touch -- -rf '--exec=x' '\n' "
                "\"$(printf 'x\\033[2J')\" .gitmodules; ln -s loop loop; i=0; d=.; while [ $i -lt 60 ]; do d=$d/deep; i=$((i+1)); done; mkdir -p $d; "
                "mkfifo deep/pipe; echo done")),
        turn(call("read_file", path="pipe")), turn(call("grep", pattern="one")), turn(call("read_file", path="hole")),
        turn(call("list_dir", path=".")), turn(call("read_file", path="loop")),
        turn(call("apply_edit", path="pipe", edits=[{"old_string": "a", "new_string": "b"}])),
        turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}])),
        turn(sh("head -c 100000000 /dev/zero | tr '\\0' x; echo; yes | head -c 100000000 >&2")), finish()))
    r = lab.run(timeout=300)
    assert r.returncode in (0, 1, 4), r.both
    assert len(results(m)) == 9
    assert all(len(t) < 200_000 for t in results(m))
    assert lab.read("a.txt") == "two\n"
    assert lab.agent6("runs", "verify").returncode == 0


@pytest.mark.parametrize("repository", [True, False])
def test_what_a_command_plants_for_git_runs_in_no_later_run(lab, repository):
    """Attributes and nested repositories in one that is a repository; a whole planted one where there was none."""
    if repository:
        lab.repo(a_DOT_txt="one\n")
    else:
        lab.write("a.txt", "one\n")
    plant = ("R=.; [ -d .git ] && R=nested; mkdir -p $R; cd $R; git init -q 2>/dev/null; W=$(pwd)/owned; "
             "git config core.fsmonitor \"touch $W; false\"; git config filter.e.clean \"touch $W; cat\"; git config diff.e.textconv \"touch $W; cat\"; "
             "git config core.hooksPath \"$(pwd)/h\"; git config core.pager \"touch $W\"; git config gpg.program \"$(pwd)/h/x\"; "
             "git config core.sshCommand \"touch $W\"; git config alias.status \"!touch $W\"; "
             "mkdir -p h; for n in post-index-change reference-transaction pre-commit post-checkout post-commit x; do "
             "printf '#!/bin/sh\\ntouch %s\\n' \"$W\" >h/$n; chmod +x h/$n; done; echo '* filter=e diff=e merge=e' >.gitattributes; "
             "git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.e.clean= "
             "-c user.name=x -c user.email=x@x commit -q --allow-empty -m planted; rm -f owned; echo planted")
    lab.mock(script(turn(sh(plant)), finish(), turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}])),
                    finish()))
    first = lab.run()
    # in a repository a nested one is left; where there was none, one that appears is set aside
    assert os.path.isdir(os.path.join(lab.ws, "nested/.git" if repository else ".git.quarantined-1")), first.both
    assert subprocess.run(["find", lab.ws, "-name", "owned"], capture_output=True, text=True).stdout == ""
    second = lab.run("go on")
    assert second.returncode == 0 and lab.read("a.txt") == "two\n", second.both
    for words in (["runs", "diff"], ["runs", "show"], ["runs", "commits"]):
        lab.agent6(*words)
    assert subprocess.run(["find", lab.ws, "-name", "owned"], capture_output=True, text=True).stdout == "", second.both


def test_git_directories_of_another_repository_are_not_lent_to_a_later_run(lab):
    """A planted .git whose commondir or gitdir names a repository beside the workspace."""
    other = os.path.join(os.path.dirname(lab.ws), "other")
    os.makedirs(other)
    subprocess.run(["git", "init", "-q", "-b", "main", other], check=True, env=lab.env)
    with open(os.path.join(other, ".git", "config"), "rb") as f:
        before = f.read(), sorted(os.listdir(os.path.join(other, ".git")))
    lab.write("a.txt", "one\n")
    plant = "mkdir .git && echo ref: refs/heads/main >.git/HEAD && echo ../../other/.git >.git/commondir"
    lab.mock(script(turn(sh(plant)), finish()))
    lab.run()
    assert sorted(n for n in os.listdir(lab.ws) if n.startswith(".git")) == [".git.quarantined-1"]
    subprocess.run(["sh", "-c", plant], cwd=lab.ws, check=True)  # as something else than a run may have left it
    r = lab.run("go on")
    assert r.returncode == 2 and "shares the repository" in r.both, r.both
    with open(os.path.join(other, ".git", "config"), "rb") as f:
        assert (f.read(), sorted(os.listdir(os.path.join(other, ".git")))) == before
    assert not os.path.exists(os.path.join(other, ".git", "refs", "agent6"))


def test_a_command_leaves_no_set_id_file_no_device_and_no_process(lab):
    lab.repo(a_DOT_txt="one\n")
    m = lab.mock(script(turn(sh("cp /bin/true t; chmod 4755 t; chmod u+s t; install -m 6755 /bin/true t2; mkdir -m 2755 d; mknod n c 1 3; "
                                "python3 -c \"import os; os.open('t3', os.O_CREAT, 0o4755)\"; mkfifo ok; (setsid sleep 1000 &); echo end")), finish()))
    lab.run()
    assert "end" in results(m)[0]
    for top, dirs, names in os.walk(lab.ws):
        for n in dirs + names:
            assert not os.lstat(os.path.join(top, n)).st_mode & 0o6000 or n == "d", n
    assert not os.path.exists(os.path.join(lab.ws, "n"))
    assert json.dumps(lab.journal()).count("run.end") == 1


def test_a_file_that_ends_the_parser_costs_itself_alone(lab_of_each_profile):
    """x=((((... ends libtree-sitter 0.20.7. Without grammars, and with a newer one, it is a file like any other."""
    lab = lab_of_each_profile
    killer = "x=" + "(" * 65533
    lab.repo(a_DOT_py=killer, b_DOT_py="def x():\n    pass\n", c_DOT_py=killer, d_DOT_py="def y():\n    x()\n")
    m = lab.mock(script(turn(call("find_definition", symbol="x")), turn(call("find_references", symbol="x")),
                        turn(call("outline", path="a.py")), turn(call("outline", path="d.py")), finish()))
    assert lab.run().returncode == 0
    found, used, killed, other = (json.loads(r) for r in results(m)[:4])
    assert [d["path"] for d in found["definitions"] if d["kind"] == "function"] == ["b.py"], found
    assert {"b.py", "d.py"} <= {r["path"] for r in used["references"]}, used
    assert "error" not in killed and [s["name"] for s in other["symbols"]] == ["y"], (killed, other)
    if "tree-sitter" in other.get("source", ""):
        assert other["source"] == "tree-sitter" and other["symbols"][0]["end"] == 2, other

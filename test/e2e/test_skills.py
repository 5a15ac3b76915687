# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Skills: installed by the operator, told to the model, contained."""
import json
import os
import socket
import subprocess

import pytest

from conftest import AGENT6, finish, script, turn

GOOD = "---\nname: ring\ndescription: Reviews ring buffers.\n---\n# Ring\nLook at the index first.\n"


def run(lab, *args):
    return subprocess.run([AGENT6, *args], cwd=lab.ws, env=lab.env, capture_output=True, text=True)


def skill(lab, name, text=GOOD, root="src", **files):
    folder = os.path.join(lab.folder, root, name)
    os.makedirs(folder, exist_ok=True)
    for path, content in {"SKILL.md": text, **files}.items():
        path = os.path.join(folder, path.replace("__", "/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(content)
    return folder


def managed(lab):
    return os.path.join(lab.home, ".local", "share", "agent6", "skills")


def use(name, **args):
    return {"name": "use_skill", "args": {"name": name, **args}}


def system_of(request):
    body = request["body"]
    return json.dumps(body.get("system") or body["messages"][0])


def test_the_model_is_told_of_a_skill_reads_it_and_reaches_nothing_else_through_it(lab):
    lab.repo(a="1\n")
    folder = skill(lab, "ring", refs__more="more text")
    os.symlink("/etc/passwd", os.path.join(folder, "link"))
    os.mkfifo(os.path.join(folder, "pipe"))
    assert run(lab, "skills", "install", folder).returncode == 0
    assert sorted(os.listdir(os.path.join(managed(lab), "ring"))) == ["SKILL.md", "refs"]
    os.symlink("/etc/passwd", os.path.join(managed(lab), "ring", "link"))
    lab.mock(script(turn(use("ring")), turn(use("ring", file="refs/more")),
                    turn(use("ring", file="../../../../../etc/passwd")),
                    turn(use("ring", file="link")), turn(use("other")), finish()))
    r = lab.run()
    assert r.returncode == 0, r.stderr
    sent = lab.mocks[-1].model_requests()
    assert "- ring: Reviews ring buffers." in system_of(sent[0])
    assert "use_skill" in json.dumps(sent[0]["body"]["tools"])
    results = [e for e in lab.events("tool.result") if e["name"] == "use_skill"]
    assert [e["ok"] for e in results] == [True, True, False, False, False]
    last = json.dumps(sent[-1]["body"]["messages"])
    assert "Look at the index first." in last and "more text" in last and "root:x" not in last


def test_without_skills_nothing_is_said_and_the_tool_is_not_there(lab):
    lab.repo(a="1\n")
    # a checkout's own skills are not the operator's
    for place in (".agent6", ".agents", ".claude"):
        lab.write(f"{place}/skills/evil/SKILL.md", GOOD)
    lab.git("add", "-A")
    lab.git("commit", "-qm", "skills of a repository")
    lab.mock(script(finish()))
    assert lab.run().returncode == 0
    first = json.dumps(lab.mocks[-1].model_requests()[0]["body"])
    assert "use_skill" not in first and "Reviews ring" not in first


def test_always_and_skill_and_disabled(lab):
    lab.repo(a="1\n")
    skill(lab, "ring")
    skill(lab, "quiet", "---\ndescription: Quiet one.\ndisable-model-invocation: true\n---\nQuiet text.\n")
    skill(lab, "broken", "no front matter\n")
    for name in ("ring", "quiet", "broken"):
        r = run(lab, "skills", "install", os.path.join(lab.folder, "src", name))
        assert r.returncode == 0 and ("broken cannot be used as it is" in r.stderr) == (name == "broken"), r.stderr
    assert run(lab, "skills", "enable", "ring", "--always", "--repo").returncode == 0
    rows = {r["name"]: r["state"] for r in json.loads(run(lab, "skills", "list", "--json").stdout)}
    assert rows == {"ring": "always", "quiet": "by --skill only", "broken": "unusable"}
    lab.mock(script(finish()))
    r = lab.run("do it", "--skill", "quiet")
    assert r.returncode == 0, r.stderr
    body = lab.mocks[-1].model_requests()[0]["body"]
    assert "Look at the index first." in system_of({"body": body})
    text = json.dumps(body)
    assert "Quiet text." in text and "Quiet one." not in text
    assert any("broken cannot be used" in e["text"] for e in lab.events("run.notice"))
    assert run(lab, "skills", "disable", "ring", "--repo").returncode == 0
    lab.mock(script(finish()))
    assert lab.run().returncode == 0
    assert "use_skill" not in json.dumps(lab.mocks[-1].model_requests()[0]["body"])
    r = lab.run("do it", "--skill", "ring")
    assert r.returncode == 2 and b'no skill "ring"' in r.stderr


def test_a_checkout_installs_all_or_nothing_and_a_link_in_it_leads_nowhere(lab):
    private = skill(lab, "private", root="elsewhere")
    skill(lab, "one", root="repo/skills")
    skill(lab, "two", root="repo/skills")
    os.symlink(private, os.path.join(lab.folder, "repo", "skills", "three"))
    repo = os.path.join(lab.folder, "repo")
    assert run(lab, "skills", "install", os.path.join(repo, "skills", "two")).returncode == 0
    r = run(lab, "skills", "install", repo)
    assert r.returncode == 2 and '"two" already; nothing was installed' in r.stderr
    assert sorted(os.listdir(managed(lab))) == ["two"]
    assert run(lab, "skills", "install", repo, "--force").returncode == 0
    assert sorted(os.listdir(managed(lab))) == ["one", "two"]
    assert run(lab, "skills", "remove", "one").returncode == 0
    assert sorted(os.listdir(managed(lab))) == ["two"]
    assert run(lab, "skills", "remove", "../two").returncode == 2


@pytest.mark.parametrize("source,word", [
    ("ssh://host/x", "https only"), ("git@host:x.git", "https only"), ("http://host/x/SKILL.md", "https only"),
    ("nothing-there", "nothing-there"), ("https://127.0.0.1:{port}/x/SKILL.md", "127.0.0.1"), ("https://127.0.0.1:{port}/x.git", "git could not"),
])
def test_what_cannot_be_fetched_is_said_and_leaves_nothing(lab, source, word):
    with socket.socket() as s:  # a port that nobody listens on
        s.bind(("127.0.0.1", 0))
        r = run(lab, "skills", "install", source.format(port=s.getsockname()[1]))
    assert r.returncode in (1, 2) and word in r.stderr, r.stderr
    assert not os.path.isdir(managed(lab)) or os.listdir(managed(lab)) == []
    assert not [n for n in os.listdir("/tmp") if n.startswith("agent6-skills-")]

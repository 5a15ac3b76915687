# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Skills: installed by the operator, told to the model, contained."""
import contextlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading

import pki
import pytest
from conftest import AGENT6, finish, script, turn

GOOD = "---\nname: ring\ndescription: Reviews ring buffers.\n---\n# Ring\nLook at the index first.\n"


def temporary(lab):
    """Where a skill is fetched to before it is looked at: this test's own."""
    folder = os.path.join(lab.folder, "temporary")
    os.makedirs(folder, exist_ok=True)
    return folder


def run(lab, *args):
    return subprocess.run([AGENT6, *args], cwd=lab.ws, env=dict(lab.env, TMPDIR=temporary(lab)), capture_output=True, text=True)


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


def installed(lab):
    """Names of skills, without what agent6 keeps beside them."""
    return sorted(n for n in os.listdir(managed(lab)) if n != ".origin")


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


LONG = GOOD + "".join(f"Step {n}: look at the index of the ring before its buffer.\n" for n in range(60))


def test_a_skill_that_was_read_stays_when_old_results_are_set_aside(lab):
    lab.repo(**{f"f{n}": f"{n}\n" * 1500 for n in range(12)})
    assert run(lab, "skills", "install", skill(lab, "ring", LONG)).returncode == 0
    m = lab.mock(script(turn(use("ring")), *[turn({"name": "read_file", "args": {"path": f"f{n}"}}) for n in range(12)], finish()),
                 top="[context]\ndrop_at_chars = 20000\n")
    r = lab.run()
    assert r.returncode == 0, r.both
    last = json.dumps(m.model_requests()[-1]["body"])
    assert lab.events("loop.compact.dropped") and "bytes set aside" in last
    assert "Step 59: look at the index" in last
    assert lab.agent6("replay", os.path.basename(lab.run_dirs()[-1])).returncode == 0


def test_a_skill_that_was_read_is_named_when_a_summary_takes_its_place(lab):
    lab.repo()
    assert run(lab, "skills", "install", skill(lab, "ring", LONG)).returncode == 0
    note = turn(text="NOTE of it", match={"last": "Write the note"}, loop="forever")
    make = [turn({"name": "apply_edit", "args": {"path": f"n{n}", "edits": [{"kind": "create", "new_string": f"{n:04} " * 800}]}}) for n in range(10)]
    m = lab.mock(script(note, turn(use("ring"), use("none-such")), *make, finish()),
                 top="[context]\nsummarise_at_chars = 30000\nkeep_recent_chars = 5000\n")
    r = lab.run()
    assert r.returncode == 0, r.both
    after = [json.dumps(q["body"]) for q in m.model_requests() if "NOTE of it" in json.dumps(q["body"])]
    assert after and "Step 59: look at the index" not in after[0]
    assert "Skills whose text was set aside as well: ring. use_skill gives it again." in after[0] and "none-such" not in after[0]
    assert lab.agent6("replay", os.path.basename(lab.run_dirs()[-1])).returncode == 0


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


def test_what_the_model_may_write_is_no_place_for_skills(lab):
    """What lies there would be told to every later run as the operator's words."""
    lab.repo(a="1\n")
    os.makedirs(managed(lab))
    os.makedirs(os.path.join(lab.ws, "mine", "ring"))
    lab.write("mine/ring/SKILL.md", GOOD)
    lab.git("add", "-A")
    lab.git("commit", "-qm", "skills")
    lab.mock(script(finish()), extra=f'[skills]\nextra_dirs = ["{lab.ws}/mine"]\n')
    r = lab.run()
    assert r.returncode == 2 and f"skills.extra_dirs: {lab.ws}/mine lies in" in r.err, r.both
    lab.mock(script(finish()))
    os.symlink(os.path.join(lab.ws, "mine", "ring"), os.path.join(managed(lab), "ring"))
    r = lab.run()
    assert r.returncode == 2 and "skill ring: " in r.err and "where the model may write" in r.err, r.both
    os.remove(os.path.join(managed(lab), "ring"))
    r = run(lab, "skills", "install", os.path.join(lab.ws, "mine", "ring"))
    assert r.returncode == 0 and "not updated from there" in r.stderr, r.stderr
    lab.write("mine/ring/SKILL.md", GOOD + "the model's\n")
    r = run(lab, "skills", "update")
    assert r.returncode == 0 and "nobody knows where it came from" in r.stdout, r.stdout + r.stderr
    with open(os.path.join(managed(lab), ".origin", "ring"), "w", encoding="utf-8") as f:
        f.write(os.path.join(lab.ws, "mine", "ring") + "\n")
    r = run(lab, "skills", "update")
    assert r.returncode == 1 and "where the model may write" in r.stdout, r.stdout + r.stderr
    with open(os.path.join(managed(lab), "ring", "SKILL.md"), encoding="utf-8") as f:
        assert "the model's" not in f.read()
    lab.git("checkout", "-q", ".")
    assert lab.run().returncode == 0


def test_always_and_skill_and_disabled(lab):
    lab.repo(a="1\n")
    skill(lab, "ring")
    skill(lab, "quiet", "---\ndescription: Quiet \x9b2J\x7f\u202eone.\ndisable-model-invocation: true\n---\nQuiet text.\n")
    skill(lab, "broken", "no front matter\n")
    for name in ("ring", "quiet", "broken"):
        r = run(lab, "skills", "install", os.path.join(lab.folder, "src", name))
        assert r.returncode == 0 and ("broken cannot be used as it is" in r.stderr) == (name == "broken"), r.stderr
    assert run(lab, "skills", "enable", "ring", "--always", "--repo").returncode == 0
    listed = run(lab, "skills", "list", "--json").stdout
    rows = {r["name"]: r["status"] for r in json.loads(listed)}
    about = {r["name"]: r["description"] for r in json.loads(listed)}
    assert about["quiet"] == "Quiet \x9b2J\x7f\u202eone." and not {"\x9b", "\x7f", "\u202e"} & set(listed), ascii(listed)
    assert rows == {"ring": "always", "quiet": "by --skill only", "broken": "unusable"}
    lab.mock(script(finish()))
    r = lab.run("do it", "--skill", "quiet")
    assert r.returncode == 0, r.stderr
    body = lab.mocks[-1].model_requests()[0]["body"]
    assert "Look at the index first." in system_of({"body": body})
    text = json.dumps(body)
    assert "Quiet text." in text and "Quiet one." not in text
    assert any("broken cannot be used" in e["warning"] for e in lab.events("loop.skills.warning"))
    assert run(lab, "skills", "disable", "ring", "--repo").returncode == 0
    lab.mock(script(finish()))
    assert lab.run().returncode == 0
    assert "use_skill" not in json.dumps(lab.mocks[-1].model_requests()[0]["body"])
    r = lab.run("do it", "--skill", "ring")
    assert r.returncode == 2 and b'no skill "ring"' in r.stderr


@pytest.mark.parametrize("mode", [("plan", "new"), ("ask",)])
def test_what_is_always_told_is_told_to_who_only_looks_too(lab, mode):
    """There is no use_skill, so nothing is said of the others, nor that it has the rest of a long one."""
    lab.repo(a="1\n")
    skill(lab, "ring", GOOD + "long " * 6000)
    skill(lab, "other", "---\ndescription: Of no use here.\n---\nOther text.\n")
    for name in ("ring", "other"):
        assert run(lab, "skills", "install", os.path.join(lab.folder, "src", name)).returncode == 0
    assert run(lab, "skills", "enable", "ring", "--always", "--repo").returncode == 0
    m = lab.mock(script(turn(text="an answer", loop="forever")))
    lab.agent6(*mode, "--auto-approve", "what is it?")
    first = m.model_requests()[0]
    assert "Look at the index first." in system_of(first) and "(cut off here)" in system_of(first)
    assert not any(w in json.dumps(first["body"]) for w in ("use_skill", "Of no use here", "Other text"))


def test_a_change_that_another_file_hides_is_said(lab):
    lab.repo(a="1\n")
    skill(lab, "ring")
    assert run(lab, "skills", "install", os.path.join(lab.folder, "src", "ring")).returncode == 0
    r = run(lab, "skills", "disable", "ring", "--repo")
    assert r.returncode == 0 and "still" not in r.stderr
    r = run(lab, "skills", "enable", "ring")
    assert r.returncode == 2 and "ring is disabled in this repository: " in r.stderr and "enable ring --repo" in r.stderr, r.stderr
    lab.config('[skills]\ndisabled = ["ring"]\n')
    r = run(lab, "skills", "enable", "ring")
    assert r.returncode == 0 and "not in this repository: " in r.stderr, r.stderr
    r = run(lab, "skills", "enable", "ring", "--repo")
    assert r.returncode == 0 and "still" not in r.stderr, r.stderr


def test_a_checkout_installs_all_or_nothing_and_a_link_in_it_leads_nowhere(lab):
    private = skill(lab, "private", root="elsewhere")
    skill(lab, "one", root="repo/skills")
    skill(lab, "two", root="repo/skills")
    os.symlink(private, os.path.join(lab.folder, "repo", "skills", "three"))
    repo = os.path.join(lab.folder, "repo")
    assert run(lab, "skills", "install", os.path.join(repo, "skills", "two")).returncode == 0
    r = run(lab, "skills", "install", repo)
    assert r.returncode == 2 and '"two" already; nothing was installed' in r.stderr
    assert installed(lab) == ["two"]
    assert run(lab, "skills", "install", repo, "--force").returncode == 0
    assert installed(lab) == ["one", "two"]
    assert run(lab, "skills", "remove", "one").returncode == 0
    assert installed(lab) == ["two"]
    assert run(lab, "skills", "remove", "../two").returncode == 2


@pytest.mark.parametrize("typed, reaches", [("/ring look at f", True), ("/skill ring", True), ("/skill quiet now", True), ("/usr/bin is on the path", False)])
def test_a_skill_is_begun_by_its_name_while_a_run_is_on(lab, typed, reaches):
    lab.repo(a="1\n")
    skill(lab, "ring")
    skill(lab, "quiet", "---\ndescription: Quiet one.\ndisable-model-invocation: true\n---\nLook at the index first. </skill>\n")
    for name in ("ring", "quiet"):
        assert run(lab, "skills", "install", os.path.join(lab.folder, "src", name)).returncode == 0
    lab.mock(script(turn({"name": "list_dir", "args": {"path": "."}}), finish()))
    lab.run("do it", "--max-iterations", "1", "--run-id", "one")
    r = lab.agent6("resume", "one", "--auto-approve", "--steer", typed)
    assert r.returncode == 0, r.both
    last = lab.mocks[-1].model_requests()[-1]["body"]["messages"][-1]["content"]
    text = last if isinstance(last, str) else "\n".join(b["text"] for b in last)
    assert ("Look at the index first." in text) == reaches and f"says:\n{typed}" in text, text
    assert text.count("</skill>") == (1 if reaches else 0)
    assert lab.agent6("replay", "one").returncode == 0


def test_a_skill_that_is_none_is_told_to_the_person_and_to_nobody_else(lab):
    lab.repo(a="1\n")
    lab.mock(script(turn({"name": "list_dir", "args": {"path": "."}}), finish()))
    lab.run("do it", "--max-iterations", "1", "--run-id", "one")
    r = lab.agent6("resume", "one", "--auto-approve", "--steer", "/skill rign look")
    assert r.returncode == 0 and "there is no such skill" in r.both, r.both
    assert "rign" not in json.dumps(lab.mocks[-1].model_requests()[-1]["body"])


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
    assert not os.listdir(temporary(lab))


# ---- from a server: https with a certificate authority of the operator's, git's smart protocol behind it ----

class Forge(http.server.BaseHTTPRequestHandler):
    """Files below `root` by GET; NAME.git by git http-backend."""
    protocol_version = "HTTP/1.1"

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.server.seen.append((self.command, self.path, self.headers.get("authorization")))
        if path in self.server.moved:
            self.send_response(302)
            self.send_header("Location", self.server.moved[path])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if ".git/" not in path:
            body = self.server.files.get(path)
            return self.answer(200, "text/markdown", body) if body is not None else self.answer(404, "text/plain", b"none")
        env = dict(os.environ, GIT_PROJECT_ROOT=self.server.root, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("content-type", ""), GIT_CONFIG_COUNT="1",
                   GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*", GIT_PROTOCOL=self.headers.get("git-protocol", ""))
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        out = subprocess.run(["git", "http-backend"], env=env, input=sent, capture_output=True).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        fields = dict(l.split(": ", 1) for l in head.decode().split("\r\n") if ": " in l)
        self.answer(int(fields.get("Status", "200").split()[0]), fields.get("Content-Type", "text/plain"), body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def forge(lab):
    """A server with its own authority, which the operator trusts for skills."""
    folder = os.path.join(lab.folder, "pki")
    pki.authority(folder, "ca")
    pki.certificate(folder, "ca", "localhost", "DNS:localhost,IP:127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    pki.listen_with(pki.server_of(folder, "localhost"), server)
    server.seen, server.files, server.moved, server.root = [], {}, {}, os.path.join(lab.folder, "forge")
    server.url = f"https://127.0.0.1:{server.server_address[1]}"
    server.ca = folder + "/ca.pem"
    server.handle_error = lambda *_: None  # who does not trust it hangs up
    threading.Thread(target=server.serve_forever, daemon=True).start()
    lab.repo(a="1\n")
    lab.config(f'[skills]\nca_file = "{server.ca}"\n')
    with socket.create_connection(server.server_address):  # whoever says nothing holds up nobody
        yield server
    server.shutdown()
    server.server_close()


def published(lab, forge, name, **skills):
    """A bare repository NAME.git with these skills below skills/."""
    work = os.path.join(lab.folder, "published", name)
    os.makedirs(work, exist_ok=True)
    def git(*words, where=work):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.invalid", *words], cwd=where, env=lab.env, check=True,
                       capture_output=True)
    if not os.path.isdir(os.path.join(work, ".git")):
        git("init", "-q", "-b", "main")
    for skill_name, text in skills.items():
        os.makedirs(os.path.join(work, "skills", skill_name), exist_ok=True)
        with open(os.path.join(work, "skills", skill_name, "SKILL.md"), "w", encoding="utf-8") as f:
            f.write(text)
    git("add", "-A")
    git("commit", "-qm", "x")
    bare = os.path.join(forge.root, name + ".git")
    if not os.path.isdir(bare):
        os.makedirs(forge.root, exist_ok=True)
        git("clone", "-q", "--bare", work, bare, where=lab.folder)
    else:
        git("push", "-q", bare, "main")


def test_a_file_is_fetched_by_https_from_who_is_trusted_and_from_nobody_else(lab, forge):
    forge.files["/skills/ring/SKILL.md"] = GOOD.encode()
    forge.files["/skills/big/SKILL.md"] = b"x" * (300 * 1024)
    forge.moved["/old/ring/SKILL.md"] = "/skills/ring/SKILL.md"
    r = run(lab, "skills", "install", forge.url + "/skills/ring/SKILL.md")
    assert r.returncode == 0, r.stderr
    with open(os.path.join(managed(lab), "ring", "SKILL.md"), encoding="utf-8") as f:
        assert f.read() == GOOD
    assert forge.seen == [("GET", "/skills/ring/SKILL.md", None)]
    for path, says in (("/old/ring/SKILL.md", "a redirect, which is not followed"), ("/none/ring/SKILL.md", "HTTP 404"),
                       ("/skills/big/SKILL.md", "262144 bytes"), ("/skills/.hidden/SKILL.md", "404")):
        r = run(lab, "skills", "install", "--force", forge.url + path)
        assert r.returncode != 0 and says in r.stderr, (path, r.stderr)
    seen = len(forge.seen)
    shutil.copy(forge.ca, lab.ws)
    assert run(lab, "config", "set", "skills.ca_file", os.path.join(lab.ws, os.path.basename(forge.ca))).returncode == 0
    for words in (("install", "--force", forge.url + "/skills/ring/SKILL.md"), ("update", "ring")):
        r = run(lab, "skills", *words)
        assert r.returncode != 0 and "skills.ca_file" in r.stderr + r.stdout and "where the model may write" in r.stderr + r.stdout, r
    run(lab, "config", "unset", "skills.ca_file")
    for source in ("/skills/ring/SKILL.md", "/ring.git"):
        r = run(lab, "skills", "install", "--force", forge.url + source)
        assert r.returncode != 0 and "certificate" in r.stderr.lower(), r.stderr
    assert len(forge.seen) == seen and installed(lab) == ["ring"]


def test_a_repository_is_cloned_by_https_and_updated_from_where_it_came(lab, forge):
    local = skill(lab, "local")
    published(lab, forge, "many", one=GOOD, two=GOOD)
    assert run(lab, "skills", "install", forge.url + "/many.git").returncode == 0
    assert run(lab, "skills", "install", local).returncode == 0
    os.makedirs(os.path.join(managed(lab), "mine"))
    with open(os.path.join(managed(lab), "mine", "SKILL.md"), "w", encoding="utf-8") as f:
        f.write(GOOD)

    def update(*name):
        r = run(lab, "skills", "update", *name)
        return r.returncode, {l.split()[0]: " ".join(l.split()[1:]) for l in r.stdout.splitlines()}, r.stderr
    code, rows, said = update()
    assert code == 0 and rows == {"one": "unchanged", "two": "unchanged", "local": "unchanged",
                                  "mine": "skipped, nobody knows where it came from"}, (rows, said)
    assert "0 updated, 3 unchanged, 1 skipped, 0 failed" in said
    published(lab, forge, "many", one=GOOD.replace("index first", "index last"))
    skill(lab, "local", **{"more__new": "text"})
    code, rows, said = update()
    assert code == 0 and (rows["one"], rows["two"], rows["local"]) == ("updated", "unchanged", "updated"), (rows, said)
    with open(os.path.join(managed(lab), "one", "SKILL.md"), encoding="utf-8") as f:
        assert "index last" in f.read()
    assert os.path.exists(os.path.join(managed(lab), "local", "more", "new"))
    subprocess.run(["git", "rm", "-rqf", "skills/two"], cwd=os.path.join(lab.folder, "published", "many"), check=True)
    published(lab, forge, "many")
    assert update("two")[1] == {"two": "skipped, it is not there any more"} and os.path.isdir(os.path.join(managed(lab), "two"))
    forge.shutdown()
    forge.server_close()
    code, rows, said = update()
    assert code == 1 and rows["one"].startswith("could not be fetched: ") and rows["local"] == "unchanged", rows
    assert "2 failed" in said and os.path.isdir(os.path.join(managed(lab), "one"))
    assert run(lab, "skills", "remove", "one").returncode == 0 and "one" not in os.listdir(os.path.join(managed(lab), ".origin"))
    code, _, said = update("one")
    assert code == 2 and 'no skill "one"' in said


def test_an_address_with_a_password_in_it_is_not_kept(lab, forge):
    published(lab, forge, "one", one=GOOD)
    r = run(lab, "skills", "install", forge.url.replace("//", "//me:s3cret@") + "/one.git")
    assert r.returncode == 2 and "is not fetched" in r.stderr and "s3cret" not in r.stderr, r.stderr
    assert not os.path.isdir(managed(lab)) and not forge.seen


def test_a_server_that_lies_about_a_skill_leaves_nothing_outside(lab, forge):
    """A repository whose skill is a link, whose names climb, and that asks git for a program."""
    work = os.path.join(lab.folder, "published", "evil")
    os.makedirs(os.path.join(work, "skills", "two"))
    with contextlib.suppress(FileExistsError):
        os.symlink(lab.home, os.path.join(work, "skills", "home"))
        os.symlink("/etc/passwd", os.path.join(work, "skills", "two", "passwd"))
    with open(os.path.join(work, ".gitattributes"), "w", encoding="ascii") as f:
        f.write("* filter=evil\n")
    published(lab, forge, "evil", two=GOOD)
    r = run(lab, "skills", "install", forge.url + "/evil.git")
    assert r.returncode == 0, r.stderr
    assert installed(lab) == ["two"]
    assert os.listdir(os.path.join(managed(lab), "two")) == ["SKILL.md"]
    assert not os.listdir(temporary(lab))

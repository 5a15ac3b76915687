# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Stories: one text file, one promise, run against the real programs in an empty home with a scripted model.

The first lines, `# ...`, say the promise in one sentence; further comments may stand anywhere. Every other line is
a word and what it says. VALUE is JSON where it reads as JSON, else the text up to the end of the line. A PATH is
relative to the workspace, or to the home when it starts with "~/". {home} and {workspace} stand for these two in
`config` and `model` lines, {port} for the model's port.

before a run
  config KEY = TOML              a key of the configuration, dotted; `config - KEY` leaves out one the lab sets
  env NAME=TEXT                  a variable of agent6's environment
  file PATH | TEXT               appends a line to a file
  file PATH mode OCTAL           its mode
  file PATH -> TARGET            a symbolic link
  git WORDS                      runs git in the workspace
  commit SUBJECT                 makes the repository where there is none, and commits everything
  shell LINE                     runs a shell line in the workspace, as the person would
  wire openai|anthropic|responses|both   what the model speaks (openai)
  model text TEXT                the model's next turn; `model and ...` adds to the turn before
  model call NAME JSON           a tool call; `raw:TEXT` instead of JSON is sent as it is
  model status N [JSON]          an HTTP failure, with more members of mockllm's "fault"
  model fault JSON               mockllm's "fault" on the turn before
  model times N                  the turn before serves N requests
  model set JSON                 more members of the turn before: usage, wire, stop_reason, thinking
  run agent6 WORDS               runs it to its end, stdin from /dev/null; what follows is about this run

after a run
  exit N                         its exit status
  requests N                     model requests it made
  sent [I].WHERE OP VALUE        request I as the model saw it: system, first, last, tools (names), model, body,
                                 calls[J].{name,args,result}: the calls of the conversation so far
  output OP VALUE                what it printed
  file PATH OP VALUE             a file's content
  present PATH, absent PATH
  commits N                      steps on the run's chain
  chain PATH OP VALUE            a file of the newest step
  event TYPE [FIELD OP VALUE]    the newest event of that type; `event N TYPE [FIELD OP VALUE]` counts those of which it is so
OP is one of: is, contains, lacks, matches (a regular expression).

Checked after every run without being said: HEAD, branch and index are where they were, the journal proves itself,
a replay gives the same run again, the key is nowhere in it, no process and no file in the temporary directory is left.
"""
import contextlib
import ctypes
import json
import os
import re
import shlex
import subprocess
import urllib.request

import pytest

BASE = {
    "git.commit.name": '"Lab"',
    "git.commit.email": '"lab@example.invalid"',
    "providers.mock.api_format": None,
    "providers.mock.base_url": None,
    "providers.mock.api_key_env": '"MOCK_API_KEY"',
    "models.worker.provider": '"mock"',
    "models.worker.model": '"mock-model"',
    "sandbox.run_commands": '"yes"',
}


class StoryFailed(Exception):
    pass


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


OPS = {
    "is": lambda got, want: got == want,
    "contains": lambda got, want: want in got,
    "lacks": lambda got, want: want not in got,
    "matches": lambda got, want: re.search(want, got if isinstance(got, str) else json.dumps(got)) is not None,
}


def check(what, got, op, want):
    want = value(want)
    if isinstance(want, (int, float, bool)) and op != "is" and isinstance(got, str):
        want = json.dumps(want)
    if isinstance(got, (dict, list)) and op in ("contains", "lacks") and not (isinstance(got, list) and want in got):
        got = json.dumps(got, ensure_ascii=False)
    if op not in OPS:
        raise StoryFailed(f'"{op}" is not one of {", ".join(OPS)}')
    if got is None and op != "is" or not OPS[op](got, want):
        raise StoryFailed(f"{what} {op} {want!r}, but it is:\n{got if isinstance(got, str) else json.dumps(got)}")


# ---- a request as the model saw it ----

def flat(content):
    if isinstance(content, str):
        return content
    return "\n".join(b.get("text", "") if b.get("type", "text") == "text" else flat(b.get("content") or "")
                     for b in content or [] if isinstance(b, dict) and b.get("type") in ("text", "tool_result", None))


def seen(request):
    """One shape for both wires."""
    body = request["body"]
    calls, texts, system = [], [], flat(body.get("system") or "")
    by_id = {}

    def add(call_id, name, args):
        calls.append({"name": name, "args": args, "result": None})
        by_id[call_id] = calls[-1]
    for m in body["messages"]:
        if m["role"] in ("system", "developer"):
            system += flat(m["content"])
        for c in m.get("tool_calls") or []:
            add(c["id"], c["function"]["name"], value(c["function"]["arguments"]))
        blocks = m["content"] if isinstance(m["content"], list) else []
        for b in blocks:
            if b["type"] == "tool_use":
                add(b["id"], b["name"], b["input"])
            if b["type"] == "tool_result":
                by_id[b["tool_use_id"]]["result"] = value(flat(b["content"]))
        if m["role"] == "tool":
            by_id[m["tool_call_id"]]["result"] = value(flat(m["content"]))
        elif m["role"] == "user":
            text = "\n".join(b["text"] for b in blocks if b["type"] == "text") if blocks else m["content"]
            if text:
                texts.append(text)
    tools = [t["function"]["name"] if "function" in t else t["name"] for t in body.get("tools") or []]
    return {"system": system, "first": texts[0] if texts else "", "last": texts[-1] if texts else "", "tools": tools,
            "calls": calls, "model": body.get("model"), "body": body}


def walk(root, path):
    for key, index in re.findall(r"([A-Za-z_]\w*)|\[(-?\d+)\]", path):
        try:
            root = root[key] if key else root[int(index)]
        except (KeyError, IndexError, TypeError) as e:
            raise StoryFailed(f"{path}: there is no {key or index} in {json.dumps(root)[:600]}") from e
    return root


# ---- the story ----

def children():
    """Our living children: once we are a subreaper, whoever outlives its parents is one of them."""
    me, found = str(os.getpid()), []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            if fields[1] == me and fields[0] != "Z":
                found.append(int(p))
        except OSError:
            pass
    return found


def become_reaper(on=1):
    ctypes.CDLL(None).prctl(36, on, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def nobody_left(lab):
    """Nothing of a run is alive; what was killed may take a moment to be gone. Ends what become_reaper began: the dead
    that other tests look for would stay with us."""
    models = {m.proc.pid for m in lab.mocks}
    lab.wait_for(lambda: not set(children()) - models)
    become_reaper(0)


class Story:
    def __init__(self, lab, wire):
        self.lab, self.wire = lab, wire
        self.keys, self.env, self.turns = dict(BASE), {}, []
        self.last, self.model, self.journal = None, None, []
        for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
            self.env[name] = os.path.join(lab.folder, name)
            os.mkdir(self.env[name], 0o700)

    def path(self, name):
        return os.path.join(self.lab.home, name[2:]) if name.startswith("~/") else os.path.join(self.lab.ws, name)

    def filled(self, text):
        return text.replace("{home}", self.lab.home).replace("{workspace}", self.lab.ws)

    # ---- before ----
    def do_config(self, rest):
        if rest.startswith("- "):
            self.keys.pop(rest[2:].strip(), None)
            return
        key, toml = (s.strip() for s in rest.split("=", 1))
        for old in [k for k in self.keys if k.startswith(key + ".")]:
            del self.keys[old]
        self.keys[key] = self.filled(toml)

    def do_env(self, rest):
        name, text = rest.split("=", 1)
        self.env[name] = text

    def do_file(self, rest):
        name, op, text = (rest.split(" ", 2) + ["", ""])[:3]
        path = self.path(name)
        if op == "|":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "a", encoding="utf-8") as f:
                f.write(text + "\n")
        elif op == "mode":
            os.chmod(path, int(text, 8))
        elif op == "->":
            os.symlink(text.strip(), path)
        else:
            with open(path, encoding="utf-8", errors="surrogateescape") as f:
                check(name, f.read(), op, text)

    def do_git(self, rest):
        self.lab.git(*shlex.split(rest))

    def do_commit(self, rest):
        if not os.path.exists(self.path(".git")):
            self.lab.git("init", "-q", "-b", "main")
        self.lab.git("add", "-A")
        self.lab.git("commit", "-q", "--allow-empty", "-m", rest)

    def do_shell(self, rest):
        subprocess.run(["sh", "-e", "-c", rest], cwd=self.lab.ws, env=self.lab.env, check=True)

    def do_wire(self, rest):
        pass  # the collector made one test for each

    def do_model(self, rest):
        word, _, rest = rest.partition(" ")
        rest = rest.strip()
        if word == "and":
            word, _, rest = rest.partition(" ")
        elif word in ("text", "call", "status"):
            self.turns.append({})
        turn = self.turns[-1]
        if word == "text":
            turn["text"] = value(rest)
        elif word == "call":
            name, _, args = rest.partition(" ")
            made = {"name": name}
            if args.startswith("raw:"):
                made["raw_args"] = args[4:]
            else:
                made["args"] = json.loads(args or "{}")
            turn.setdefault("tool_calls", []).append(made)
        elif word == "status":
            number, _, more = rest.partition(" ")
            turn["fault"] = dict({"status": int(number)}, **json.loads(more or "{}"))
        elif word == "fault":
            turn["fault"] = json.loads(rest)
        elif word == "times":
            turn["loop"] = rest if rest == "forever" else int(rest)
        elif word == "set":
            turn.update(json.loads(rest))
        else:
            raise StoryFailed(f'model "{word}" is not one of text, call, status, fault, times, set, and')

    # ---- the run ----
    def start_model(self):
        if self.model:
            self.model.stop()
        self.model = self.lab.mock({"turns": [{"text": "Done."}]}, api=self.wire)
        port = self.model.url.rsplit(":", 1)[1]
        script = {"turns": self.turns or [{"text": "Done."}], "on_exhausted": "finish"}
        text = self.filled(json.dumps(script)).replace("{port}", port)
        request = urllib.request.Request(self.model.url + "/_mock/scenario", text.encode(), method="POST")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300).close()
        base = self.model.url + ("" if self.wire == "anthropic" else "/v1")
        self.turns = []
        for key, text in (("api_format", self.wire), ("base_url", base)):
            if f"providers.mock.{key}" in self.keys and self.keys[f"providers.mock.{key}"] is None:
                self.keys[f"providers.mock.{key}"] = json.dumps(text)
        self.lab.config("".join(f"{k} = {v}\n" for k, v in self.keys.items()))
        for key in ("api_format", "base_url"):
            if self.keys.get(f"providers.mock.{key}") in (json.dumps(self.wire), json.dumps(base)):
                self.keys[f"providers.mock.{key}"] = None

    def place(self):
        """Where the repository stands: what no run may move."""
        if not os.path.exists(self.path(".git")):
            return None
        return [self.lab.git("-c", "core.fsmonitor=false", *words, check=False) for words in (
            ("rev-parse", "-q", "--verify", "HEAD"), ("symbolic-ref", "-q", "HEAD"), ("ls-files", "-s"),
            ("for-each-ref",))]

    def do_run(self, rest):
        words = shlex.split(rest)
        if words[0] != "agent6":
            raise StoryFailed("a run starts with agent6")
        self.start_model()
        before, runs = self.place(), self.lab.run_dirs()
        become_reaper()
        self.last = self.lab.agent6(*words[1:], env=self.env, timeout=300)
        # the invariants
        merged = words[1:3] == ["runs", "merge"]
        after = self.place()
        if before is not None and not merged:
            refs = [[l for l in state[3].splitlines() if "refs/agent6/" not in l and "refs/heads/agent6/" not in l]
                    for state in (before, after)]
            assert before[:3] == after[:3] and refs[0] == refs[1], \
                f"the run moved HEAD, the branch, the index or a ref:\n{before}\n{after}"
        left = os.listdir(self.env["XDG_RUNTIME_DIR"]) + os.listdir(self.env["TMPDIR"])
        assert left == [], f"left behind: {left}"
        nobody_left(self.lab)
        made = [d for d in self.lab.run_dirs() if d not in runs]
        if made:
            self.run_dir = made[-1]
            self.id = os.path.basename(self.run_dir)
            with open(os.path.join(self.run_dir, "record", "logs.jsonl"), encoding="utf-8") as f:
                text = f.read()
            self.journal = [json.loads(l) for l in text.splitlines()]
            proof = self.lab.agent6("runs", "verify", self.id)
            assert proof.returncode == 0, f"the journal does not prove itself: {proof.both}"
            again = self.lab.agent6("replay", self.id)
            assert again.returncode == 0, f"the record does not give the same run again: {again.both}"
            found = subprocess.run(["grep", "-rl", self.lab.env["MOCK_API_KEY"], self.run_dir], capture_output=True, text=True)
            assert found.stdout == "", f"the key is in the record: {found.stdout}"
        else:
            self.run_dir, self.id, self.journal = None, None, []

    # ---- after ----
    def do_exit(self, rest):
        if self.last.returncode != int(rest):
            raise StoryFailed(f"exit {self.last.returncode}, not {rest}")

    def do_requests(self, rest):
        got = len(self.model.model_requests())
        if got != int(rest):
            raise StoryFailed(f"{got} requests, not {rest}")

    def do_sent(self, rest):
        where, op, want = rest.split(" ", 2)
        index, where = re.fullmatch(r"\[(-?\d+)\]\.?(.*)", where).groups()
        requests = self.model.model_requests()
        try:
            one = requests[int(index)]
        except IndexError:
            raise StoryFailed(f"there were {len(requests)} requests") from None
        check(f"request {index} {where}", walk(seen(one), where), op, want)

    def do_output(self, rest):
        op, want = rest.split(" ", 1)
        check("the output", self.last.both, op, want)

    def do_present(self, rest):
        if not os.path.lexists(self.path(rest)):
            raise StoryFailed(f"{rest} is not there")

    def do_absent(self, rest):
        if os.path.lexists(self.path(rest)):
            raise StoryFailed(f"{rest} is there")

    def chain(self):
        return self.lab.git("rev-parse", "-q", "--verify", f"refs/agent6/{self.id}/head", check=False).strip()

    def do_commits(self, rest):
        head = self.lab.git("rev-parse", "-q", "--verify", "HEAD", check=False).strip()
        tip, count = self.chain(), 0
        if tip:
            count = int(self.lab.git("rev-list", "--count", tip, *([f"^{head}"] if head else [])))
        if count != int(rest):
            raise StoryFailed(f"{count} commits, not {rest}:\n" + (self.lab.git("log", "--oneline", tip) if tip else ""))

    def do_chain(self, rest):
        name, op, want = rest.split(" ", 2)
        check(f"{name} of the chain", self.lab.git("show", f"{self.chain()}:{name}"), op, want)

    def do_event(self, rest):
        words = rest.split(" ", 3)
        if words[0].isdigit():
            field = rest.split(" ", 4)[2:]
            found = [e for e in self.journal if e["type"] == words[1]
                     and (not field or OPS[field[1]](walk(e, field[0]), value(field[2])))]
            if len(found) != int(words[0]):
                raise StoryFailed(f"{len(found)} events {words[1]}, not {words[0]}")
            return
        found = [e for e in self.journal if e["type"] == words[0]]
        if not found:
            raise StoryFailed(f"no event {words[0]} among {sorted({e['type'] for e in self.journal})}")
        if len(words) > 1:
            check(f"{words[0]} {words[1]}", walk(found[-1], words[1]), words[2], words[3])


WORDS = {n[3:] for n in vars(Story) if n.startswith("do_")}


class StoryItem(pytest.Item):
    def __init__(self, *, wire, lab, **kw):
        super().__init__(**kw)
        self.wire, self.make_lab = wire, lab

    def runtest(self):
        with self.make_lab() as lab:
            story = Story(lab, self.wire)
            for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
                if not line.strip() or line.startswith("#"):
                    continue
                word, _, rest = line.partition(" ")
                where = f"{self.path.name}:{number}: {line.strip()}"
                try:
                    if word not in WORDS:
                        raise StoryFailed(f'"{word}" is not one of {", ".join(sorted(WORDS))}')
                    getattr(story, "do_" + word)(rest.strip() if word != "file" else rest.lstrip())
                except pytest.skip.Exception:
                    raise
                except Exception as e:
                    said = f"\nit printed:\n{story.last.both[-2500:]}" if story.last else ""
                    ends = [e for e in story.journal if e["type"] == "run.end"][-1:]
                    raise StoryFailed(f"{where}\n{e}{said}\n{json.dumps(ends)[:1500]}") from (
                        None if isinstance(e, (StoryFailed, AssertionError)) else e)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, StoryFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, 0, f"{self.path.name}: {self.parent.promise}"


class StoryFile(pytest.File):
    lab = None

    def collect(self):
        lines = self.path.read_text(encoding="utf-8").splitlines()
        said = []
        for line in lines:
            if not line.startswith("#"):
                break
            if "SPDX" not in line and "Copyright" not in line:
                said.append(line[1:].strip())
        self.promise = " ".join(said).strip()
        if not self.promise:
            raise self.CollectError(f"{self.path.name}: the first line says what agent6 promises")
        wire = next((l.split()[1] for l in lines if l.startswith("wire ")), "openai")
        for one in ("openai", "anthropic") if wire == "both" else (wire,):
            yield StoryItem.from_parent(self, name=f"{self.path.stem}[{one}]", wire=one, lab=self.lab)


def left_in_tmp():
    """Directories of runs. Other tests' runs, which come and go beside this one, have theirs there too."""
    found = set()
    for d in os.listdir("/tmp"):
        with contextlib.suppress(FileNotFoundError):  # it went away while we looked
            if re.fullmatch(r"agent6-\w{6}", d) and os.lstat(f"/tmp/{d}").st_uid == os.geteuid():
                found.add(d)
    return found


def nothing_new_stays(lab, before):
    """What is there now and was not before goes away; what another test makes meanwhile is its own."""
    new = left_in_tmp() - before
    lab.wait_for(lambda: not new & left_in_tmp(), timeout=300)

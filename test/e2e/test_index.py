# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The code index through the real programs: every language, a build without grammars, and what is kept between two searches."""
import json
import os
import shutil
import subprocess

import pytest

from conftest import BUILD, call, finish, missing, script, turn
from test_mcp import results

# file, its text, what an outline names, and of one name where it is defined and where it is used (lines)
LANGUAGES = {
    "C": ("stack.c", """#include <stdlib.h>
#define LIMIT 16
struct stack { int *at; };
static int push_c(struct stack *s, int v)
{
	if (v > LIMIT)
		return -1; /* push_c */
	return *s->at = v;
}
int main(void)
{
	struct stack s = { malloc(4) };
	return push_c(&s, 3);
}
""", {"LIMIT", "stack", "push_c", "main"}, "push_c", [4], [4, 13]),
    "C++": ("shape.cpp", """namespace geometry {
class Shape {
public:
	virtual double area_cpp() const { return 0; }
};
double Total(const Shape &a) {
	return a.area_cpp() + a.area_cpp();
}
}
""", {"geometry", "Shape", "area_cpp", "Total"}, "area_cpp", [4], [4, 7]),
    "Python": ("bank.py", """LIMIT = 10


class Account:
    def deposit_py(self, n):
        \"\"\"deposit_py of n\"\"\"
        return n


def main():
    return Account().deposit_py(3)
""", {"LIMIT", "Account", "deposit_py", "main"}, "deposit_py", [5], [5, 11]),
    "JavaScript": ("queue.js", """class Queue {
  put_js(x) { return x }
}
const half = (x) => x / 2
function go() { return new Queue().put_js(half(2)) } // put_js
""", {"Queue", "put_js", "half", "go"}, "put_js", [2], [2, 5]),
    "TypeScript": ("user.ts", """export interface User { name: string }
type Id = string
enum Role { Admin }
export function find_ts(id: Id): User { return { name: id } }
const first = () => find_ts("1")
""", {"User", "Id", "Role", "find_ts", "first"}, "find_ts", [4], [4, 5]),
    "Go": ("server.go", """package main

type Server struct{ Port int }
type Handler interface{ Serve() }

func (s *Server) Listen_go() int { return s.Port }
func main() { (&Server{1}).Listen_go() }
""", {"Server", "Handler", "Listen_go", "main"}, "Listen_go", [6], [6, 7]),
    "Rust": ("parse.rs", """pub struct Token;
pub trait Parse { fn parse_rs(&self) -> Token; }
pub enum Kind { A }
impl Parse for Kind {
    fn parse_rs(&self) -> Token { Token }
}
fn main() { Kind::A.parse_rs(); }
""", {"Token", "Parse", "Kind", "parse_rs", "main"}, "parse_rs", [2, 5], [2, 5, 7]),
    "Java": ("Cart.java", """class Cart {
  int total_java() { return 1; }
  static void main(String[] a) { new Cart().total_java(); }
}
""", {"Cart", "total_java", "main"}, "total_java", [2], [2, 3]),
    "Ruby": ("mail.rb", """module Mail
  class Letter
    def send_rb; 1; end
  end
end
Mail::Letter.new.send_rb
""", {"Mail", "Letter", "send_rb"}, "send_rb", [3], [3, 6]),
    "Bash": ("deploy.sh", """#!/bin/bash
upload_sh() { echo "upload_sh $1"; }
function main { upload_sh now; }
main
""", {"upload_sh", "main"}, "upload_sh", [2], [2, 3]),
    "PHP": ("page.php", """<?php
namespace Site;
class Page { function render_php() { return 1; } }
function show() { return (new Page())->render_php(); }
""", {"Page", "render_php", "show"}, "render_php", [3], [3, 4]),
    "C#": ("Game.cs", """namespace Play {
class Game {
  int Score_cs() { return 1; }
  static void Main() { new Game().Score_cs(); }
}
}
""", {"Play", "Game", "Score_cs", "Main"}, "Score_cs", [3], [3, 4]),
    "JSON": ("package.json", """{
  "name_json": "a",
  "scripts": {"test": "name_json"}
}
""", {"name_json", "scripts"}, "name_json", [2], [2]),
}


def built_with(program):
    path = os.path.join(BUILD, program)
    if not os.path.exists(path):
        missing(f"{path} is not built")
    return subprocess.run([path, "--version"], capture_output=True, text=True, timeout=300, check=True).stdout


def ask_all(lab, agent6=None):
    """Of each language: outline, definitions, references, as the model sees them."""
    for file, text, *_ in LANGUAGES.values():
        lab.write(f"src/{file}", text)
    lab.repo()
    calls = [c for file, _, _, name, _, _ in LANGUAGES.values()
             for c in (call("outline", path=f"src/{file}"), call("find_definition", symbol=name), call("find_references", symbol=name))]
    mock = lab.mock(script(*[turn(*calls[i:i + 6]) for i in range(0, len(calls), 6)], finish()))
    if agent6:
        r = subprocess.run([agent6, "run", "--auto-approve", "look"], cwd=lab.ws, env=lab.env, capture_output=True, text=True,
                           timeout=300, stdin=subprocess.DEVNULL, check=False)
        assert r.returncode == 0, r.stderr
    else:
        r = lab.run("look", timeout=300)
        assert r.returncode == 0, r.both
    got = results(mock)[:len(calls)]
    return {language: got[3 * i:3 * i + 3] for i, language in enumerate(LANGUAGES)}, mock


def test_every_language_has_outlines_definitions_and_references(lab_of_each_profile):
    if "built without grammars" in built_with("agent6-index"):
        missing("agent6-index is built without grammars (tools/fetch-grammars)")
    answers, mock = ask_all(lab_of_each_profile)
    for language, (file, _, names, name, defined, used) in LANGUAGES.items():
        outline, definitions, references = answers[language]
        for answer in (outline, definitions, references):
            assert answer.get("source") == "tree-sitter", (language, answer)
        assert {s["name"] for s in outline["symbols"]} >= names, (language, outline)
        assert [(d["path"], d["line"]) for d in definitions["definitions"]] == [(f"src/{file}", n) for n in defined], (language, definitions)
        assert [(r["path"], r["line"]) for r in references["references"] if r["path"] == f"src/{file}"][-1][1] == used[-1], (language, references)
        assert {r["line"] for r in references["references"]} == set(used), (language, references)
    # The prompt says what the files define.
    first = json.dumps(mock.model_requests()[0]["body"]["messages"])
    assert "What source files define" in first and "push_c" in first and "Shape" in first


def test_names_that_many_files_use_are_in_the_prompt(lab):
    for i in range(6):
        lab.write(f"m{i}.py", f"from hub import spread_out\n\n\ndef own_{i}():\n    return spread_out({i})\n")
    lab.repo(hub_DOT_py="def spread_out(x):\n    return x\n")
    mock = lab.mock(script(finish()))
    assert lab.run().returncode == 0
    first = json.dumps(mock.model_requests()[0]["body"]["messages"])
    assert "Names that many files use" in first and "spread_out (7) hub.py" in first, first


def test_a_build_without_grammars_says_so_and_answers_by_ctags_then_patterns(lab):
    said = built_with("agent6-index-plain")
    assert "built without grammars" in said, said
    folder = os.path.join(lab.folder, "plain")
    os.makedirs(folder)
    for name in ("agent6", "agent6-jail", "agent6-net", "agent6-resolver"):
        shutil.copy(os.path.join(BUILD, name), folder)
    shutil.copy(os.path.join(BUILD, "agent6-index-plain"), os.path.join(folder, "agent6-index"))
    answers, _ = ask_all(lab, os.path.join(folder, "agent6"))
    with_ctags = "ctags: installed" in said
    for language, (file, _, names, name, defined, used) in LANGUAGES.items():
        outline, definitions, references = answers[language]
        # ctags knows definitions and no uses.
        assert outline["source"] in ("ctags", "patterns") and references["source"] == "patterns", (language, outline, references)
        assert with_ctags or outline["source"] == "patterns", language
        assert name in {s["name"] for s in outline["symbols"]}, (language, outline)
        assert (f"src/{file}", defined[-1]) in [(d["path"], d["line"]) for d in definitions["definitions"]], (language, definitions)
        assert (f"src/{file}", used[-1]) in [(r["path"], r["line"]) for r in references["references"]], (language, references)
    assert not with_ctags or "ctags" in {a[0]["source"] for a in answers.values()}


@pytest.mark.parametrize("by", ["edit", "command"])
def test_what_is_kept_between_two_searches_never_answers_for_an_old_text(lab, by):
    lab.repo(a_DOT_py="def one():\n    pass\n", b_DOT_py="one()\n")

    def change(old, new):
        return call("apply_edit", path="b.py", edits=[{"old_string": old, "new_string": new}]) if by == "edit" else \
            call("run_command", argv=["sh", "-c", f"printf '{new}' >b.py"])
    find = call("find_definition", symbol="one")
    texts = ["one()\\n", "def one(): 1\\n"] if by == "command" else ["one()\n", "def one(): 1\n"]
    mock = lab.mock(script(turn(find), turn(find), turn(change(texts[0], texts[1])), turn(find), turn(change(texts[1], texts[0])),
                           turn(find), turn(find), finish()))
    assert lab.run().returncode == 0
    got = [[d["path"] for d in r["definitions"]] for r in results(mock) if "definitions" in r]
    assert got == [["a.py"], ["a.py"], ["a.py", "b.py"], ["a.py"], ["a.py"]], got


def test_the_worker_believes_nothing_of_what_it_is_handed(lab):
    """What a worker that was taken over may have left for the next one."""
    lab.repo(a_DOT_py="def one():\n    pass\n")
    request = json.dumps({"what": "definitions", "symbol": "one", "pattern": r"\Qone\E", "path": "."}).encode()

    def ask(kept):
        r = subprocess.run([os.path.join(BUILD, "agent6-index")], input=request + kept, cwd=lab.ws, capture_output=True, timeout=300, check=False)
        end = r.stdout.index(b"\n", r.stdout.index(b'{"done"')) + 1
        assert r.returncode == 0 and b'"function one"' in r.stdout[:end], r
        return r.stdout[end:]
    assert ask(b"") == b"", "who gives nothing is left nothing"
    kept = ask(b"\n")
    if "without" not in built_with("agent6-index"):
        assert kept and ask(b"\n" + kept) == b"", "nothing new is not said again"
    for junk in (b"\x00", b"\xff" * 100, kept[:-1], kept + b"\x00", b"A" * (2 << 20), b"\n" * 1000, kept[:12] + b"\xff" * 12):
        ask(b"\n" + junk)


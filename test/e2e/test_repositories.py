# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Every kind of repository that git knows: a run with a step in it, `runs diff`, and `runs merge` in each strategy; or a
refusal with the reason before anything is changed. docs/git.md, "Kinds of repositories", is this table in words.

A row is shell. It is run twice, once for agent6 and once for plain git beside it: what `git add -A` would have written there
is what the step has to hold, blob by blob. Whatever the repository names as a program is a canary: it says in a file that it
ran, plain git does run it, and agent6 must not.
"""
import json
import os
import shutil
import subprocess

import pytest

from conftest import call, finish, script, turn

BASE = "echo one > a.txt; echo bee > b.txt; mkdir d; echo deep > d/n.txt; "
START = "git add -A; git commit -qm start; "
WORK = "echo two > a.txt; rm b.txt; echo new > d/new.txt; chmod 755 d/n.txt"
INIT = "git init -q -b main; "
HOOKS = ("applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change post-merge "
         "post-rewrite pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase prepare-commit-msg "
         "reference-transaction sendemail-validate post-update pre-receive update")
LFS = ("printf '*.bin filter=lfs diff=lfs merge=lfs -text\\n' > .gitattributes; "
       "canary clean 'mkdir -p \"$G/lfs\"; cat > \"$G/lfs/tmp\"; head -1 \"$G/lfs/tmp\" | grep -q ^version && exec cat \"$G/lfs/tmp\"; o=$(sha256sum < \"$G/lfs/tmp\" | cut -c1-64); n=$(wc -c < \"$G/lfs/tmp\"); "
       "mv \"$G/lfs/tmp\" \"$G/lfs/$o\"; printf \"version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n\" $o $n'; "
       "canary smudge 'o=$(sed -n s/^oid.sha256://p); cat \"$G/lfs/$o\"'; "
       "git config filter.lfs.clean .git/canary-clean; git config filter.lfs.smudge .git/canary-smudge; git config filter.lfs.required true; ")

# why; base: the repository with its first commit; work: what the model's command does; left: what is not recorded, and said;
# says: of the run; refused: with these words, and nothing is changed; canary: plain git runs one for the same work.
ROWS = [
    dict(why="plain", base=INIT + BASE + START),
    dict(why="LFS, a tracked file changed", base=INIT + BASE + LFS + "seq 2000 > big.bin; cp big.bin same.bin; " + START, work=WORK + "; echo more >> big.bin; echo x > fresh.bin", left=["big.bin", "fresh.bin"],
         says="content filter", canary=True),
    dict(why="LFS, only others changed", base=INIT + BASE + LFS + "echo blob > big.bin; " + START),
    dict(why="LFS, a tracked file looks changed and is not", base=INIT + BASE + LFS + "echo blob > big.bin; " + START,
         work=WORK + "; touch -d @1 big.bin", left=["big.bin"], status=[]),
    dict(why="LFS, only pointers are here", base=INIT + BASE + LFS + "echo blob > big.bin; " + START +
         "git config filter.lfs.smudge cat; rm big.bin; git checkout -q big.bin; grep -q oid big.bin"),
    dict(why="LFS, removed by the model", base=INIT + BASE + LFS + "echo blob > big.bin; " + START, work=WORK + "; rm big.bin"),
    dict(why="LFS named only in the person's own configuration", base=INIT + BASE + "echo '*.bin filter=lfs -text' > .gitattributes; "
         "git config --global filter.lfs.clean 'tr a-z A-Z'; echo blob > big.bin; " + START, work=WORK + "; echo more >> big.bin",
         left=["big.bin"], says="content filter"),
    dict(why="a filter by process", base=INIT + BASE + "echo '*.txt filter=p' > .gitattributes; canary process 'exit 1'; " + START +
         "git config filter.p.process .git/canary-process; git config filter.p.required true", work="echo n > code.c; echo 2 > a.txt",
         left=["a.txt"], says="a.txt", control="git config --remove-section filter.p; ", last="git config --remove-section filter.p"),
    dict(why="a filter that an included file of the work tree names later", base=INIT + BASE + "git config include.path ../inc; : > inc; " +
         START + "canary late cat", work="printf '[filter \"late\"]\\n\\tclean = .git/canary-late\\n' > inc; echo '*.txt filter=late' > "
         ".gitattributes; echo 2 > a.txt; echo n > c.c", left=["a.txt"], says="content filter", canary=True),
    dict(why="a submodule, recursed into, that would run a command", base=INIT + BASE + "test -d ../lib || { git init -q ../lib; git -C ../lib "
         "commit -q --allow-empty -m lib; }; git -c protocol.file.allow=always submodule --quiet add \"$(cd ..; pwd)/lib\" sub; git config submodule.recurse "
         "true; canary update; git config submodule.sub.update '!.git/canary-update'; " + START.replace("git add -A; ", "git add a.txt "
         "b.txt d; "), work=WORK),
    dict(why="sparse checkout, by directories", base=INIT + BASE + "mkdir out; echo o > out/o.txt; " + START +
         "git sparse-checkout set --cone d; test ! -e out/o.txt"),
    dict(why="sparse checkout, by patterns", base=INIT + BASE + "mkdir out; echo o > out/o.txt; " + START +
         "git sparse-checkout set --no-cone '/*' '!out/'; test ! -e out/o.txt"),
    dict(why="sparse checkout with a sparse index", base=INIT + BASE + "mkdir out; echo o > out/o.txt; " + START +
         "git sparse-checkout set --cone --sparse-index d; git ls-files --sparse | grep -q 'out/$'"),
    dict(why="a linked worktree with a configuration of its own", base="git init -q -b main ../top-$N; (cd ../top-$N; " + BASE + START +
         "git config extensions.worktreeConfig true); git -C ../top-$N worktree add -q \"$PWD\" -b side; canary hook; mkdir \"$G/h\"; "
         "cp \"$G/canary-hook\" \"$G/h/pre-commit\"; git config --worktree core.hooksPath \"$G/h\"", canary=True, branch="side"),
    dict(why="a worktree of a bare repository", base="git init -q -b main ../seed-$N; (cd ../seed-$N; " + BASE + START + "); "
         "git clone -q --bare ../seed-$N ../bare-$N; git -C ../bare-$N worktree add -q \"$PWD\" main"),
    dict(why="all hooks", base=INIT + BASE + START + "for h in " + HOOKS + "; do canary $h; mv .git/canary-$h .git/hooks/$h; done",
         canary=True),
    dict(why="core.hooksPath in the work tree", base=INIT + BASE + "canary h; echo hooks > .git/info/exclude; mkdir hooks; cp .git/canary-h hooks/pre-commit; cp "
         ".git/canary-h hooks/reference-transaction; git config core.hooksPath hooks; : > .git/ran; " + START, canary=True),
    dict(why="signing with OpenPGP", base=INIT + BASE + START + "canary gpg 'exit 1'; git config gpg.program .git/canary-gpg; git config "
         "commit.gpgSign true; git config tag.gpgSign true; git config user.signingKey ABCD; git config log.showSignature true",
         control="git config commit.gpgSign false; "),
    dict(why="signing with ssh", base=INIT + BASE + START + "canary ssh 'exit 1'; git config gpg.format ssh; git config gpg.ssh.program "
         ".git/canary-ssh; git config gpg.ssh.defaultKeyCommand .git/canary-ssh; git config commit.gpgSign true",
         control="git config commit.gpgSign false; "),
    dict(why="autocrlf true", base=INIT + BASE + START + "git config core.autocrlf true; rm a.txt; git checkout -q a.txt",
         work=WORK + "; printf 'x\\r\\ny\\r\\n' > a.txt; printf 'x\\r\\n\\0' > d/bin"),
    dict(why="autocrlf input", base=INIT + BASE + START + "git config core.autocrlf input", work=WORK + "; printf 'x\\r\\n' > a.txt"),
    dict(why="autocrlf in the person's own configuration", base=INIT + BASE + START + "git config --global core.autocrlf input",
         work=WORK + "; printf 'x\\r\\n' > a.txt"),
    dict(why="end-of-line attributes", base=INIT + BASE + "printf '*.txt text eol=crlf\\n*.sh text eol=lf\\n*.raw -text\\n' > "
         ".gitattributes; printf 'r\\r\\n' > r.raw; " + START, work=WORK + "; printf 'x\\r\\n' > a.txt; printf 'y\\r\\n' > s.sh; "
         "printf 'z\\r\\n' > r.raw"),
    dict(why="a text that is kept as UTF-16", base=INIT + BASE + "echo 'u.txt working-tree-encoding=UTF-16' > .gitattributes; "
         "printf '\\377\\376h\\0i\\0\\n\\0' > u.txt; " + START, work=WORK + "; printf '\\377\\376h\\0o\\0\\n\\0' > u.txt"),
    dict(why="ident", base=INIT + BASE + "echo '*.txt ident' > .gitattributes; echo '$Id$' > a.txt; " + START,
         work="rm b.txt; printf '$Id: 123 $\\nx\\n' > a.txt"),
    dict(why="attributes of this repository alone", base=INIT + BASE + START + "echo '*.txt text eol=crlf' > .git/info/attributes",
         work=WORK + "; printf 'x\\r\\n' > a.txt"),
    dict(why="what this repository and the person ignore", base=INIT + BASE + START + "echo '*.o' > .git/info/exclude; mkdir -p "
         "~/.config/git; echo '*.swp' > ~/.config/git/ignore", work=WORK + "; : > x.o; : > y.swp"),
    dict(why="SHA-256", base="git init -q -b main --object-format=sha256; " + BASE + START),
    dict(why="a shallow clone", base="git init -q -b main ../src-$N; (cd ../src-$N; " + BASE + START + "git commit -q --allow-empty -m 2); "
         "git clone -q --depth 1 \"file://$(cd ..; pwd)/src-$N\" .; test -e .git/shallow"),
    dict(why="a partial clone", base="git init -q -b main ../src-$N; (cd ../src-$N; " + BASE + "mkdir out; echo o > out/o.txt; " + START +
         "git config uploadpack.allowFilter true); git clone -q --filter=blob:none \"file://$(cd ..; pwd)/src-$N\" .; canary up; "
         "git config remote.origin.uploadpack .git/canary-up"),
    dict(why="alternates", base="git init -q -b main ../src-$N; (cd ../src-$N; " + BASE + START + "); git clone -q -s ../src-$N .",
         refused="objects/info/alternates"),
    dict(why="alternates that are granted", base="git init -q -b main ../src-$N; (cd ../src-$N; " + BASE + START +
         "); git clone -q -s ../src-$N .", grant="src-$N"),
    dict(why="reftable", base="git init -q -b main --ref-format=reftable; " + BASE + START, needs="git init -q --ref-format=reftable x"),
    dict(why="a file system monitor of the repository", base=INIT + BASE + START + "canary fsm; git config core.fsmonitor "
         ".git/canary-fsm", canary=True),
    dict(why="the file system monitor that git brings", base=INIT + BASE + START + "git config core.fsmonitor true"),
    dict(why="files kept elsewhere", base=INIT + BASE + START + "mkdir ../else-$N; git config core.worktree ../../else-$N",
         refused="core.worktree"),
    dict(why="a work tree that the repository does not know", base="git init -q -b main ../top-$N; (cd ../top-$N; " + BASE + START +
         "); echo \"gitdir: $(cd ..; pwd)/top-$N/.git\" > .git", refused="not the repository of this work tree"),
    dict(why="a format from the future", base=INIT + BASE + START + "git config core.repositoryFormatVersion 1; git config "
         "extensions.fromTheFuture true", refused="fromthefuture"),
    dict(why="upper case is lower case", base=INIT + BASE + START + "git config core.ignoreCase true; git config core.precomposeUnicode "
         "true; git config core.protectNTFS true", work=WORK + "; echo x > d/Ü.txt"),
    dict(why="modes and links do not count", base=INIT + BASE + "ln -s a.txt l; " + START + "git config core.fileMode false; git config "
         "core.symlinks false; rm l; git checkout -q l", work=WORK),
    dict(why="a replaced commit", base=INIT + BASE + START + "echo three > a.txt; git commit -qam 2; git replace HEAD~1 $(git commit-tree "
         "-m other HEAD~1^{tree})"),
    dict(why="grafts", base=INIT + BASE + START + "git commit -q --allow-empty -m 2; git rev-parse HEAD > .git/info/grafts"),
    dict(why="a split index", base=INIT + BASE + START + "git update-index --split-index; ls .git/sharedindex.*"),
    dict(why="an untracked cache and an index of version 4", base=INIT + BASE + START + "git update-index --index-version 4; git config "
         "feature.manyFiles true; git update-index --force-untracked-cache; git status -s"),
    dict(why="a huge index", base=INIT + BASE + START + "h=$(git hash-object -w a.txt); seq 40000 | sed \"s|.*|100644 $h\\tmany/f&|\" | "
         "git update-index --index-info; seq 40000 | sed 's|^|many/f|' | git update-index --skip-worktree --stdin; git commit -qm many"),
    dict(why="a configuration that is included on a condition", base=INIT + BASE + START + "canary inc; mkdir .git/h; cp .git/canary-inc "
         ".git/h/pre-commit; printf '[core]\\n\\thooksPath = .git/h\\n' > .git/more; git config includeIf.gitdir:**/.path more",
         canary=True),
    dict(why="a merge driver that is not needed", base=INIT + BASE + "echo '*.txt merge=own' > .gitattributes; canary drive; git config "
         "merge.own.driver '.git/canary-drive %O %A %B'; " + START),
    dict(why="textconv and an external diff", base=INIT + BASE + "printf '*.txt diff=own\\n*.md diff=conv\\n' > .gitattributes; canary ext; "
         "git config diff.own.command .git/canary-ext; git config diff.external .git/canary-ext; git config diff.conv.textconv "
         ".git/canary-ext; echo m > m.md; " + START, work=WORK + "; echo n > m.md"),
    dict(why="programs for everything else", base=INIT + BASE + START + "canary p; P=.git/canary-p; for k in core.editor core.pager "
         "core.sshCommand core.askPass core.gitProxy credential.helper core.alternateRefsCommand sequence.editor gc.recentObjectsHook "
         "uploadpack.packObjectsHook pager.status pager.diff interactive.diffFilter trailer.x.command trailer.x.cmd; do git config $k $P; "
         "done; git config alias.commit-tree \"!$P\"; git config alias.status \"!$P\"; git config gc.auto 1"),
    dict(why="shared with a group", base=INIT + BASE + START + "git config core.sharedRepository group", refused="core.sharedRepository"),
    dict(why="refs packed, no reflog, a commit graph", base=INIT + BASE + START + "git config core.sharedRepository umask; git config "
         "core.logAllRefUpdates false; git pack-refs --all; git gc -q; git commit-graph write --reachable"),
]

SHELL = """N=$(basename "$PWD"); G=$(git rev-parse --absolute-git-dir 2>/dev/null || echo "$PWD/.git")
canary() { G=$(git rev-parse --absolute-git-dir); printf '#!/bin/sh\\nG=%s\\necho %s >> %s\\necho %s >> $G/ran\\n%s\\n' "$G" "$1" \
"$RAN" "$1" "$2" > "$G/canary-$1"; chmod 755 "$G/canary-$1"; }
"""


def sh(lab, line, cwd, check=True):
    env = dict(lab.env, GIT_AUTHOR_NAME="Lab", GIT_AUTHOR_EMAIL="lab@example.invalid", GIT_COMMITTER_NAME="Lab",
               GIT_COMMITTER_EMAIL="lab@example.invalid", RAN=os.path.join(lab.folder, "ran-" + os.path.basename(cwd)))
    r = subprocess.run(["bash", "-ec", SHELL + line], cwd=cwd, env=env, capture_output=True)
    out = r.stdout.decode("utf-8", "replace")
    assert not check or r.returncode == 0, f"{line}: {out}{r.stderr.decode('utf-8', 'replace')}"
    return out


def canaries(lab, cwd):
    """Which programs of the repository said that they ran; then they are forgotten."""
    said = ""
    for path in (os.path.join(lab.folder, "ran-" + os.path.basename(cwd)),
                 os.path.join(sh(lab, "git rev-parse --absolute-git-dir || echo .git", cwd, check=False).split("\n")[0], "ran")):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                said += f.read()
            os.remove(path)
    return said


def tree(lab, rev, cwd):
    return dict(reversed(l.split("\t")) for l in sh(lab, f"git -c core.quotePath=false ls-tree -r {rev}", cwd).splitlines())


def everything(cwd):
    """Every file below and its bytes."""
    found = {}
    for folder, _, names in os.walk(cwd):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path):
                with open(path, "rb") as f:
                    found[path] = f.read()
    return found


def save(lab):
    shutil.rmtree(lab.folder + "/saved", ignore_errors=True)
    shutil.copytree(os.path.dirname(lab.ws), lab.folder + "/saved", symlinks=True)


def restore(lab):
    shutil.rmtree(os.path.dirname(lab.ws))
    shutil.copytree(lab.folder + "/saved", os.path.dirname(lab.ws), symlinks=True)


def plain(lab, row):
    """What plain git makes of the same work: the tree, and what it says of the files afterwards."""
    there = os.path.join(os.path.dirname(lab.ws), "plain")
    os.makedirs(there)
    sh(lab, row["base"], there)
    canaries(lab, there)
    sh(lab, row.get("control", "") + row.get("work", WORK), there)
    base = tree(lab, "HEAD", there)
    sh(lab, "git add -A; git commit -qm work", there)
    assert not row.get("canary") or canaries(lab, there), "the canary sings nowhere"
    want = tree(lab, "HEAD", there)
    for name in row.get("left", []):
        want.pop(name, None)
        if name in base:
            want[name] = base[name]
    return want


def refused(lab, row):
    before = everything(os.path.dirname(lab.ws))
    r = lab.run("change them")
    assert r.returncode == 2 and row["refused"] in r.both, r.both
    assert everything(os.path.dirname(lab.ws)) == before and not lab.run_dirs()


@pytest.mark.parametrize("row", ROWS, ids=[r["why"] for r in ROWS])
def test_a_kind_of_repository_works_as_with_plain_git_or_is_refused(lab, row):
    if "needs" in row and subprocess.run(["sh", "-c", row["needs"]], cwd=lab.folder, env=lab.env, capture_output=True).returncode:
        pytest.skip(f"this git has no {row['why']}")
    sh(lab, row["base"], lab.ws)
    canaries(lab, lab.ws)
    extra = ""
    if "grant" in row:
        path = os.path.join(os.path.dirname(lab.ws), row["grant"].replace("$N", "project"))
        extra = f"[sandbox]\nextra_read_paths = [{json.dumps(path)}]\n"
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", row.get("work", WORK)])), finish()), extra=extra)
    if "refused" in row:
        return refused(lab, row)
    want = plain(lab, row)
    r = lab.run("change them", "--run-id", "mine")
    assert r.returncode == 0, r.both
    assert row.get("says", "") in r.both, r.both
    for name in row.get("left", []):
        assert name in r.both, r.both
    diff = lab.agent6("runs", "diff", "mine")
    save(lab)
    sang = canaries(lab, lab.ws)
    restore(lab)
    assert not sang, sang
    assert tree(lab, "refs/agent6/mine/head", lab.ws) == want, r.both
    base = sh(lab, "git rev-parse refs/agent6/mine/head~1", lab.ws).strip()
    assert diff.returncode == 0 and diff.out == sh(lab, f"git -c core.quotePath=false diff --no-ext-diff --no-textconv {base} refs/agent6/mine/head",
                                                   lab.ws), diff.both
    for strategy in ("squash", "merge", "ff"):
        restore(lab)
        canaries(lab, lab.ws)
        m = lab.agent6("runs", "merge", "mine", "--strategy", strategy)
        assert m.returncode == 0, (strategy, m.both)
        sang = canaries(lab, lab.ws)
        assert not sang, (strategy, sang)
        assert tree(lab, row.get("branch", "main"), lab.ws) == want, (strategy, m.both)
        parents = len(sh(lab, "git --no-replace-objects rev-parse HEAD^@", lab.ws).split())
        assert parents == (2 if strategy == "merge" else 1), (strategy, parents)
        sh(lab, row.get("last", "true"), lab.ws)
        # Nothing of the merge is staged or missing; what was left out of the step is still the person's change.
        status = sh(lab, "git -c core.quotePath=false -c core.fsmonitor=false status --porcelain --ignore-submodules=all", lab.ws)
        assert sorted(l[3:] for l in status.splitlines()) == sorted(row.get("status", row.get("left", []))), (strategy, status, m.both)
        sh(lab, "git fsck --connectivity-only 2>&1 | grep -v dangling | grep -i 'missing\\|broken\\|error' && exit 1 || true", lab.ws)


def test_a_run_that_changed_nothing_but_filtered_files_says_so(lab):
    sh(lab, INIT + BASE + LFS + "echo blob > big.bin; " + START, lab.ws)
    canaries(lab, lab.ws)
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo more >> big.bin"])), finish()))
    r = lab.run("change it", "--run-id", "mine")
    assert r.returncode == 0 and "big.bin: it has a content filter" in r.both, r.both
    assert not canaries(lab, lab.ws) and "refs/agent6" not in lab.git("for-each-ref"), r.both
    lab.git("add", "big.bin")  # what the person adds is a pointer, as ever
    assert "oid sha256" in lab.git("show", ":big.bin")


@pytest.mark.parametrize("strategy", ["squash", "merge", "ff"])
def test_a_merge_that_needs_the_repositorys_own_driver_moves_nothing(lab, strategy):
    sh(lab, INIT + BASE + "echo '*.txt merge=own' > .gitattributes; canary drive 'exit 0'; git config merge.own.driver "
       "'.git/canary-drive %O %A %B'; " + START, lab.ws)
    lab.mock(script(turn(call("run_command", argv=["sh", "-ec", WORK])), finish()))
    assert lab.run("change them", "--run-id", "mine").returncode == 0
    sh(lab, "git checkout -q -- .; git clean -qfd; echo three > a.txt; git commit -qam three", lab.ws)
    before = sh(lab, "git for-each-ref refs/heads; git status --porcelain", lab.ws)
    m = lab.agent6("runs", "merge", "mine", "--strategy", strategy)
    assert m.returncode == 1 and ("merge driver of its own" if strategy != "ff" else "has moved since") in m.both, m.both
    assert not canaries(lab, lab.ws)
    assert sh(lab, "git for-each-ref refs/heads; git status --porcelain", lab.ws) == before
    sh(lab, "git merge -q agent6/mine || true", lab.ws)
    assert "drive" in canaries(lab, lab.ws), "plain git runs it"


def test_a_file_that_git_would_read_whole_costs_the_step_and_not_the_machine(lab):
    """The model is told, takes it back, and the next step holds what was done."""
    lab.repo(a="1\n")
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", "truncate -s 6G .gitignore; echo y > b"])),
                        turn(call("run_command", argv=["rm", ".gitignore"])), finish()))
    r = lab.run()
    assert r.returncode == 0, r.both
    said = " is there a very large .gitignore or .gitattributes?"
    failed = lab.events("loop.auto_commit.failed")
    assert len(failed) == 1 and "git has 4096 MiB:" + said in failed[0]["error"], failed
    assert said in str(m.model_requests()[1]["body"]["messages"])
    assert lab.git("show", f"{lab.events('loop.auto_commit')[-1]['sha']}:b").strip() == "y"

# a repository within the workspace is left alone: it is neither committed nor entered by git
file     a.txt | one
commit   start
shell    mkdir inner; git -C inner init -q -b main; echo x > inner/x; git -C inner add x; git -C inner -c user.name=x -c user.email=x@x commit -qm x
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call read_file {"path": "inner/x"}
model    call finish_run {"summary": "done"}
run      agent6 run "change one to two"
exit     0
sent     [2].calls[1].result.content contains "x"
commits  1
present  inner/.git/HEAD
shell    ! git ls-tree -r --name-only "$(git for-each-ref --format='%(objectname)' 'refs/agent6/*/head')" | grep -q inner

# in a repository without a commit the first step is the first commit of its chain
git      init -q -b main
model    call apply_edit {"path": "a.txt", "edits": [{"kind": "create", "old_string": "", "new_string": "one\n"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "make a.txt"
exit     0
commits  1
chain    a.txt is "one\n"

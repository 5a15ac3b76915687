# a detached HEAD is as good a place to start from as a branch
file     a.txt | one
commit   start
git      checkout -q --detach
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "change one to two"
exit     0
commits  1
chain    a.txt is "two\n"

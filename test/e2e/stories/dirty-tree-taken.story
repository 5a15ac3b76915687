# with require_clean_worktree off the person's changes are taken along in the first step
config   git.require_clean_worktree = false
file     a.txt | one
file     b.txt | old
commit   start
file     b.txt | mine
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "change one to two"
exit     0
commits  1
chain    b.txt is "old\nmine\n"

# without a repository the work is done, nothing is recorded as a commit, and that is said
file     a.txt | one
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "change one to two"
exit     0
output   matches "(?i)not a git repository"
file     a.txt is "two\n"
absent   .git

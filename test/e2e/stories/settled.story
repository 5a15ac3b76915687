# a run without a gate that changes nothing more after its last step is taken for done
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call read_file {"path": "a.txt", "limit": 1, "start_line": 1}
model    times forever
run      agent6 run "change one to two"
exit     0
event    run.end reason is settled
requests 7
commits  1

# a gate that was red before anything changed does not count against the run, which says so
file     verify.sh | exit 1
file     a.txt | one
commit   start
model    call run_verify_command {}
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call run_verify_command {}
model    call finish_run {"summary": "changed; the gate was red before"}
run      agent6 run "change one to two"
exit     4
event    loop.baseline ok is false
event    run.end reason is gate_red_at_base
event    run.end baseline is red
sent     [1].last contains "red before you changed anything"
commits  1

# a better gate that the model proposes is shown as a command to type, and is never applied
file     verify.sh | exit 1
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call run_verify_command {}
model    call finish_run {"summary": "done", "stale_gate": "make test"}
run      agent6 run "change one to two"
exit     4
event    run.end reason is gate_stale
event    run.end stale_gate is "make test"
output   contains "config set workflow.verify_command"

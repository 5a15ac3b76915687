# with verify_infer off there is no gate, and a step is what was edited
config   workflow.verify_infer = false
file     verify.sh | exit 1
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [0].tools lacks run_verify_command
event    run.end verified is not_applicable
commits  1

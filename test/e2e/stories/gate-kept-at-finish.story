# with require_verify_to_finish an unverified finish is sent back, and not more than three times
config   workflow.require_verify_to_finish = true
file     verify.sh | exit 0
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "surely green"}
model    times 4
run      agent6 run "change one to two"
exit     4
requests 5
event    3 loop.verify_finish.gated
sent     [2].last contains "Not finished"
event    run.end verified is unverified

# prose after work ends the run as done, without a call to finish
wire     both
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    text "It says two now."
run      agent6 run "change one to two"
exit     0
requests 2
event    run.end reason is silent_finish
event    run.end summary is "It says two now."
commits  1

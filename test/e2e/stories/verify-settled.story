# after a green gate, six turns that change nothing are taken for the end
file     a.txt | one
file     verify.sh | grep -q two a.txt
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call run_verify_command {}
model    call grep {"pattern": "a{{n}}"}
model    times forever
run      agent6 run "change one to two"
exit     0
event    run.end reason is verify_settled
event    loop.verify_settled.nudge idle is 3
requests 8
commits  1

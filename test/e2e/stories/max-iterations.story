# a run takes at most as many turns as it was given, and keeps what was made so far
file     a.txt | one
file     verify.sh | exit 0
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call grep {"pattern": "a{{n}}"}
model    times forever
run      agent6 run --max-iterations 3 "change one to two"
exit     1
requests 3
event    run.end reason is max_iterations
event    run.end iterations is 3
commits  1
chain    a.txt is "two\n"

# the same call ten times in a row ends the run, and at the third the model was told
file     a.txt | one
commit   start
model    call read_file {"path": "a.txt"}
model    times forever
run      agent6 run "look"
exit     1
requests 10
event    run.end reason is loop_guard_killed
event    run.end tool is read_file
event    run.end streak is 10
sent     [3].last contains "same call several times"

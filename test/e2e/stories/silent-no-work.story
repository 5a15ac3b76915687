# prose before any work is sent back twice, then taken for the end
commit   start
model    text "I would start by looking around."
model    times 3
run      agent6 run "change one to two"
exit     0
requests 3
event    2 loop.silent_no_work.nudge
event    run.end reason is silent_finish
commits  0

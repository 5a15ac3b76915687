# a model that gives no answer any more is nudged four times, then the run ends as not done
commit   start
model    text ""
model    times 5
run      agent6 run "change one to two"
exit     1
requests 5
event    4 loop.went_quiet.nudge
event    run.end reason is went_quiet
event    run.end all_passed is null

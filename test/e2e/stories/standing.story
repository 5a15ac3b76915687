# a standing goal is what a run goes on with when its task is done, until its turns are; without one the task's end is the end
file     a.txt | one
commit   start
model    call finish_run {"summary": "the task is done"}
model    call list_dir {"path": "."}
model    call finish_run {"summary": "the goal is, for now"}
model    call list_dir {"path": "."}
run      agent6 run --standing "keep a.txt short" --max-iterations 4 "look"
exit     1
requests 4
sent     [1].last contains "This run has a standing goal and goes on with it:\nkeep a.txt short"
event    2 loop.standing.resumed
event    run.end reason is max_iterations
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
requests 1
config   workflow.standing_patience = 0
model    call finish_run {"summary": "done"}
model    call finish_run {"summary": "nothing to do for it"}
run      agent6 run --standing "keep a.txt short" "look"
exit     0
requests 2
event    1 loop.standing.resumed

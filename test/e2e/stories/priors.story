# the opening of a run tells where files are and which ones change together, unless that is switched off
file     top.txt | x
file     src/a.c | 1
file     src/b.c | 1
commit   one
shell    for i in 2 3 4 5 6 7 8 9; do echo $i > src/a.c; echo $i > src/b.c; git -c user.name=x -c user.email=x commit -qam "change $i"; done
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [0].first contains "Directories and their files:\n  src: a.c b.c"
sent     [0].first contains "change together (how often):\n  src/a.c + src/b.c (9)"
sent     [0].system contains "For a job of several parts keep a task list"
config   prompt.structural_priors = false
config   prompt.decompose = "off"
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [0].first lacks "Directories"
sent     [0].first lacks "together"
sent     [0].system lacks "task list"
model    call finish_run {"summary": "done"}
run      agent6 run --decompose "look"
exit     0
sent     [0].system contains "First break the task up with add_task"

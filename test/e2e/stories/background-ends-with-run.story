# what still runs when the run is over ends with it, children and all, and the person is told
commit   start
model    call run_command {"argv": ["sh", "-c", "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; while :; do sleep 100; done' & sleep 1000"], "background": true}
model    call finish_run {"summary": "done"}
run      agent6 run "start"
exit     0
event    command.ended state is "stopped with the run"
output   contains "bg1 stopped with the run"

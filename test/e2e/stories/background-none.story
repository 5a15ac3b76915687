# without a sandbox too a background command is read, stopped with all it started, and ends with the run
config   sandbox.profile = "none"
shell    mkfifo ready
commit   start
model    call run_command {"argv": ["sh", "-c", "echo up; echo now > ready; setsid sh -c 'trap \"\" TERM; while :; do sleep 100; done' & sleep 1000"], "background": true}
model    call run_command {"argv": ["sh", "-c", "read said < ready; setsid sleep 1000 & echo $said"]}
model    call stop_background {"id": "bg1"}
model    call run_command {"argv": ["sh", "-c", "setsid sleep 1000 & sleep 1000"], "background": true}
model    call finish_run {"summary": "done"}
run      agent6 run "start"
exit     0
sent     [2].calls[1].result.stdout is "now\n"
sent     [3].calls[2].result.shells[0] contains "[bg1] stopped"
sent     [3].calls[2].result.output is "up\n"
event    command.ended state is "stopped with the run"

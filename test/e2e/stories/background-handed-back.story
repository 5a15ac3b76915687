# a command that takes longer than the check-in is handed back, runs on, and is waited for
config   workflow.command_checkin_s = 3
commit   start
model    call run_command {"argv": ["sh", "-c", "echo first; while ! [ -f go ]; do :; done; echo second; exit 3"]}
model    call run_command {"argv": ["touch", "go"]}
model    call read_background {"id": "bg1", "wait_s": 60}
model    call finish_run {"summary": "done"}
run      agent6 run "build"
exit     0
sent     [1].calls[0].result.returncode is null
sent     [1].calls[0].result.still_running is true
sent     [1].calls[0].result.stdout is "first\n"
sent     [3].calls[2].result.output is "second\n"
sent     [3].calls[2].result.shells[0] contains "[bg1] exited (exit 3): sh -c"
event    command.backgrounded handed_back is true
event    command.ended exit_code is 3

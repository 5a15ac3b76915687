# a command that takes too long is killed with all its children, and the run goes on
config   workflow.command_timeout_s = 3
commit   start
model    call run_command {"argv": ["sh", "-c", "(while :; do :; done) & echo started; while :; do :; done"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [1].calls[0].result.returncode is 124
sent     [1].calls[0].result.timed_out is true
sent     [1].calls[0].result.stdout is "started\n"

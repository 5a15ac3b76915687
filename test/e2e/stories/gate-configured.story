# a configured gate wins, and its time limit holds
config   workflow.verify_command = ["sh", "-c", "while :; do :; done"]
config   workflow.verify_timeout_s = 1
file     verify.sh | exit 0
commit   start
model    call run_verify_command {}
model    call finish_run {"summary": "it hangs"}
run      agent6 run "look"
exit     4
event    loop.verify_inferred source is configured
output   contains "gate (configured): sh -c"
event    verify.end exit_code is 124
sent     [1].calls[0].result.timed_out is true

# a command that fails, dies or does not exist is an answer for the model, not the end of the run
commit   start
model    call run_command {"argv": ["sh", "-c", "echo out; echo err >&2; exit 3"]}
model    call run_command {"argv": ["sh", "-c", "kill -9 $$"]}
model    call run_command {"argv": ["no-such-program"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [3].calls[0].result.returncode is 3
sent     [3].calls[0].result.stderr is "err\n"
sent     [3].calls[1].result.returncode is 137
sent     [3].calls[2].result.returncode is 127
sent     [3].calls[2].result.exec_failed is true

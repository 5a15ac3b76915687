# where commands are forbidden the model is not offered them, and one that is asked for all the same is refused
wire     both
config   sandbox.run_commands = "no"
file     verify.sh | exit 1
commit   start
model    call run_command {"argv": ["touch", "made"]}
model    call run_verify_command {}
model    call finish_run {"summary": "done"}
run      agent6 run --auto-approve "look"
exit     0
sent     [0].tools lacks run_command
sent     [0].tools lacks run_verify_command
sent     [1].calls[0].result.error contains "run_commands"
event    0 verify.start
absent   made

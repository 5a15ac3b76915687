# a tool that does not exist is answered with the ones that do
wire     both
commit   start
model    call delete_everything {"path": "/"}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [1].calls[0].result.error contains "delete_everything"

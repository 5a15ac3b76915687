# an error of the server is tried again, and the model's conversation holds nothing of it
wire     both
commit   start
model    status 500
model    status 529
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
requests 3
event    2 loop.provider.retry
sent     [2].calls is []
event    run.end reason is finish_run

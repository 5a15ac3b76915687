# an id that was used once is not used again, and the first record stays
commit   start
model    call finish_run {"summary": "done"}
run      agent6 run --run-id mine "look"
exit     0
run      agent6 run --run-id mine "look again"
exit     2
requests 0
output   contains "mine"
run      agent6 runs verify mine
exit     0
run      agent6 run --run-id ../escape "look"
exit     2
output   contains "is not a run id"

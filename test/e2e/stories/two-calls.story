# several calls of one turn run in order and each gets its own answer
wire     both
file     a.txt | one
commit   start
model    call run_command {"argv": ["sh", "-c", "echo two >> a.txt"]}
model    and call read_file {"path": "a.txt"}
model    and call read_file {"path": "none.txt"}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [1].calls[1].result.content matches "one\ntwo"
sent     [1].calls[2].result.error contains "none.txt"

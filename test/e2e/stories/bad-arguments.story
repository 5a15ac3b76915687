# arguments that are no JSON are answered with what is wrong, and nothing runs
file     a.txt | one
commit   start
model    call run_command raw:{"argv": ["rm", "a.txt"]
model    and text "x"
model    call read_file {"path": 7}
model    call read_file {"path": "a.txt", "lines": 3}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [2].calls[1].result.error matches "path"
sent     [3].calls[2].result.error contains "lines"
present  a.txt

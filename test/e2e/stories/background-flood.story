# a background command that floods its output costs the run neither memory nor an answer
commit   start
model    call run_command {"argv": ["sh", "-c", "yes 0123456789012345678901234567890123456789 | head -c 300000000; echo END"], "background": true}
model    call read_background {"id": "bg1", "wait_s": 120, "tail_lines": 2000}
model    call finish_run {"summary": "done"}
run      agent6 run "flood"
exit     0
sent     [2].calls[1].result.output contains "bytes left out"
sent     [2].calls[1].result.output matches "END\n$"
event    command.ended exit_code is 0

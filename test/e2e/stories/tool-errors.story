# the same tool error again and again is pointed out at three and five, and ends the run at eight
commit   start
model    call read_file {"path": "none-{{n}}.txt"}
model    times forever
run      agent6 run "look"
exit     1
requests 8
event    2 loop.tool_error.nudge
event    run.end reason is tool_error_stuck
sent     [1].calls[0].result.error contains "none-1.txt"
sent     [3].last contains "same tool error"

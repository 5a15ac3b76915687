# half a stream counts for nothing: no half tool call runs, and the turn is asked for again
wire     both
file     a.txt | one
commit   start
model    text "I will delete it, since this is what you want."
model    and call run_command {"argv": ["rm", "a.txt"]}
model    fault {"cut": {"after_events": 4, "how": "eof"}}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
requests 2
event    1 loop.provider.retry
event    1 tool.call
present  a.txt

# a connection that breaks, before or within a reply, is tried again
wire     both
commit   start
model    text "lost"
model    fault {"drop": "reset"}
model    text "lost as well"
model    fault {"cut": {"after_events": 2, "extra_bytes": 10, "how": "reset"}}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
event    2 loop.provider.retry
event    run.end reason is finish_run

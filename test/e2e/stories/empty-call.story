# a turn that promised a tool call and held none is asked for again
wire     both
commit   start
model    text ""
model    set {"stop_reason": "tool_use"}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
event    1 loop.provider.empty_tool_call_retry
event    run.end reason is finish_run

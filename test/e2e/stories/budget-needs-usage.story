# an answer without token counts is not asked for again: its tokens are estimated, marked so, and count
commit   start
model    call grep {"pattern": "two"}
model    set {"usage": null}
model    call finish_run {"summary": "nothing to do"}
model    set {"usage": null}
run      agent6 run "look"
exit     0
requests 2
event    0 loop.provider.retry
event    run.end reason is finish_run
output   contains "they are estimated"
output   contains "(tokens estimated)"

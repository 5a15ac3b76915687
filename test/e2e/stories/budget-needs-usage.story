# an answer without token counts is not taken under a budget, but asked for again
commit   start
model    text "free of charge"
model    set {"usage": null}
model    text "Nothing to do."
model    times 3
run      agent6 run "look"
exit     0
event    loop.provider.retry attempt is 1
event    run.end reason is silent_finish
output   contains "token counts"

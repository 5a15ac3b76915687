# a run that changed nothing says that its gate was not run, and is done
file     a.txt | one
file     verify.sh | exit 1
commit   start
model    call finish_run {"summary": "there is nothing to do"}
run      agent6 run --run-id mine "look"
exit     0
event    run.end verified is not_applicable
output   contains "finished"
output   contains "nothing was changed; the gate was not run"
run      agent6 runs show mine
output   contains "nothing was changed; the gate was not run"

# a Makefile with a test target is a gate
file     Makefile | test:
file     Makefile | 	echo tested
commit   start
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
event    loop.verify_inferred source is "Makefile:test"
event    loop.verify_inferred command is ["make", "test"]

# dollars are a limit where the price is known, and a flag sets it for one run
config   models.worker.price_in = 10
config   models.worker.price_out = 10
commit   start
model    call grep {"pattern": "two"}
model    set {"usage": {"input": 100000, "output": 0}}
model    times forever
run      agent6 run --max-usd 1.5 "look"
exit     3
requests 1
event    run.end reason is budget_exhausted
event    run.end usd is 1.0

# a model of a provider that is not configured is named, and no run starts
config   models.worker.provider = "nobody"
commit   start
run      agent6 run "look"
exit     2
requests 0
output   contains "nobody"

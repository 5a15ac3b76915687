# without a model for the worker no run starts, and the way to choose one is said
config   - models.worker.model
commit   start
run      agent6 run "look"
exit     2
requests 0
output   contains "agent6 model worker"

# a metric pattern without a group is refused before anything is started
config workflow.metric.command = ["cat", "score"]
config workflow.metric.pattern = "score"
commit start
run agent6 run "make it better"
exit 2
output contains "workflow.metric.pattern has no group"
requests 0

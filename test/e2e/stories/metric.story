# a number is made better: it is taken after each green gate, and a finish over a worse one is sent back
wire both
config workflow.verify_command = ["true"]
config workflow.metric.command = ["cat", "score"]
config workflow.metric.pattern = "score ([0-9]+)"
config workflow.metric.goal = "maximize"
file score | score 1
commit start
model call apply_edit {"path": "score", "edits": [{"old_string": "score 1", "new_string": "score 5"}]}
model and call run_verify_command {}
model call apply_edit {"path": "score", "edits": [{"old_string": "score 5", "new_string": "score 3"}]}
model and call run_verify_command {}
model call finish_run {"summary": "worse"}
model call apply_edit {"path": "score", "edits": [{"old_string": "score 3", "new_string": "score 9"}]}
model and call run_verify_command {}
model call finish_run {"summary": "better"}
run agent6 run "make it better"
exit 0
event run.end summary is better
event 3 loop.metric.sample
event loop.metric.sample score is 9
event 1 loop.metric_early_finish.rejected
sent [1].last contains "is 5, the first sample"
sent [2].last contains "is 3, no better than the best, 5"
sent [3].last contains "Not finished"
sent [0].tools contains run_metric_command

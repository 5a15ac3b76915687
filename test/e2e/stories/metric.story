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
# the task's own numbers are targets, the nearest first; a finish over a worse sample that reaches them all is accepted
shell git checkout -q .
model call apply_edit {"path": "score", "edits": [{"old_string": "score 1", "new_string": "score 5"}]}
model and call run_verify_command {}
model call apply_edit {"path": "score", "edits": [{"old_string": "score 5", "new_string": "score 40"}]}
model and call run_verify_command {}
model call apply_edit {"path": "score", "edits": [{"old_string": "score 40", "new_string": "score 30"}]}
model and call run_verify_command {}
model call finish_run {"summary": "30 will do"}
run agent6 run "score >= 20, at least > 7"
exit 0
event run.end summary is "30 will do"
sent [1].last contains "Next target: 7."
sent [2].last contains "Every number that the task names is reached."
sent [3].last contains "is 30, no better than the best, 40"
event 0 loop.metric_early_finish.rejected
# a number that is all there is ends the run
shell git checkout -q .
model call apply_edit {"path": "score", "edits": [{"old_string": "score 1", "new_string": "score 12/12"}]}
model and call run_verify_command {}
model text "never asked"
run agent6 run "pass them all"
exit 0
requests 1
event run.end reason is metric_plateau
event loop.metric_ceiling.stop score is 12
output contains "the metric is all there is, 12"

# words instead of finish_run are reviewed too; what is sent back twice in a row is the person's to decide, and one that passes forgives one
file     a.txt | one
commit   start
config   review.trigger = "before_finish"
config   review.decision = "veto"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    text "All done."
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"security\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"a secret\"}]}"
model    call finish_run {"summary": "it is none"}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"security\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"a secret\"}]}"
model    call finish_run {"summary": "it is none, really"}
run      agent6 run "change it"
exit     0
requests 6
sent     [3].last contains "a review of your change blocks it"
event    1 loop.review.rejected_silent_finish
event    1 loop.review.rejected_finish
event    1 loop.review.rejection_cap_reached
event    loop.review.rejection_cap_reached rejections is 2
event    run.end reason is finish_run
output   contains "the person decides"
# a review costs nothing where nothing changed, and little is left of the budget
shell    git checkout -q .
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
requests 1
event    loop.review.skipped reason is no_diff
config   review.budget_fraction = 1
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "change it"
exit     0
requests 2
event    loop.review.skipped reason is budget_fraction
# in all no more than review.max_total_rejections are sent back
shell    git checkout -q .
config   review.budget_fraction = 0
config   review.max_total_rejections = 1
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"security\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"a secret\"}]}"
model    call finish_run {"summary": "done"}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"security\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"a secret\"}]}"
run      agent6 run "change it"
exit     0
requests 5
event    loop.review.panel disarmed is true
event    1 loop.review.rejection_cap_reached

# a range that ends in a run is what the run did; before a run may finish a review can send it back, twice in a row at most
file     a.txt | one
commit   start
config   review.trigger = "before_finish"
config   review.decision = "veto"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"correctness\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"should be three\"}]}"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "three"}]}
model    call finish_run {"summary": "done now"}
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 run --run-id mine "change it"
exit     0
sent     [3].last contains "a review of your change blocks it"
sent     [3].last contains "should be three"
event    1 loop.review.rejected_finish
event    2 loop.review.panel
event    run.end summary is "done now"
model    text "{\"verdict\":\"pass\",\"summary\":\"fine\",\"findings\":[]}"
run      agent6 review --range main..mine
exit     0
sent     [0].first contains "-one\n+three"
output   contains "Verdict: No objection"

# a review in which every seat abstains is no verdict, and the end says so
file     a.txt | one
commit   start
config   review.trigger = "before_finish"
config   review.decision = "veto"
config   review.seats = ["security", "correctness", "tests"]
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
model    text "no object here"
model    times forever
run      agent6 run --run-id mine "change it"
exit     0
event    loop.review.panel n_abstain is 3
output   contains "review (before the end): asking"
output   matches "review   nobody judged: 3 abstained"
output   lacks "0 block"
run      agent6 runs show mine
output   contains "nobody judged: 3 abstained"
file     a.txt | four
run      agent6 review
output   contains "the reviewer security gave no answer that can be used"
output   contains "review (asked for): asking"

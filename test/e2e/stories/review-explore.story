# in tier explore a seat reads the repository before it answers, with tools that only read, at most six requests in all
wire     both
file     a.txt | one
file     lib/names.txt | the list of names
commit   start
shell    echo two > a.txt
config   review.tier = "explore"
model    call read_file {"path": "lib/names.txt"}
model    and call apply_edit {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "six"}]}
model    call grep {"pattern": "list of"}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"correctness\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"not in the list of names\"}]}"
run      agent6 review --decision veto
exit     2
requests 3
sent     [0].tools contains read_file
sent     [0].tools contains grep
sent     [0].tools lacks apply_edit
sent     [0].tools lacks run_command
sent     [1].body contains "the list of names"
sent     [1].body contains "not available in review mode"
sent     [2].body contains "lib/names.txt"
file     a.txt is "two\n"
output   contains "not in the list of names"
shell    grep -q '"type":"loop.review.look","iteration":1,"persona":"reviewer","name":"grep"' ~/.local/state/agent6/*/reviews/*/record/logs.jsonl
# the sixth request takes no more calls
model    call list_dir {"path": "."}
model    call list_dir {"path": "lib"}
model    call read_file {"path": "lib/names.txt"}
model    call list_dir {"path": "."}
model    call list_dir {"path": "lib"}
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 review
exit     0
requests 6
sent     [4].body lacks "That was the last look"
sent     [5].last contains "That was the last look. Answer now"
# the diff alone, when that is wanted once
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 review --tier diff
exit     0
sent     [0].tools is []
run      agent6 review --tier deep
exit     2
output   contains "is not one of diff, explore"
# in a run too, before it may finish
shell    git checkout -q .
config   review.trigger = "before_finish"
config   review.decision = "veto"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
model    call read_file {"path": "lib/names.txt"}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"correctness\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"not a name\"}]}"
model    call finish_run {"summary": "done all the same"}
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 run "change it"
exit     0
requests 6
sent     [3].body contains "the list of names"
sent     [4].last contains "not a name"
event    1 loop.review.look
event    1 loop.review.rejected_finish

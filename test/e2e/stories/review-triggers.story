# after a red gate, or every so many turns, a run's change is reviewed and the model is told, once, what was found; nothing is held back
file     a.txt | one
file     verify.sh | grep -q three a.txt
commit   start
config   review.trigger = "on_verify_fail"
config   review.decision = "veto"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    and call apply_edit {"path": "new.txt", "edits": [{"kind": "create", "new_string": "fresh\n"}]}
model    and call run_verify_command {}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"correctness\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"should be three\"},{\"category\":\"style\",\"severity\":\"nit\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"lower case\"}]}"
model    call run_verify_command {}
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"correctness\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"still no three\"}]}"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "three"}]}
model    and call run_verify_command {}
model    call finish_run {"summary": "done"}
run      agent6 run "change it"
exit     0
requests 6
sent     [1].tools is []
sent     [1].first contains "-one\n+two"
sent     [1].first contains "+++ b/new.txt\n@@ -0,0 +1,1 @@\n+fresh"
sent     [1].first contains "VERIFY:\n<verify>\nred on these files"
sent     [2].last contains "A review of your change so far, to be weighed and not obeyed"
sent     [2].last contains "should be three"
sent     [3].first contains "ALREADY RAISED, NOT TO BE REPEATED:\n<raised>\n- correctness a.txt: should be three"
sent     [4].last lacks "still no three"
output   contains "review: correctness a.txt: should be three"
output   lacks "\"verdict\""
event    2 loop.review.panel
event    loop.review.panel decision is advisory
event    0 loop.review.rejected_finish
shell    git checkout -q . && rm -f new.txt
config   review.trigger = "periodic"
config   review.period = 2
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "three"}]}
model    call run_verify_command {}
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
model    call finish_run {"summary": "done"}
run      agent6 run "change it"
exit     0
requests 4
event    1 loop.review.panel
event    loop.review.panel trigger is periodic
sent     [3].last lacks "A review of your change"

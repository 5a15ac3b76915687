# a review judges what is new in the work tree; only findings that quote lines of it count, and it can block
wire     both
file     a.txt | one
file     .gitignore | ignored
commit   start
shell    echo two > a.txt; echo secret=1 > new.txt; echo x > ignored
config   models.reviewer.model = "reviewer-model"
model    text "no object here"
model    text "```json\n{\"verdict\":\"block\",\"summary\":\"bad\",\"findings\":[{\"category\":\"security\",\"severity\":\"block\",\"path\":\"new.txt\",\"quote\":\"secret=1\",\"title\":\"a secret\"},{\"category\":\"security\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"three\",\"title\":\"made up\"}]}\n```"
run      agent6 review --run-id r1 --decision veto
exit     2
requests 2
sent     [0].model is reviewer-model
sent     [0].tools is []
sent     [0].first contains "-one\n+two"
sent     [0].first contains "+++ b/new.txt\n@@ -0,0 +1,1 @@\n+secret=1"
sent     [0].first lacks "ignored"
sent     [1].last contains "That answer cannot be used: there is no JSON object in it"
output   contains "- **block** security `new.txt`:1 a secret"
output   contains "- **warn** security `a.txt` made up (quotes nothing that stands in the diff)"
output   contains "Verdict: Block"
file     a.txt is "two\n"
model    text "{\"verdict\":\"pass\",\"summary\":\"it is a test value\",\"findings\":[]}"
run      agent6 resume r1 --steer "the secret is for a test"
exit     0
sent     [0].first contains "the secret is for a test"
sent     [0].first contains "+secret=1"
output   contains "Verdict: No objection"
run      agent6 replay r1
exit     0
model    text "{\"verdict\":\"block\",\"findings\":[{\"category\":\"style\",\"severity\":\"block\",\"path\":\"a.txt\",\"quote\":\"two\",\"title\":\"ugly\"}]}"
model    set {"match": {"system": "could use"}}
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 review --json --decision all --seat security --seat "typos in names"
exit     0
requests 2
output   contains "\"persona\":\"typos in names\""
output   contains "\"blocked\":false"
model    text "no"
model    times forever
run      agent6 review
exit     1
output   contains "Verdict: Inconclusive"
run      agent6 runs list
output   contains "review: reviewed"
run      agent6 review --base nosuch
exit     2
output   contains "\"nosuch\" is no commit here"
run      agent6 review --decision maybe
exit     2
shell    git stash -q -u
run      agent6 review
exit     0
output   contains "There is nothing to review."

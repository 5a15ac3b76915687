# what of a change is judged, and by whom, can be said with flags
file     a.txt | one
file     lib/b.txt | bee
shell    echo bee > "lib/with blank.txt"
commit   start
shell    git checkout -q -b feature && echo two > a.txt && echo sea > lib/b.txt && git -c user.name=Ann -c user.email=ann@example.invalid commit -qam second && git checkout -q main
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 review --base main --head feature --path lib
exit     0
requests 1
sent     [0].first contains "-bee\n+sea"
sent     [0].first lacks "+two"
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 review --base main --head feature --path a.txt --path nowhere
exit     0
sent     [0].first contains "-one\n+two"
sent     [0].first lacks "+sea"
run      agent6 review --base main --head feature --path li
exit     0
requests 0
output   contains "There is nothing to review."
run      agent6 review --head feature
exit     2
output   contains "--head needs --base"
shell    echo changed > "lib/with blank.txt" && echo three > a.txt && echo new > lib/c.txt && chmod 755 lib/b.txt
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 review --path ./lib/
exit     0
sent     [0].first contains "+new"
sent     [0].first contains "new mode 100755"
sent     [0].first lacks "+three"
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
run      agent6 review --path "lib/with blank.txt"
exit     0
sent     [0].first contains "-bee\n+changed"
sent     [0].first lacks "+new"
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
model    times 3
run      agent6 review --json --reviewers 3 --personas "tests, names that lie"
exit     0
requests 3
output   contains "\"persona\":\"names that lie\""
output   matches "\"persona\":\"tests\".*\"persona\":\"tests\""
model    text "{\"verdict\":\"pass\",\"findings\":[]}"
model    times 2
run      agent6 review --json --reviewers 2
exit     0
output   matches "\"persona\":\"security\".*\"persona\":\"correctness\""
run      agent6 review --personas "a,,b"
exit     2
output   contains "has an empty name in it"
run      agent6 review --seat security --personas tests
exit     2
output   contains "exclude each other"

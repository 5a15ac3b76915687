# a merge leaves what the person changed meanwhile as it is, and says so
file     a.txt | one
file     b.txt | bee
file     s.txt | ess
commit   start
model    call run_command {"argv": ["sh", "-c", "echo two > a.txt; echo BEE > b.txt; echo ESS > s.txt"]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id mine "change them"
exit     0
shell    echo my own > b.txt; echo staged > s.txt; git add s.txt
run      agent6 runs merge mine
exit     0
output   contains "your b.txt was left"
output   contains "your s.txt was left"
file     a.txt is "two\n"
file     b.txt is "my own\n"
file     s.txt is "staged\n"
shell    test "$(git show :s.txt)" = staged; test "$(git show HEAD:s.txt)" = ESS; git diff --quiet HEAD -- a.txt

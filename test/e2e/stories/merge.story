# what a run made comes to the branch by one command, and the checkout is clean afterwards
file     a.txt | one
file     b.txt | bee
file     gone.txt | gone
file     tool.sh | echo tool
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call run_command {"argv": ["sh", "-c", "rm gone.txt; mkdir d; echo new > d/new.txt; chmod 755 tool.sh"]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id mine "change one to two"
exit     0
commits  2
run      agent6 runs merge mine
exit     0
output   lacks "left as it is"
shell    git status --porcelain > ../status; test ! -s ../status
shell    test "$(git show HEAD:a.txt)" = two; test "$(git show HEAD:d/new.txt)" = new; test "$(git symbolic-ref HEAD)" = refs/heads/main
shell    ! git cat-file -e HEAD:gone.txt 2>/dev/null; git ls-files -s tool.sh | grep -q ^100755

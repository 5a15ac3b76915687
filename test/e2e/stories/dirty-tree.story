# uncommitted changes refuse the run, are named, and stay
file     a.txt | one
commit   start
file     a.txt | mine
run      agent6 run "look"
exit     2
requests 0
output   contains "a.txt"
output   contains "require_clean_worktree"
file     a.txt is "one\nmine\n"

# in the middle of a merge that stopped at a conflict no run starts
file     a.txt | one
commit   start
shell    git checkout -q -b other; echo other > a.txt; git -c user.name=x -c user.email=x@x commit -qam other
shell    git checkout -q main; echo main > a.txt; git -c user.name=x -c user.email=x@x commit -qam main
shell    ! git -c user.name=x -c user.email=x@x merge -q other 2>/dev/null >/dev/null
run      agent6 run "look"
exit     2
output   contains "merge"
requests 0

# a workspace that needs no more than the right words in its files to be a bare repository is refused before anything runs
file     HEAD | not yet
file     objects/a | one
file     refs/a | one
model    call finish_run {"summary": "done"}
run      agent6 run "look around"
exit     2
output   contains "is no repository, but looks like one to git"
present  HEAD

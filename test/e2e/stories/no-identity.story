# without a name for the commits no run starts, and the keys to set are said
config   - git.commit.name
config   - git.commit.email
commit   start
run      agent6 run "look"
exit     2
requests 0
output   contains "git.commit.name"
output   contains "user.email"

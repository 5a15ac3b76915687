# a command sees none of the person's environment
env      SECRET_TOKEN=squirrel
env      LD_PRELOAD=
env      GIT_DIR=/nonexistent
commit   start
model    call run_command {"argv": ["env"]}
model    call run_command {"argv": ["sh", "-c", "cat /proc/*/environ /proc/*/cmdline | tr '\\0' ' '"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [2].calls lacks squirrel
sent     [2].calls lacks dummy-key
sent     [2].calls lacks MOCK_API_KEY
sent     [1].calls[0].result.stdout contains "PATH="

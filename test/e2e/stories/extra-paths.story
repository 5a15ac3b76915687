# a granted path outside can be read, one granted for writing can be changed, and their neighbours neither
file     ~/docs/manual.txt | the manual
file     ~/out/log.txt | one
file     ~/other.txt | squirrel
commit   start
config   sandbox.extra_read_paths = ["{home}/docs"]
config   sandbox.extra_write_paths = ["{home}/out"]
model    call read_file {"path": "{home}/docs/manual.txt"}
model    call run_command {"argv": ["sh", "-c", "cat {home}/docs/manual.txt; echo x > {home}/docs/manual.txt"]}
model    call run_command {"argv": ["sh", "-c", "echo two >> {home}/out/log.txt; cat {home}/other.txt"]}
model    call apply_edit {"path": "{home}/docs/manual.txt", "edits": [{"old_string": "the", "new_string": "a"}]}
model    call apply_edit {"path": "{home}/out/log.txt", "edits": [{"old_string": "one", "new_string": "ONE"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [5].calls[0].result.content contains "the manual"
sent     [5].calls[1].result.stdout contains "the manual"
sent     [5].calls[1].result.stderr matches "Read-only|denied"
sent     [5].calls[2].result.returncode is 1
sent     [5].calls[3].result matches "error"
sent     [5].body lacks squirrel
file     ~/out/log.txt is "ONE\ntwo\n"
file     ~/docs/manual.txt is "the manual\n"

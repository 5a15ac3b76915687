# hidden paths are empty for file tools, search and commands alike
file     a.txt | visible
file     private/key.txt | squirrel
commit   start
config   sandbox.hide_paths = ["{workspace}/private"]
model    call read_file {"path": "private/key.txt"}
model    call grep {"pattern": "squir+el"}
model    call run_command {"argv": ["sh", "-c", "cat private/*"]}
model    call run_command {"argv": ["cat", "a.txt"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [4].calls[0].result matches "error"
sent     [4].calls[1].result.count is 0
sent     [4].calls[2].result.returncode is 1
sent     [4].calls[3].result.stdout is "visible\n"
sent     [4].body lacks "squirrel"

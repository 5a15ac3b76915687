# a command reaches nothing off the box, not even the model's server on loopback
commit   start
model    call run_command {"argv": ["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', {port}), 5)"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [1].calls[0].result.returncode is 1
sent     [1].calls[0].result.stderr matches "refused|denied|unreachable|not permitted"

# with --questions-file a question that nobody is there to answer ends the run, and it goes on with the answers
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    and call ask_user {"questions": [{"question": "Two or three?", "options": ["two", "three"]}, {"question": "\u001b[31mRed?"}]}
model    and call apply_edit {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "never"}]}
run      agent6 run --run-id mine --questions-file ../q.json "change it"
exit     2
requests 1
event    run.end reason is open_questions
output   contains "stopped: questions wait for an answer"
output   lacks "the plan"
output   contains "agent6 resume mine --answers-file FILE"
output   contains "Two or three?"
output   lacks "\u001b[31m"
file     a.txt is "two\n"
commits  1
shell    python3 -c 'import json; q = json.load(open("../q.json"))["questions"]; assert [x["question"] for x in q] == ["Two or three?", "\u001b[31mRed?"], q; q[0]["answer"] = "three"; json.dump({"questions": q}, open("../a.json", "w"))'
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "three"}]}
model    call finish_run {"summary": "done"}
run      agent6 resume mine --answers-file ../a.json
exit     0
requests 2
sent     [0].last contains "The person has answered questions that were open:\n<answers>\nQ: Two or three?\nA: three"
sent     [0].last lacks "Red?"
sent     [0].calls[1].result contains "the run ends here and goes on with the answer"
file     a.txt is "three\n"
# without the file the model is told to decide
shell    git checkout -q .
model    call ask_user {"questions": [{"question": "Two?"}]}
model    call finish_run {"summary": "I decided"}
run      agent6 run "change it"
exit     0
sent     [1].calls[0].result contains "decide yourself"
# the critic's questions, workflow implement
config   workflow.default = "implement"
model    text "{\"summary\":\"s\",\"steps\":[{\"title\":\"t\"}]}"
model    text "{\"verdict\":\"questions\",\"questions\":[{\"question\":\"Which file?\"}]}"
run      agent6 run --run-id two --questions-file ../q.json "change it"
exit     2
shell    sed -i 's/"answer":""/"answer":"a.txt"/' ../q.json; grep -q 'Which file.*a.txt' ../q.json
model    text "{\"summary\":\"s\",\"steps\":[{\"title\":\"t\"}]}"
model    text "{\"verdict\":\"questions\",\"questions\":[{\"question\":\"And why?\"}]}"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
model    text "{\"approved\":true}"
run      agent6 resume two --answers-file ../q.json
exit     0
requests 5
sent     [0].first contains "Q: Which file?\nA: a.txt"
# a file that is none
shell    echo '{"questions": 1}' > ../bad.json
run      agent6 resume two --answers-file ../bad.json
exit     2
output   contains "is not a list of at most 64 objects"
run      agent6 resume two --answers-file ../nowhere.json
exit     2
run      agent6 run --questions-file ../no/such/q.json "x"
exit     2
output   contains "--questions-file"
run      agent6 replay two
exit     0

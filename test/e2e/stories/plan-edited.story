# a plan that was changed by hand is the one that a resumed planner begins from
file     a.txt | one
commit   start
model    call finish_planning {"summary": "s", "plan_markdown": "# Plan\n1. Change a.txt to three."}
run      agent6 plan new --run-id p2 "change a"
exit     0
shell    printf '#!/bin/sh\nsed -i s/three/four/ "$1"\n' > ../ed; chmod 755 ../ed
env      EDITOR=../ed
run      agent6 plan edit p2
exit     0
model    call finish_planning {"summary": "s", "plan_markdown": "# Plan\n1. Change a.txt to five."}
run      agent6 resume p2 --steer "five, please"
exit     0
sent     [0].body matches "The person has changed the plan by hand since you handed it in. Begin from theirs:.{1,4}# Plan.{1,4}1. Change a.txt to four."
sent     [0].last contains "five, please"
shell    test "$(grep -c '"type":"loop.plan_reread","path":"plan.md","bytes":' ~/.local/state/agent6/*/plans/p2/record/logs.jsonl)" = 1
model    call finish_planning {"summary": "s", "plan_markdown": "# Plan\n1. Change a.txt to six."}
run      agent6 resume p2 --steer "six"
exit     0
sent     [0].body matches "(?s)^(?!.*theirs.*theirs)"
shell    test "$(grep -c loop.plan_reread ~/.local/state/agent6/*/plans/p2/record/logs.jsonl)" = 1
run      agent6 replay p2
exit     0

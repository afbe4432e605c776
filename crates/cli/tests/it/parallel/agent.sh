#!/bin/sh
# Stands in for Claude Code where several sessions run side by side. What it does hangs on the task, and on
# how often that was begun: `plan/TASK.N`, or `plan/TASK`, is the script of its N-th session.
case "$1" in --version) echo "2.1.325 (Claude Code)" && exit 0 ;; esac
world=${0%/bin/claude}
id=$RALPH_TASK_ID
tries=$world/tries/$id
mkdir -p "$world/tries" "$world/running"
echo x >>"$tries"
attempt=$(wc -l <"$tries" | tr -d ' ')

say() {
  echo '{"type":"system","subtype":"init","cwd":"/","session_id":"s-1","tools":[],"mcp_servers":[],"model":"claude-fake","permissionMode":"default","claude_code_version":"2.1.325","uuid":"u-1"}'
  echo '{"duration_ms":7,"num_turns":1,"is_error":false,"result":"'"$1"'","type":"result","subtype":"success","stop_reason":"end_turn","terminal_reason":"completed","total_cost_usd":0.001,"session_id":"s-1","usage":{"input_tokens":3,"output_tokens":5},"permission_denials":[],"uuid":"u-2"}'
}
case "$*" in *"You are the verifier of a loop"*) say "<verify-pass/>" && exit 0 ;; esac

# Waits until this file of the world is there.
until_there() { while [ ! -e "$world/$1" ]; do sleep 0.02; done; }

touch "$world/running/$id"
text="<task-done>$id</task-done>"
script=$world/plan/$id.$attempt
[ -e "$script" ] || script=$world/plan/$id
if [ -e "$script" ]; then . "$script"; else echo "$id" >"$id.txt"; fi
rm -f "$world/running/$id"
say "$text"

#!/bin/sh
# Stands in for Claude Code: what it does hangs on the task alone, and every task can be begun again.
case "$1" in --version) echo "2.1.325 (Claude Code)" && exit 0 ;; esac
world=${0%/bin/claude}
# The one folder beside the repository that a session may write to.
notes=$world/notes

begin() {
  echo '{"type":"system","subtype":"init","cwd":"/","session_id":"s-1","tools":[],"mcp_servers":[],"model":"claude-fake","permissionMode":"default","claude_code_version":"2.1.325","uuid":"u-1"}'
}
say() {
  begin
  echo '{"duration_ms":7,"num_turns":1,"is_error":false,"result":"'"$1"'","type":"result","subtype":"success","stop_reason":"end_turn","terminal_reason":"completed","total_cost_usd":0.001,"session_id":"s-1","usage":{"input_tokens":3,"output_tokens":5},"permission_denials":[],"uuid":"u-2"}'
}
case "$*" in *"You are the verifier of a loop"*) say "<verify-pass/>" && exit 0 ;; esac

id=$RALPH_TASK_ID
echo $$ >"$notes/agent.pid"

# Every session but one leaves a file that only it makes. What is in the ledger must never get lost.
if [ "$id" != plain ]; then
  mkdir -p scratch
  file=scratch/$id-$$.txt
  echo "$id $$" >"$file" && echo "$file" >>"$notes/ledger"
  sleep 0.01
fi

# An agent that could not write its file says so: a session that fails, not one that is done.
put() {
  echo "$1" >"$2" || { begin; exit 1; }
}

text="<task-done>$id</task-done>"
case "$id" in
  plain) put plain plain.txt ;;
  write) mkdir -p src; put write src/write.txt ;;
  fail)
    put half fail.txt
    text="<task-failed>$id</task-failed><reason>it cannot be done</reason>"
    ;;
  # The gate refuses the first try.
  red) if [ -e red.txt ]; then put right red.txt; else put wrong red.txt; fi ;;
  ask)
    put draft ask.txt
    text="<question>Which colour?</question>"
    ;;
  own)
    put own own.txt
    git add own.txt
    git diff --cached --quiet -- own.txt || git commit --quiet -m "own work" -- own.txt
    ;;
  # Two that change one file.
  top) sed -i 's/^top.*/top changed/' shared.txt && echo top >top.txt ;;
  bottom)
    sed -i 's/^bottom.*/bottom changed/' shared.txt && echo bottom >bottom.txt
    git add -A && { git diff --cached --quiet || git commit --quiet -m "own work"; }
    ;;
  # The first session never ends, whatever it is told, and hides a process; the next one works.
  stuck)
    if [ ! -e "$notes/stuck" ]; then
      trap '' TERM INT HUP
      setsid sh -c 'trap "" TERM INT HUP; echo $$ >"$1"; exec sleep 60' sh "$notes/hidden.pid" &
      while [ ! -s "$notes/hidden.pid" ]; do sleep 0.01; done
      touch "$notes/stuck"
      sleep 60
    fi
    echo stuck >stuck.txt
    ;;
  # The first session begins and says nothing any more.
  silent)
    if [ ! -e "$notes/silent" ]; then
      touch "$notes/silent"
      begin
      exec sleep 60
    fi
    echo silent >silent.txt
    ;;
  # One line that is longer than anybody's memory.
  loud)
    begin
    head -c "$(cat "$world/megabytes")M" /dev/zero | tr '\0' x
    echo
    echo loud >loud.txt
    ;;
  # The first session is killed as if its git was in the middle of a commit.
  locked)
    if [ ! -e "$notes/locked" ]; then
      touch "$notes/locked" .git/index.lock .git/HEAD.lock .git/packed-refs.lock
      kill -KILL $$
    fi
    echo locked >locked.txt
    git add locked.txt && git commit --quiet -m "own work" -- locked.txt
    ;;
  # Anything else is one file.
  *) put "$id" "$id.txt" ;;
esac
say "$text"

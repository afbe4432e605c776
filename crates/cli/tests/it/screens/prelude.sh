# What the rows use to set up a repository.

# Everything in the worktree, in one commit.
committed() { git add -A; git commit -q --allow-empty -m "${1:-work}"; }

# The agent plays a recording with one session: the steps of the arguments, each a line of JSON.
agent() {
  printf '%s\n' '{"do":"session"}' "$@" > ../cassette.jsonl
  mkdir -p ~/.config/ralph
  {
    echo '[agent]'
    echo 'name = "script"'
    echo '[agent.script]'
    echo "path = \"$(dirname "$PWD")/cassette.jsonl\""
  } > ~/.config/ralph/config.toml
}

# A run is active, until the end of the section.
running() {
  mkdir -p .ralph
  sh -c 'exec 9<> .ralph/run.lock; flock 9; echo $$ >&9; exec sleep 60' > /dev/null 2>&1 &
  echo $! >> ../pids
  while ! [ -s .ralph/run.lock ]; do sleep 0.01; done
}

# The user's config describes the agent made-up: each argument is a line about it.
own_config() {
  mkdir -p ~/.config/ralph
  printf '%s\n' '[agent.made-up]' "$@" > ~/.config/ralph/config.toml
}

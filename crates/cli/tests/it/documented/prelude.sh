# How a page's commands are run: `ralph` is the binary under test with an agent that plays what the command
# is about, and each call is written down. Variables: RALPH_BINARY, NOTES (a folder beside the repository).
ralph() {
  local kind=work
  case "$*" in
    *"loop plan"*) kind=branches ;;
    *"feature create"*) kind=spec ;;
    *"feature plan"*) kind=feature ;;
    *"feature build"*) kind=propose ;;
    plan*) kind=plan ;;
  esac
  printf '%s\0' "$*" >>"$NOTES/calls"
  RALPH_AGENT_SCRIPT_PATH="$NOTES/$kind.jsonl" timeout 60 "$RALPH_BINARY" "$@"
}

# Only whether the arguments are understood: clap reads them in order, so whatever is wrong comes before the help.
only_parsed() {
  ralph() {
    printf '%s\0' "$*" >>"$NOTES/calls"
    "$RALPH_BINARY" "$@" --help >/dev/null
  }
}

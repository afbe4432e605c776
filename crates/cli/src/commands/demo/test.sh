# Tests for the features that the program has so far.
check() {
    if [ "$2" = "$3" ]; then echo "ok: $1"; else
        echo "FAILED: $1: expected '$3', got '$2'"
        failed=1
    fi
}
[ -f greet.sh ] || { echo "FAILED: there is no greet.sh"; exit 1; }
check "greets by name" "$(sh greet.sh Ada)" "Hello, Ada!"
grep -q -e --loud greet.sh && check "greets loudly" "$(sh greet.sh --loud Ada)" "HELLO, ADA!"
grep -q usage: greet.sh && check "prints usage" "$(sh greet.sh 2>&1)" "usage: greet.sh [--loud] NAME"
[ -z "$failed" ]

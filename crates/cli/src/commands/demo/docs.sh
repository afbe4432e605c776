# Every option of the program is in the README.
for option in $(grep -o -e '--[a-z]*' greet.sh | sort -u); do
    grep -q -e "$option" README.md || { echo "FAILED: README.md does not mention $option"; failed=1; }
done
[ -z "$failed" ]

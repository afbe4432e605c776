# Completions of ralph for bash. To install them: ralph completions --help

_ralph() {
    local rest=${COMP_LINE:0:COMP_POINT} part word i n=-1 paths='' widest=0
    local -a words=() values=() texts=()
    # Bash splits words at = and :, ralph does not: parts without a blank between them are one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        part=${rest#"${rest%%[![:space:]]*}"}
        if ((i < COMP_CWORD)); then word=${COMP_WORDS[i]}; else word=$part; fi
        if ((n < 0)) || [[ $part != "$rest" ]]; then
            words[++n]=$word
        else
            words[n]+=$word
        fi
        rest=${part#"$word"}
    done
    # Bash replaces only the last part, which is $2.
    local kept=$((${#words[n]} - ${#2}))
    COMPREPLY=()
    while IFS=$'\t' read -r part rest; do
        case $part in
            :files) paths=-f ;;
            :folders) paths=-d ;;
            *)
                values+=("${part:kept}")
                texts+=("$rest")
                ((${#part} - kept > widest)) && widest=$((${#part} - kept))
                ;;
        esac
    done < <(command ralph __complete "$n" -- "${words[@]}" 2>/dev/null)
    if [[ -n $paths ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r part; do COMPREPLY+=("$part"); done < <(compgen "$paths" -- "$2")
    fi
    if ((${#values[@]} == 1)); then
        [[ ${values[0]} == *= ]] && compopt -o nospace 2>/dev/null
        COMPREPLY+=("${values[0]}")
        return
    fi
    # A list on the screen has descriptions; text for the command line has none.
    for i in "${!values[@]}"; do
        if [[ ${COMP_TYPE-} == 63 && -n ${texts[i]} ]]; then
            printf -v part '%-*s  (%s' "$widest" "${values[i]}" "${texts[i]}"
            COMPREPLY+=("${part:0:${COLUMNS:-80} - 4})")
        else
            COMPREPLY+=("${values[i]}")
        fi
    done
}

complete -o nosort -F _ralph ralph 2>/dev/null || complete -F _ralph ralph

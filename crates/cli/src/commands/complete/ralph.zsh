#compdef ralph
# Completions of ralph for zsh. To install them: ralph completions --help

_ralph() {
    local line value paths=
    local -a found=() whole=() open=()
    found=("${(@f)$(command ralph __complete $((CURRENT - 1)) -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in $found; do
        value=${line%%$'\t'*}
        case $value in
            :files) paths=files ;;
            :folders) paths=folders ;;
            *)
                # _describe reads VALUE:DESCRIPTION.
                line=${value//:/\\:}${${line#$value}/$'\t'/:}
                if [[ $value == *= ]]; then open+=("$line"); else whole+=("$line"); fi
                ;;
        esac
    done
    if [[ -n $paths ]]; then
        compset -P '--*='
        if [[ $paths == folders ]]; then _files -/; else _files; fi
    fi
    (($#open)) && _describe -V 'value' open -S ''
    (($#whole)) && _describe -V 'value' whole
    return 0
}

if [[ $funcstack[1] == _ralph ]]; then
    _ralph "$@"
else
    compdef _ralph ralph
fi

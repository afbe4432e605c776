# Completions of ralph for fish. To install them: ralph completions --help

function __ralph_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l flag (string match --regex -- '^--[^=]*=' "$current")
    set -l path (string replace --regex -- '^--[^=]*=' '' "$current")
    for line in (command ralph __complete (count $words) -- $words "$current" 2>/dev/null)
        switch $line
            case :files
                string replace --regex -- '^' "$flag" (__fish_complete_path "$path")
            case :folders
                string replace --regex -- '^' "$flag" (__fish_complete_directories "$path" '')
            case '*'
                printf '%s\n' $line
        end
    end
end

complete --command ralph --no-files --keep-order --arguments '(__ralph_complete)'

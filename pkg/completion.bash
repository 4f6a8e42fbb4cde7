# bash completion for sluice
_sluice() {
    local commands="run check plan work task show report why trace head verify inspect plugins test gc help"
    local script="--workers --memory --run-dir --scratch --limit --batch --fresh --plugin --trust --json --quiet --help"
    local current=${COMP_WORDS[COMP_CWORD]}
    local options
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
        return
    fi
    case ${COMP_WORDS[1]} in
    run | check | test) options=$script ;;
    plan) options="$script --tasks --files" ;;
    work | task) options="--workers --memory --trust --json --quiet --help" ;;
    show) options="--json --plan --help" ;;
    report) options="--md --json --all --price --help" ;;
    why) options="--id --reason --near --text --dropped --stage --quarantine --task --row -n --json --help" ;;
    trace) options="--run --text --json --help" ;;
    head) options="-n --where --random --seed --tokens --tokenizer --run --json --help" ;;
    verify) options="--all --quick --json --help" ;;
    gc) options="--dry-run --json --help" ;;
    *) options="--help" ;;
    esac
    if [ "${current#-}" != "$current" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    elif [ "${COMP_WORDS[1]}" = inspect ]; then
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" inspect 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9_]*\) .*/\1/p')" -- "$current")
    else
        compopt -o default
        COMPREPLY=()
    fi
}
complete -F _sluice sluice

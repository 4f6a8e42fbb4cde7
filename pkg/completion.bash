# bash completion for sluice
_sluice() {
    local commands="run prepare check plan work task stop show report why replay trace head verify inspect plugins tokenize explain sample try label contract test lock test-plugin new bundle datasets diff tag bench-format compact remove retain repro gc help"
    local script="--workers --memory --run-dir --scratch --limit --batch --fresh --take-over --plugin --locked --lock-file --trust --json --quiet --help"
    local current=${COMP_WORDS[COMP_CWORD]}
    local options
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
        return
    fi
    case ${COMP_WORDS[1]} in
    run | prepare | check | lock) options=$script ;;
    test-plugin) options="--option --data --only --seed --fuzz --thorough --time-limit --answers --json --junit --quiet --list --help" ;;
    test) options="--plugin --trust --json --help" ;;
    sample) options="--at --after -n --seed -o --run-dir --scratch --workers --memory --limit --plugin --trust --json --quiet --help" ;;
    try) options="--stage --option --by --examples --watch --compare --sweep --html --labels --label --workers --plugin --trust --json --help" ;;
    explain) options="--json --help" ;;
    label) options="--labels --html -n --help" ;;
    contract) options="-o --reader --workers --memory --json --quiet --help" ;;
    plan) options="$script --tasks --files --view" ;;
    stop) options="--now --wait --undo --json --help" ;;
    work | task) options="--workers --memory --trust --json --quiet --help" ;;
    show) options="--json --plan --view --help" ;;
    report) options="--md --json --html --all --price --view --help" ;;
    replay) options="--gdb --in-process --json --help" ;;
    why) options="--id --reason --near --text --dropped --stage --quarantine --task --row -n --json --view --help" ;;
    trace) options="--run --text --json --view --help" ;;
    tokenize) options="--tokenizer --jsonl --count --decode --bench --raw --offsets --pattern --specials --cache --head --train-head --help" ;;
    head) options="-n --where --schema --random --seed --tokens --tokenizer --run --json --help" ;;
    verify) options="--all --quick --absent --column --run --in --json --view --help" ;;
    new)
        case ${COMP_WORDS[COMP_CWORD-1]} in
        new) options="pipeline heuristic plugin project --help"; mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current"); return ;;
        --lang) mapfile -t COMPREPLY < <(compgen -W "c cpp rust lua" -- "$current"); return ;;
        --role) mapfile -t COMPREPLY < <(compgen -W "filter annotator transform reader random_reader gate writer" -- "$current"); return ;;
        esac
        options="--lang --role --dir --json --help"
        ;;
    inspect) options="--all --luals --md --plugin --trust --view --json --help" ;;
    plugins) options="--index --md --plugin --trust --view --json --help" ;;
    bundle) options="-o --messages --json --help" ;;
    datasets) options="--json --view --help" ;;
    diff) options="--key --text --json --html --view --help" ;;
    tag) options="--move --remove --json --view --help" ;;
    bench-format) options="--bytes --column --scratch --json --view --help" ;;
    compact) options="--target --least --dry-run --json --view --help" ;;
    remove) options="--ids --column --purge --run --in --dry-run --json --view --help" ;;
    retain) options="--keep --older --dry-run --json --view --help" ;;
    repro) options="--into --any-program --workers --memory --scratch --trust --quiet --json --view --help" ;;
    gc) options="--dry-run --json --view --help" ;;
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

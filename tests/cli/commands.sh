# commands.sh - the manual page and the completions of both shells know every command, and the completion of bash every option of it
. "$SRC/tests/lib.sh"

"$SLUICE" --help | sed -n 's/^  \([a-z-]*\)  *[a-z].*/\1/p' >commands
[ "$(wc -l <commands)" -ge 30 ] || fail 'sluice --help lists no commands'
command -v bash >/dev/null || skip 'no bash'
# complete WORD…: what the completion of bash offers for the last of these words
complete_words() {
    bash -c '. "$0/pkg/completion.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf "%s\n" "${COMPREPLY[@]}"' "$SRC" "$@" 2>/dev/null
}
complete_words sluice '' >offered
while read -r command; do
    grep -qx -e "$command" offered || fail "the completion of bash lacks $command"
    grep -q -e "^    '$command:" "$SRC/pkg/completion.zsh" || fail "the completion of zsh lacks $command"
    sed 's/\\-/-/g' "$SRC/pkg/sluice.1" | grep -q -e "^\.B[A-Z]* *\"*$command[ \"]*" || fail "the manual page lacks $command"
    "$SLUICE" "$command" --help >help 2>&1 || fail "$command --help"
    sed -n 's/^  \(--*[a-zA-Z-]*\).*/\1/p' help | sort -u >options
    case $command in
    new) complete_words sluice new plugin - ;;
    *) complete_words sluice "$command" - ;;
    esac | sort -u >known
    comm -23 options known >missing
    [ ! -s missing ] || fail "the completion of bash lacks of $command: $(tr '\n' ' ' <missing)"
    grep -vx -e --help known | comm -23 - options >gone
    [ ! -s gone ] || fail "$command has no option: $(tr '\n' ' ' <gone)"
done <commands

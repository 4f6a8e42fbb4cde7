# inspect_composites.sh - `sluice inspect` shows the composites of the standard library as it shows stages: each with the options that it takes,
# the words of the annotations for editors, an example that builds, and the stages that it is made of.
. "$SRC/tests/lib.sh"

[ ! -s "$BUILD/plugins/skipped.txt" ] || skip "not all plugins are built: $(head -n 1 "$BUILD/plugins/skipped.txt")"
ANNOTATIONS=$SRC/sdk/lua/sluice.lua

# Every composite of the library has its line in the list.
expect 0 "$SLUICE" inspect
sed -n '/^composites$/,/^$/s/^  \([a-z_][a-z_]*\)  .*/\1/p' stdout | sort >listed
sed -n 's/^M\.\([a-z_]*\) = .*/\1/p' "$SRC/scripts/lib/std.lua" "$SRC/scripts/lib/std_shuffle.lua" | grep -v -x -e gate -e contract | sort >there
diff there listed || fail 'the list lacks a composite, or has one too many'
[ "$(wc -l <listed)" -ge 15 ] || fail "only these: $(tr '\n' ' ' <listed)"
expect 0 "$SLUICE" inspect --json
[ "$(grep -c '"role":"composite"' stdout)" = 0 ] || fail 'composites are no stages, which --json lists'

# FILE: the names of its options; of the stages that it is made of
options_of() {
    perl -ne 'if (/"options":\[(.*)\],"stages":/) { my $options = $1; print "$_\n" for $options =~ /\{"name":"(\w+)"/g }' "$1" | sort
}
stages_of() {
    perl -ne 'if (/"stages":\[(.*?)\]/) { my $stages = $1; print "$_\n" for $stages =~ /"(\w+)"/g }' "$1"
}
while read -r name; do
    expect 0 "$SLUICE" inspect "$name"
    grep -q "^$name  composite$" stdout || fail "$name: $(head -n 1 stdout)"
    grep -q '^made of  ' stdout || fail "$name is made of nothing"
    expect 0 "$SLUICE" inspect "$name" --md
    grep -q "^# $name$" stdout || fail "$name --md: $(head -n 1 stdout)"
    expect 0 "$SLUICE" inspect "$name" --json
    cp stdout json
    # The annotations have the same words and options (inspect_luals.sh compares those with what a script may give).
    summary=$(perl -ne 'print "$1\n" if /"summary":"(.*?)","example"/' json)
    grep -qxF -e "---$summary" "$ANNOTATIONS" || fail "$name: the annotations have other words than: $summary"
    sed -n "/^---@class sluice.options.$name\$/,/^\$/s/^---@field \\([a-z_]*\\).*/\\1/p" "$ANNOTATIONS" | sort >annotated
    options_of json | diff annotated - || fail "$name: other options"
    stages_of json >stages
    [ -s stages ] || fail "$name has no stages"
    while read -r stage; do
        "$SLUICE" inspect "$stage" >shown 2>&1 || fail "$name is made of $stage, which is no stage: $(cat shown)"
        grep -q "^$stage  composite" shown && fail "$name is made of $stage, a composite"
    done <stages
done <there

expect 0 "$SLUICE" inspect minhash
says 'minhash_sign, minhash_keys, minhash_edges' 'docs | s.minhash {' 'Hash of a shingle' '[1, 4096]'
expect 0 "$SLUICE" inspect mix_table --json # nothing of mix, which stands before it
is "$(stages_of stdout)" mix_rows 'stages of mix_table'
expect 0 "$SLUICE" inspect decontaminate
says '[0, inf)' 'required'
expect 2 "$SLUICE" inspect exakt
says "unknown stage 'exakt'"

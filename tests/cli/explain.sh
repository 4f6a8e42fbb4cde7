# explain.sh - every word of a heading explains itself, once; reasons that rows are set aside for, and exit statuses, are among them; a word that is
# none has a suggestion.
. "$SRC/tests/lib.sh"

terms=$SRC/scripts/terms.md
sed -n 's/^## //p' "$terms" | tr ',' '\n' | sed 's/^ *//' >words
[ "$(wc -l <words)" -gt 80 ] || fail 'too few words'
is "$(sort -f words | uniq -di)" '' 'words that are explained twice'
while read -r word; do
    expect 0 "$SLUICE" explain "$word"
    [ "$(wc -l <"$TMP/stdout")" -ge 2 ] || fail "$word has no text"
done <words
# Reasons of records that are set aside by the engine and by Lua stages.
grep -rhoE '"(lua_[a-z]+|invalid_utf8|record_too_long|missing_column|wrong_type|not_an_object|duplicate_key|wrong_fields)"' "$SRC/core/lua" "$SRC/core/run" "$SRC/plugins/read_jsonl" \
    "$SRC/plugins/read_csv" --include='*.c' --include='*.cc' | tr -d '"' | sort -u | grep -v lua_stage >reasons
[ "$(wc -l <reasons)" -ge 7 ] || fail 'too few reasons'
while read -r reason; do grep -qx "$reason" words || fail "$reason is not explained"; done <reasons
for status in 0 1 2 3 4 5 130; do
    expect 0 "$SLUICE" explain "$status"
    says "exit $status"
done
expect 0 "$SLUICE" explain
is "$(wc -l <"$TMP/stdout")" "$(grep -c '^## ' "$terms")" 'terms in the list'
expect 0 "$SLUICE" explain CHECKPOINT --json
"$PYTHON" -c 'import json, sys; t = json.load(open(sys.argv[1])); assert t["term"].startswith("checkpoint") and "s.checkpoint" in t["text"]' "$TMP/stdout" || fail 'no JSON'
expect 2 "$SLUICE" explain lua_eror
says "did you mean 'lua_error'?"

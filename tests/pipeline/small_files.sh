# small_files.sh - what a small input file costs: at most seven system calls over the whole run, planning included (once twenty): it is looked
# at, and read once, by its task; what is found out about it is not written file by file.
. "$SRC/tests/lib.sh"

if ldd "$SLUICE" | grep -q 'lib[at]san'; then
    skip 'a sanitizer wants to be loaded first'
fi
mkdir json text
perl -e 'for my $n (1 .. 2000) {
    open my $json, ">", "json/f$n.jsonl" or die; print $json "{\"id\":\"d$n\",\"text\":\"some words of document $n that are here\"}\n"; close $json;
    open my $text, ">", "text/f$n.txt" or die; print $text "some words of document $n that are here\n"; close $text; }'
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { kind = { "string", "json" } }
local docs = a.kind == "json" and s.files "json/*.jsonl" | s.read_jsonl {} or s.files "text/*.txt" | s.read_text {}
return s.pipeline { "p", docs | s.write_jsonl { "out", compression = "none" } }
END
# calls RUN-OPTION... : how many the run makes
calls() {
    expect 0 env "LD_PRELOAD=$BUILD/tests/pipeline/calls.so" "CALLS=$TMP/calls" "$SLUICE" run p.lua --quiet --workers 2 "$@"
    cat "$TMP/calls"
}
for kind in json text; do
    few=$(calls --run-dir "$TMP/few.$kind" "kind=$kind" --limit 10)
    all=$(calls --run-dir "$TMP/all.$kind" "kind=$kind")
    [ "$few" -gt 100 ] || fail "only $few calls were counted"
    each=$(((all - few) / 1990))
    [ "$each" -le 7 ] || fail "$each system calls for each small file of $kind, at most 7 are expected"
    # Most of a run over ten files is looking at all of them.
    each=$((all / 2000))
    [ "$each" -le 8 ] || fail "$each system calls for each small file of $kind, all in all"
    echo "$kind: $each system calls a file"
    # Planning opens none of them.
    expect 0 env "LD_PRELOAD=$BUILD/tests/pipeline/calls.so" "CALLS=$TMP/calls" "$SLUICE" plan p.lua --run-dir "$TMP/none.$kind" "kind=$kind"
    each=$(($(cat "$TMP/calls") / 2000))
    [ "$each" -le 1 ] || fail "$each system calls for each small file of $kind to plan"
done

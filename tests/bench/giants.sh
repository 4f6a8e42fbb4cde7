# Giant records: what each stage takes for a byte of what it sees, against what it declares (bytes_per_batch), and the
# peak of whole runs against --memory, in one process and with isolated stages. Fails where more is taken.
# time limit: 1800
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
SIZE=${SIZE:-60000000} # bytes of a record of the runs
ALONE=${ALONE:-12000000} # of those that stages are measured with
[ -z "$SMOKE" ] || SIZE=3000000 ALONE=3000000
CHECKED=$BUILD/test/sluice

# texts BYTES > OUT: a record of each kind: lines of one letter, short words, what JSON escapes, prose, and numbers outside of the text.
texts() {
    N=$1 perl -e 'my $n = $ENV{N}; srand 7; my $s = 12345;
        sub r { $s = ($s * 1103515245 + 12345) & 0x7fffffff; ($s >> 8) % $_[0] }
        sub record { my ($id, $piece) = @_; my $have = 0; print "{\"id\":\"$id\",\"url\":\"http://example.com/$id\",\"text\":\"";
            while ($have < $n) { my $p = $piece->(); print $p; $have += length $p } print "\"}\n" }
        record("lines", sub { chr(97 + r(8)) . "\\n" });
        record("short", sub { chr(97 + r(26)) . chr(97 + r(10)) . " " });
        record("escapes", sub { ("\\\"q\\\" x\\n", "a\\\\b\\t", "\\u0001\\u0002 z\\n", "\\u00fcn\\u4e2d\\u6587 w.\\n")[r(4)] });
        record("prose", sub { join("", map { chr(97 + r(26)) } 1 .. 1 + r(9)) . (r(12) ? " " : ". ") });
        print "{\"id\":\"numbers\",\"text\":\"t\",\"n\":[1"; print ",", r(10) for 1 .. $n / 2; print "]}\n";'
}

# measured NAME 'STAGES |': each of the stages with a giant before it, in the words of SLUICE_TEST_ROOM.
measured() {
    pipeline one "$2"
    rm -rf "$TMP/run" "$TMP/out" "$TMP/room"
    SLUICE_TEST_ROOM=$TMP/room "$CHECKED" run "$TMP/one.lua" "input=$TMP/kinds.jsonl" "out=$TMP/out" --run-dir "$TMP/run" \
        --workers 1 --quiet --memory 16GiB >"$TMP/log" 2>&1 || { tail -n 5 "$TMP/log" >&2; fail "$1"; }
    awk -F '\t' '$1 != "reading" { print $1 (($2 == "") ? "" : " " $2) "\t" $3 "\t" $4 "\t" $5 }' "$TMP/room" >>"$TMP/all"
}

texts "$ALONE" >"$TMP/kinds.jsonl"
words=$TMP/words
printf 'unlikely\nimprobable\n' >"$words"
measured read ''
measured rules 's.gopher_quality { min_doc_words = 0, max_doc_words = 1000000000 } |'
measured repetition 's.gopher_repetition {} |'
measured fineweb 's.fineweb_quality {} |'
measured c4 's.c4_quality {} |'
measured paragraph 's.c4_paragraph {} |'
measured badwords "s.c4_badwords { en = '$words', default_language = 'en' } |"
measured web 's.web_quality {} |'
measured web_repetition 's.web_repetition {} |'
measured web_lines 's.web_lines {} | s.web_newlines {} |'
measured madlad 's.web_madlad {} |'
measured clean 's.pii {} | s.symbol_lines {} |'
measured url 's.url_parts { over = "text" } |'
measured regex 's.regex { "zq+zq" } |'
measured stats 's.doc_stats {} |'
measured tags 's.dolma_tag { { "gopher_v2" } } |'
measured exact 's.exact {} |'
measured minhash 's.minhash {} |'
measured paragraphs 's.bloom_paragraphs { mode = "dolma", expected = 10000000, false_positives = 0.01 } |'
measured spans 's.paragraph_dedup {} | s.sentence_dedup {} |'
measured shuffle 's.shuffle { seed = 1 } | s.sampler { 0.9 } |'
measured lua 's.filter { "few", function(doc) if #doc.text:words() < 1 then return "few" end end } |'
if [ -f "$SLUICE_ASSETS/cl100k_base.tiktoken" ]; then
    PRELUDE="local vocabulary = '$SLUICE_ASSETS/cl100k_base.tiktoken'"
    measured tokenize 's.tokenize { vocabulary } |'
    PRELUDE=
fi

echo "one record of $((ALONE / 1000000)) MB of each kind; memory of a call for a byte of what it sees, at most, against what is declared"
printf '%-52s %12s %12s %7s\n' call taken declared ratio
# Small inputs of a call (row numbers, ids) say nothing: what a process has anyhow is more than they need.
sort "$TMP/all" | awk -F '\t' -v least=$((ALONE / 4)) '
    $2 >= least { n = $4 / $2; if (!($1 in most) || n > most[$1]) most[$1] = n; declared[$1] = $3 / $2 }
    END { for (k in most) printf "%s\t%.2f\t%.2f\n", k, most[k], declared[k] }' | sort >"$TMP/taken"
while IFS="$(printf '\t')" read -r call taken declared; do
    row "$call" "$taken" "$declared" "$(quotient "$taken" "$declared")" '<= 1'
done <"$TMP/taken"
[ "$(wc -l <"$TMP/taken")" -ge 10 ] || fail 'few calls were measured'
awk -F '\t' '$2 > $3 { print $1; bad = 1 } END { exit bad }' "$TMP/taken" >"$TMP/above" || fail "more is taken than is declared: $(tr '\n' ' ' <"$TMP/above")"

# Whole runs: the least --memory that is not refused, by following what refusals say, and the peak with it.
N=$SIZE perl -e 'srand 3; for my $k (1 .. ($ENV{RECORDS} || 12)) { print "{\"id\":\"$k\",\"text\":\""; my $n = 0;
    while ($n < $ENV{N}) { my $w = join "", map { chr(97 + int rand 26) } 1 .. 1 + int rand 9; print $w, " "; $n += 1 + length $w } print "\"}\n" }' >"$TMP/giants.jsonl"
echo "$(wc -l <"$TMP/giants.jsonl") records of $((SIZE / 1000000)) MB; peak of Pss over all processes at the least --memory that is not refused"
printf '%-52s %12s %12s %7s  %s\n' run peak --memory ratio goal
settled() {
    MEMORY=100MiB
    _tries=0
    while :; do
        rm -rf "$TMP/run" "$TMP/out"
        _status=0
        "$MEASURE" -p "$TMP/cost" "$SLUICE" run "$TMP/$2.lua" "input=$TMP/giants.jsonl" "out=$TMP/out" --run-dir "$TMP/run" \
            --workers "$3" --quiet --memory "$MEMORY" >"$TMP/log" 2>&1 || _status=$?
        read -r _ _ _ PEAK <"$TMP/cost"
        _limit=$((${MEMORY%MiB} * 1024))
        [ "$PEAK" -le "$_limit" ] || fail "$1: $PEAK KiB with --memory $MEMORY (status $_status)"
        [ "$_status" != 0 ] || break
        _next=$(sed -n 's/.*give --memory \([0-9]*MiB\).*/\1/p' "$TMP/log")
        [ "$_status" = 5 ] && [ -n "$_next" ] || { tail -n 3 "$TMP/log" >&2; fail "$1: status $_status"; }
        MEMORY=$_next
        _tries=$((_tries + 1))
        [ $_tries -le 4 ] || fail "$1: it never has enough"
    done
    row "$1, $3 workers, $_tries refusals before" "$((PEAK / 1024)) MiB" "$MEMORY" "$(quotient "$PEAK" "$_limit")" '<= 1'
}
pipeline copy ''
pipeline chain 's.gopher_repetition {} | s.exact {} |'
pipeline near 's.minhash {} |'
pipeline apart 's.filter { "few", function(doc) if #doc.text < 1 then return "few" end end } | s.regex { "zq+zq", isolate = true } |'
settled 'read, write' copy 1
settled 'gopher_repetition, exact' chain 1
settled 'gopher_repetition, exact' chain 2
settled 'minhash' near 2
settled 'Lua filter, regex isolated' apart 2

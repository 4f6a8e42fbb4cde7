# The crate for stages in Rust: its structs are those of sluice.h, its own tests pass, and a plugin that uses what the templates don't
# (every type of option and column, nulls, verdicts of an annotator, state, a reader that cuts its input itself) gives what it
# should; so do readers that read at random, and rows that ask a server.
# time limit: 400
. "$SRC/tests/conform/scaffold_kit"
installed
cargo_ready
cd "$TMP/usr/share/sluice/rust"

# Layout: what rustc made of each struct becomes assertions for the C compiler. Sizes are equal, and every field has the same place and
# size: no field can be missing on either side.
"$CARGO" run --release --offline --quiet --example layout >"$TMP/layout.txt" || fail 'the crate can not tell its layout'
{
    echo '#include <sluice.h>'
    awk '$1 == "struct" { printf "_Static_assert(sizeof(struct %s) == %s, \"size of %s\");\n", $3, $2, $3 }
         $1 == "field" { printf "_Static_assert(offsetof(struct %s, %s) == %s, \"%s.%s\");\n", $4, $5, $2, $4, $5
             printf "_Static_assert(sizeof(((struct %s *)0)->%s) == %s, \"size of %s.%s\");\n", $4, $5, $3, $4, $5 }' "$TMP/layout.txt"
} >"$TMP/layout.c"
[ "$(grep -c '_Static_assert(offsetof' "$TMP/layout.c")" -ge 100 ] || fail 'the layout has few fields'
expect 0 gcc -std=c11 -fsyntax-only -I"$TMP/usr/include/sluice" "$TMP/layout.c"
# Every struct with fields in the header is mirrored (but ArrowSchema, which no function of the contract takes).
sed -n 's/^struct \([A-Za-z_]*\) {.*/\1/p' "$TMP/usr/include/sluice/sluice.h" | grep -v '^ArrowSchema$' | LC_ALL=C sort >"$TMP/here"
awk '$1 == "struct" { print $3 }' "$TMP/layout.txt" | LC_ALL=C sort >"$TMP/there"
diff "$TMP/here" "$TMP/there" >&2 || fail 'the structs of sluice.h (<) and of the crate (>) are not the same'

"$CARGO" test --release --offline --quiet --lib >"$TMP/log" 2>&1 || fail "the crate's tests: $(tail -n 20 "$TMP/log")"
grep -q '4 passed; 0 failed' "$TMP/log" || fail "the crate's tests did not run: $(cat "$TMP/log")"

"$CARGO" build --release --offline --quiet --example kinds || fail 'the example kinds does not build'
cd "$TMP"
cp target/release/examples/libkinds.so kinds.so
expect 0 "$SLUICE" test-plugin ./kinds.so

cat >docs.jsonl <<'END'
{"id":"1","text":"the one","score":0.5}
{"id":"2","text":""}
{"id":"3","text":"copy"}
{"id":"4","text":"odd"}
{"id":"5","text":"eé e"}
END
printf 'one\ntwo\n\nthree\n\n\n\nfour \377\n\nfive\n' >p.txt
cat >kinds.lua <<'END'
local s = require "sluice"
local k = s.plugin "kinds.so"
local docs = s.files "docs.jsonl" | s.read_jsonl { columns = { score = "float64" } }
local good = docs | k.kinds { names = { a = "1", b = "2" }, words = { "x", "y" }, label = "L" }
return s.pipeline { "kinds", max_bad = "50%",
  s.named("kept", good | s.write_jsonl { "out/1", compression = "none" }),
  s.named("dropped", good.dropped | s.write_jsonl { "out/2", compression = "none" }),
  s.named("joined", docs | k.pairs {} | s.write_jsonl { "out/3", compression = "none" }),
  s.named("cut", s.files "p.txt" | k.paragraphs {} | s.write_jsonl { "out/4", compression = "none" }),
}
END
cat >expected <<'END'
{"text":"the one","id":"1","score":0.5,"flag":true,"count":-7,"share":0.125,"label":"L","mode":"second","size":2048,"wait":3000000000,"between":2.5,"words":"x+y a=1;b=2","lengths":[3,3],"small":-2,"places":[2,6]}
{"text":"eé e","id":"5","flag":true,"count":-7,"share":0.25,"label":"L","mode":"second","size":2048,"wait":3000000000,"between":2.5,"words":"x+y a=1;b=2","lengths":[3,1],"small":-2,"places":[0,4]}
{"text":"","id":"2","drop_stage":"kinds","drop_reason":"empty","drop_value":0.0,"drop_limit":1.0}
{"text":"copy","id":"3","drop_stage":"kinds","drop_reason":"copy","drop_value":0.0,"drop_limit":0.0,"dup_of":"the first","similarity":0.75}
{"text":"the one|"}
{"text":"copy|odd"}
{"text":"eé e"}
{"text":"one\ntwo"}
{"text":"three"}
{"text":"five\n"}
END
expect 0 "$SLUICE" run kinds.lua --quiet
for n in 1 2 3 4; do lines out/$n; done >found
diff expected found >&2 || fail 'the plugin in Rust gives something else (<: expected)'
expect 0 "$SLUICE" why kinds --quarantine
says 'odd_text in kinds' "this one can't be judged" 'invalid_utf8 in paragraphs: p.txt bytes 18 to 24'

# Errors have their code and field.
sed 's/label = "L"/between = "1..10"/' kinds.lua >wrong.lua
expect 2 "$SLUICE" check wrong.lua
says 'found 10 as the upper end, expected less'

# Readers that read at random: an index and units of more than one call, rows skipped, cells found by searching.
(cd "$TMP/usr/share/sluice/rust" && "$CARGO" build --release --offline --quiet --example parts) || fail 'the example parts does not build'
cp target/release/examples/libparts.so parts.so
perl -e 'my ($at, $index, $number) = (0, "", 0);
    for my $part (1 .. 30) {
        my $lines = join "", map { $number++; $number == 2650 ? "not UTF-8: \xff\n" : "number $number of a file of parts\n" } 1 .. 100;
        print $lines;
        $at += length $lines;
        $index .= pack "Q<Q<", $at, $number;
    }
    print $index, pack "Q<", 30' >a.parts
perl -e 'print map { sprintf("#%-30s\n", "cell $_"), $_ % 7 ? "" : "some noise" x ($_ % 5) } 1 .. 9000' >a.cells
for data in parts cells; do
    expect 0 "$SLUICE" test-plugin ./parts.so "read_$data" --data "a.$data"
    says ' passed, 0 failed'
done
cat >parts.lua <<'END'
local s = require "sluice"
local p = s.plugin "parts.so"
local a = s.args { above = { "int", 2601 } }
return s.pipeline { "parts", max_bad = "50%",
  s.named("parts", s.files { "a.parts", split = "64KiB" } | p.read_parts { above = a.above } | s.write_jsonl { "out/7", compression = "none" }),
  s.named("cells", s.files { "a.cells", split = "64KiB" } | p.read_cells {} | s.write_jsonl { "out/8", compression = "none" }),
}
END
expect 0 "$SLUICE" run parts.lua --quiet
lines out/7 >found
is "$(wc -l <found) $(head -n 1 found)" '399 {"text":"number 2601 of a file of parts"}' 'the lines of four parts'
is "$(lines out/8 | grep -c '"cell [0-9]*"')" 9000 'cells'
expect 0 "$SLUICE" report parts
says '26 units, 79 kB skipped by greatest'
expect 0 "$SLUICE" why parts --quarantine
says 'invalid_utf8 in read_parts: a.parts bytes'
expect 0 "$SLUICE" trace out/8 "$(find out/8/latest/ -name '*.jsonl' | LC_ALL=C sort | sed -n 2p | xargs basename)" 3 --run parts --text
says '#cell '
truncate -s -1 a.parts
expect 4 "$SLUICE" run parts.lua --quiet
says 'a.parts' 'the number of parts is damaged'

# Rows that ask a server: the answer, one more where it is even, a refusal.
command -v perl >/dev/null || exit 0
(cd "$TMP/usr/share/sluice/rust" && "$CARGO" build --release --offline --quiet --example asks) || fail 'the example asks does not build'
cp target/release/examples/libasks.so asks.so
: >served
perl "$SRC/tests/http.pl" served 1 0 20 30 >port &
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
host=127.0.0.1:$(cat port)
cat >asks.lua <<END
local s = require "sluice"
local asks = s.plugin "asks.so"
local all = s.files "asked.jsonl" | s.read_jsonl {} | asks.sums { url = "http://$host/", ask = { hosts = { "$host" } } }
return s.pipeline { "asks", all | s.write_jsonl { "out/5", compression = "none" }, all.dropped | s.write_jsonl { "out/6", compression = "none" } }
END
printf '{"id":"1","text":"a"}\n{"id":"2","text":"b"}\n{"id":"3","text":"refuse"}\n{"id":"4","text":"c"}\n' >asked.jsonl
expect 0 "$SLUICE" run asks.lua --quiet
# a is 97; b is 98, which is asked about as {"n":1,"sum":98}
is "$(lines out/5 | sed 's/.*"sum":\([0-9]*\).*/\1/' | tr '\n' ' ')" "97 $(perl -e 'print unpack "%32C*", q({"n":1,"sum":98})') 99 " 'the sums'
is "$(lines out/6 | sed 's/.*"id":"\([0-9]\)".*"drop_reason":"\([a-z]*\)".*/\1 \2/')" '3 refused' 'what is refused'

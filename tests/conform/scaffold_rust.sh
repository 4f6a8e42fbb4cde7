# sluice new --lang rust, every role: make and make test with nothing but what is installed.
# time limit: 400
. "$SRC/tests/conform/scaffold_kit"
installed
cargo_ready
projects rust match
notices rust gate src/lib.rs 'share <= max_share' 'share < 2.0 \&\& max_share >= 0.0'

# unit tests that the templates bring
(cd my_reader && "$CARGO" test --release --offline --quiet) >"$TMP/log" 2>&1 || fail "cargo test in a project: $(tail -n 20 "$TMP/log")"
grep -q '1 passed' "$TMP/log" || fail "cargo test ran no test: $(cat "$TMP/log")"

# A panic is an error of the stage, not of the process.
sed 's/let words = measure.*/panic!("out of cheese");/; s/let verdict = .*/let words = 0; let verdict = Verdict::keep();/' match/src/lib.rs >changed
cp changed match/src/lib.rs
(cd match && make) >"$TMP/log" 2>&1 || fail "make after a change: $(tail -n 20 "$TMP/log")"
(cd match && sh test/run.sh) >"$TMP/log" 2>&1 && fail 'a stage that panics passes its test'
grep -q 'the plugin panicked: out of cheese' "$TMP/log" || fail "the panic's message is lost: $(cat "$TMP/log")"

# contract.sh - contracts on an edge: rules on columns before any data, rules on rows, uniqueness across splits, freshness, limits; what becomes
# of a row that breaks one, and that it is the same for any workers and splits.
. "$SRC/tests/lib.sh"

perl -e 'for (1 .. 2000) { my $lang = $_ % 2 ? "en" : "de"; print qq({"id":"r$_","response":"answer number $_ ) . "y" x ($_ % 200) . qq(","lang":"$lang","score":0.5,"when":"2026-03-0) . ($_ % 9 + 1) . qq(T10:00:00Z","n":$_}\n) }' >a.jsonl
cat >b.jsonl <<'END'
{"id":"lacks","completion":"a fine long completion","lang":"en","score":0.2,"when":"2026-03-01","n":4,"topic":"x"}
{"id":"lang","response":"ok text","lang":"xx","score":0.2,"when":"2026-03-01","n":4}
{"id":"range","response":"ok text","lang":"de","score":1.2,"when":"2026-03-01","n":4}
{"id":"r7","response":"ok text","lang":"de","score":0.2,"when":"2026-03-01","n":4}
{"id":"UP","response":"ok text","lang":"de","score":0.2,"when":"2026-03-01","n":4}
{"id":"short","response":"","lang":"de","score":0.2,"when":"2026-03-01","n":4}
{"id":"fine","response":"ok text","lang":"de","score":1,"when":"2026-03-01","n":4}
END
cat >contract.lua <<'L'
local s = require "sluice"
local a = s.args { now = { "string", "2026-03-10T00:00:00Z" }, broken = { "string", "quarantine" }, limit = { "float", 1 }, age = { "string", "48h" },
                   out = { "path", "out" }, split = { "size", "1MiB" }, max_bad = { "int", 6 } }
local docs = s.files { "[ab].jsonl", split = a.split }
  | s.read_jsonl { text = "response", columns = { lang = "utf8", score = "float64", when = "utf8", n = "int64" } }
local good = docs | s.contract {
  name = "answers", columns = { text = "utf8", lang = "utf8", score = "number", n = "integer", id = "any" }, required = { "text", "lang" },
  unique = { "id", { "lang", "text" } }, range = { score = { 0, 1 }, when = "2026..2027" }, length = { text = { min = 1 } },
  regex = { id = "^[a-z0-9]+$" }, allowed = { lang = { "en", "de" } },
  freshness = { column = "when", max_age = a.age, at = a.now }, broken = a.broken, limit = a.limit }
return s.pipeline { "contract", max_bad = a.max_bad, good | s.write_jsonl { a.out, compression = "none" } }
L
expect 0 "$SLUICE" run contract.lua --quiet --run-dir run
is "$(lines out | wc -l)" 2001 'rows that keep the contract'
is "$(lines out | tail -n 1 | member id)" fine 'the last row'
expect 0 "$SLUICE" why run --quarantine
says contract_null "the required column 'text' is null; the record has 'completion' instead (\"a fine long completion\"): was it renamed?" \
    contract_allowed "the column 'lang' is \"xx\", the contract says [\"en\",\"de\"]" contract_range "the column 'score' is 1.2" \
    contract_regex "the column 'id' is \"UP\"" contract_length contract_unique 'the same values as an earlier row, r7' '6 of 6'
grep -qF '"name": "answers"' out/snapshots/000001.json || fail 'the manifest does not name the contract'
for how in '1 64KiB' '5 64KiB'; do
    # shellcheck disable=SC2086
    set -- $how
    expect 0 "$SLUICE" run contract.lua --quiet --run-dir "run$1$2" "out=out$1$2" "split=$2" --workers "$1"
    lines out >left
    lines "out$1$2" >right
    cmp -s left right || fail "workers $1, splits of $2: other rows"
done

# More than the run bears; dropped rows are another account, with a limit of its own.
expect 4 "$SLUICE" run contract.lua --quiet --run-dir run.bad out=bad max_bad=4
expect 0 "$SLUICE" run contract.lua --quiet --run-dir run.drop out=drop broken=drop max_bad=0
lines drop >right
cmp -s left right || fail 'other rows are kept'
expect 0 "$SLUICE" why run.drop --reason contract_unique
says r7
expect 3 "$SLUICE" run contract.lua --quiet --run-dir run.drop out=drop broken=drop limit=0.0029
says '6 of 2007 rows' 'break the contract' 'limit = 0.0029'
expect 0 "$SLUICE" run contract.lua --quiet --run-dir run.drop out=drop broken=drop limit=0.003
# Only thresholds changed: nothing ran again.
is "$(reran run.drop | sum)" 0 'tasks that ran again'

# The newest row against a time that is stated.
expect 3 "$SLUICE" run contract.lua --quiet --run-dir run.age out=age age=13h
says 'the newest row is of 2026-03-09T10:00:00Z' "14.0 hours before 2026-03-10T00:00:00Z" 'max_age = 13.0 hours'
expect 0 "$SLUICE" run contract.lua --quiet --run-dir run.age out=age age=14h
expect 2 "$SLUICE" check contract.lua now=yesterday
says 'found "yesterday", expected a time such as'

check() {
    printf 'local s = require "sluice"\nlocal d = s.files { "a.jsonl" } | s.read_jsonl { columns = { completion = "utf8", lang = "utf8", n = "int64", responses = "utf8" }%s } | s.contract %s\nreturn s.pipeline { "b", d | s.write_jsonl { "b", compression = "none" } }\n' "$2" "$1" >bad.lua
}
bad() {
    contract=$1
    shift
    check "$contract" ''
    expect 2 "$SLUICE" check bad.lua
    says "$@"
}
# A column that has another name now: by the likeness of names, or as the only one of its type.
bad '{ columns = { response = "utf8", text = "utf8" } }' "the column 'response' (utf8) is not there, but 'responses' (utf8?) is" 'their names are alike' \
    's.rename_columns { { responses = "response" } }'
bad '{ columns = { count = "integer", text = "utf8" } }' "the column 'count'" "but 'n' (int64" 'no other column has that type'
bad '{ columns = { score = "float64" } }' "no 'score'"
bad '{ columns = { n = "utf8" } }' "the column 'n' is int64" 'the schema expects utf8' s.cast_columns
bad '{ columns = { text = "utf8", n = "integer" }, evolution = "fixed" }' "there is a column 'completion'" 's.drop_columns'
bad '{ requires = { "text" } }' "there is no 'requires'" required
bad '{ required = { "texts" } }' "no 'texts'"
bad '{ range = { n = { 2, 1 } } }' "range of 'n': found 2..1" 'the smaller end first'
bad '{ range = { n = { low = 1 } } }' "has no 'low'"
bad '{ regex = { lang = "(" } }' "regex of 'lang'" PCRE2
bad '{ allowed = { n = { "a" } } }' "allowed of 'n'" "values of the column's type"
bad '{ freshness = { column = "lang", max_age = "1h" } }' 'freshness needs `at`' 'tasks know no clock'
bad '{ freshness = { column = "lang" } }' 'freshness needs column and max_age'
bad '{ unique = { "idd" } }' "no 'idd'"
bad '"none.json"' none.json
# evolution = "fixed" sees members that the reader was not told of, row by row.
check '{ columns = { text = "utf8", completion = "utf8", lang = "utf8", n = "integer", responses = "utf8" }, evolution = "fixed" }' ', missing = "allow"'
expect 4 "$SLUICE" run bad.lua --quiet --run-dir run.fixed
says contract_extra

# Rows that broke it go on as dropped ones.
cat >dropped.lua <<'L'
local s = require "sluice"
local docs = s.files "b.jsonl" | s.read_jsonl { text = "response", columns = { lang = "utf8" } }
local good = docs | s.contract { allowed = { lang = { "en", "de" } }, required = { "text" }, broken = "drop" }
return s.pipeline { "dropped", good | s.write_jsonl { "good", compression = "none" }, good.dropped | s.write_jsonl { "broken", compression = "none" } }
L
expect 0 "$SLUICE" run dropped.lua --quiet --run-dir run.dropped
is "$(lines broken | member drop_reason | tr '\n' ' ')" 'contract_null contract_allowed ' 'reasons of dropped rows'
is "$(lines good | wc -l)" 5 'rows that are left'

# The columns of Parquet files are known before any data is read.
if "$SLUICE" inspect read_parquet >/dev/null 2>&1; then
    parquet() {
        printf 'local s = require "sluice"\nreturn s.pipeline { "q", s.files "%s" | s.read_parquet {} | s.contract %s | s.keep_columns { "id", "text" } | s.write_jsonl { "q", compression = "none" } }\n' \
            "$SRC/tests/data/parquet/docs.parquet" "$1" >parquet.lua
    }
    parquet '{ columns = { language = "utf8" } }'
    expect 2 "$SLUICE" check parquet.lua
    says "the column 'language' (utf8) is not there, but 'lang' (utf8?) is" 'their names are alike'
    parquet '{ columns = { lang = "utf8" }, evolution = "fixed" }'
    expect 2 "$SLUICE" check parquet.lua
    says 'evolution = "fixed"' s.drop_columns
    expect 0 "$SLUICE" contract infer "$SRC/tests/data/parquet/docs.parquet" --quiet -o parquet.json
    parquet '"parquet.json"'
    expect 0 "$SLUICE" run parquet.lua --quiet --run-dir run.parquet
fi

# columns.sh - columns kept, dropped, renamed and cast: what comes out, what is refused before any data, and that rows keep their origin and
# the bytes are the same for any workers and splits.
. "$SRC/tests/lib.sh"

perl -e 'for (1 .. 3000) { my $bad = $_ % 500 == 0; print qq({"id":"r$_","response":"text number $_ ) . "x" x ($_ % 300) . qq(","score":"0.$_","n":$_,"flag":) . ($bad ? q("maybe") : q("true")) . qq(,"extra":{"a":$_}}\n) }' >docs.jsonl
cat >columns.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, split = { "size", "1MiB" }, bad = { "string", "quarantine" } }
local docs = s.files { "docs.jsonl", split = a.split }
  | s.read_jsonl { text = "response", columns = { score = "utf8", n = "int64", flag = "utf8", extra = "json" } }
local typed = docs | s.cast_columns { { score = "float64", n = "uint16", flag = "bool", extra = "utf8" }, bad = a.bad }
return s.pipeline { "columns", max_bad = 10,
  typed | s.keep_columns { "id", "text", "score", "n", "flag" } | s.rename_columns { { score = "quality", text = "answer" } } | s.exact { over = { "answer" } }
    | s.write_jsonl { a.out .. "/kept", compression = "none" },
  docs | s.drop_columns { "metadata", "extra", "score" } | s.rename_columns { { id = "text", text = "id" } }
    | s.write_jsonl { a.out .. "/dropped", compression = "none" } }
L
expect 0 "$SLUICE" run columns.lua --quiet --run-dir run
is "$(lines out/kept | sed -n 1p)" '{"id":"r1","answer":"text number 1 x","flag":true,"n":1,"quality":0.1}' 'the first row'
is "$(lines out/kept | wc -l)" 2994 'rows that could be cast'
is "$(lines out/dropped | wc -l)" 3000 'rows without columns'
is "$(lines out/dropped | sed -n 7p | member text)" r7 'exchanged names'
expect 0 "$SLUICE" why run --quarantine
says 'bad_cast in cast_columns' "the column 'flag' is \"maybe\", which can't be bool: it is none of true, false, 1 and 0"
# Rows keep where they come from.
expect 0 "$SLUICE" trace out/kept 0 1 --run run
says docs.jsonl r2
for how in '1 64KiB' '5 64KiB' '2 300KiB'; do
    # shellcheck disable=SC2086
    set -- $how
    expect 0 "$SLUICE" run columns.lua --quiet --run-dir "run$1$2" "out=out$1$2" "split=$2" --workers "$1"
    for set in kept dropped; do
        lines "out/$set" >left
        lines "out$1$2/$set" >right
        cmp -s left right || fail "workers $1, splits of $2: other rows of $set"
    done
done

# null, or the end.
expect 0 "$SLUICE" run columns.lua --quiet --run-dir run.null out=null bad=null
is "$(lines null/kept | wc -l)" 3000 'rows with nulls'
is "$(lines null/kept | grep -c '"flag"')" 2994 'values that are there'
expect 2 "$SLUICE" run columns.lua --quiet --run-dir run.error out=error bad=error
says "the column 'flag' is \"maybe\"" 'mend the data'
[ ! -e error/kept/latest ] || fail 'a dataset was published'

bad() {
    stage=$1
    shift
    printf 'local s = require "sluice"\nlocal d = s.files { "docs.jsonl" } | s.read_jsonl { columns = { n = "int64", flag = "utf8" } } | s.%s\nreturn s.pipeline { "b", d | s.write_jsonl { "b" } }\n' "$stage" >bad.lua
    expect 2 "$SLUICE" check bad.lua
    says "$@"
}
bad 'keep_columns { "flags" }' "no 'flags'" "did you mean 'flag'"
bad 'keep_columns {}' "'columns' of 'keep_columns' is missing"
bad 'drop_columns { "flags" }' "did you mean 'flag'"
bad 'drop_columns { "text", "id", "n", "flag", "metadata" }' 'every column of the rows is dropped'
bad 'drop_columns { "_row" }' 'hidden or derived'
bad 'rename_columns { { flags = "x" } }' "did you mean 'flag'"
bad 'rename_columns { { n = "text" } }' "'n' is to be called 'text'" "there is a column 'text'"
bad 'rename_columns { { n = "x", flag = "x" } }' "'n' is to be called 'x', as also 'flag'"
bad 'rename_columns { { n = "_n" } }' 'begins with'
bad 'cast_columns { { n = "int" } }' 'found the type "int"' float64
bad 'cast_columns { { m = "int64" } }' "no 'm'"
bad 'cast_columns { { n = "binary" } }' "can't be cast to binary"
bad 'cast_columns { { n = "int8" }, bad = "skip" }' quarantine

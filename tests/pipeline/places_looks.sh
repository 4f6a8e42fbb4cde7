# places_looks.sh - the commands that look at runs and datasets say the same of those in a place without folders and links as of those on a
# disk, byte by byte but for the names.
STORE=hostile
. "$SRC/tests/lib.sh"
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"

make_corpus
cp "$SRC/tests/data/tokenize/tiny_gpt2.json" .
cat >t.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" } }
local docs = s.union(s.files "in/a.jsonl" | s.read_jsonl {}, s.files "in/b.jsonl" | s.read_jsonl {})
local odd = s.heuristic { "odd", options = { max = { "int", 100 } },
  measure = function(doc) if doc.text:find "a5" then error "no a5" end return #doc.text:words() end, drop = { above = "max" } }
local good = docs | s.gopher_quality { min_doc_words = 9, min_stop_words = 1 }
local unique = good | odd {} | s.exact { partitions = 2 }
local rows = unique | s.tokenize { "tiny_gpt2.json", eos = "default" } | s.pack { 64 }
return s.pipeline { "t", max_bad = 10, unique | s.write_jsonl { a.out .. "/kept", shard_size = "200B" },
  unique.dropped | s.write_jsonl { a.out .. "/dropped" }, rows | s.write_megatron { a.out .. "/tokens" } }
L

# Where it stands, by what it says of it.
plain() {
    neutral <"$1" | sed -e "s/, [0-9]* records/, N records/;s|hostile://||g;s|TMP/||g" -e 's/"seconds":[0-9.e+-]*/"seconds":S/g;s/"[a-z_]*_seconds":[0-9.e+-]*/"seconds":S/g' |
        if [ "$command" = report ]; then sed -e '/Bound by/d;s/[0-9][0-9.:]*/N/g;s/  */ /g;s/\( <*N %\)*$//'; else cat; fi
}
# look NAME COMMAND WORD...: what the command prints of both, and its status; @ stands before what is in a place
look() {
    command=$1
    for STORE in disk hostile; do
        said=$TMP/$STORE.said
        words=
        for word in "$@"; do
            case $word in
            @*) word=$(place "${word#@}") ;;
            esac
            words="$words '$word'"
        done
        status=0
        eval "\"\$SLUICE\" $words" >"$said.out" 2>"$said.err" || status=$?
        { plain "$said.out"; echo '--'; plain "$said.err"; echo "exit $status"; } >"$said"
    done
    if ! cmp -s disk.said hostile.said; then
        diff disk.said hostile.said >&2
        fail "of a run in a place differs: $*"
    fi
    looked=$((looked + 1))
    [ "$status" = 0 ] || [ -n "$wrong" ] || { cat "$said" >&2; fail "$*: exit $status"; }
}
looked=0
wrong=
both() {
    for STORE in disk hostile; do
        expect 0 "$SLUICE" run t.lua --quiet --run-dir "$(place r)" "out=$(place o)" "$@"
    done
}
both
faults 3:9

# What lists lack is another thing for each seed: what has a number or a key is asked for all the same.
seeded=$SLUICE_TEST_HOSTILE
for seed in 1 2 3 4 5 6 7 8; do
    SLUICE_TEST_HOSTILE=$((${seeded%:*} + 100000 * seed)):9
    look show @r
    look plan t.lua --run-dir @r out=@o
done
SLUICE_TEST_HOSTILE=$seeded
look report @r
look verify @r
for dataset in kept dropped tokens; do
    look verify "@o/$dataset"
    look head "@o/$dataset" -n 5
    look head "@o/$dataset@1" -n 2 --json
done
look verify --all @o/kept --quick
look head @o/kept --random -n 3 --json
look head @o/kept --where id=b2 --json
look head @o/tokens -n 3 --tokens --tokenizer tiny_gpt2.json
look why @r
look why @r --id a1
look why @r --id b3
look why @r --dropped --stage exact --json
look why @r --quarantine --json
look why @r --task 0
look trace @o/kept 0 0 --run @r --text
look trace @o/kept 0 1 --run @r --json
look trace @r write_jsonl 0 0
wrong=yes
look why @r --id nobody
look trace @o/kept 77 0 --run @r
look head @o/kept@7
look head @o/nothing
look show @nothing
look gc @nothing
look bundle @nothing
look verify @nothing
# A row in quarantine, given to its stage again.
row=$(find r/quarantine -type f | LC_ALL=C sort | head -n 1)
[ -n "$row" ] || fail 'no row is in quarantine'
look replay "@$row"
wrong=
echo "$looked looks"

# A bundle holds the same files, where no list is old.
unset SLUICE_TEST_HOSTILE
for STORE in disk hostile; do
    expect 0 "$SLUICE" bundle "$(place r)" -o "$TMP/$STORE.tar.zst"
    mkdir "$STORE.bundle"
    zstd -qdc "$STORE.tar.zst" | tar -xf - -C "$STORE.bundle" || fail 'no archive'
    (cd "$STORE.bundle" && find . -type f | LC_ALL=C sort) >"$STORE.names"
done
cmp -s disk.names hostile.names || { diff disk.names hostile.names >&2; fail 'a bundle of a run in a place has other files'; }
same disk.bundle/r.bundle/tasks hostile.bundle/r.bundle/tasks 'records in the bundle'
expect 0 "$SLUICE" bundle "$(place r)" -o "$(place b/r.tar.zst)"
land b
zstd -qt b/r.tar.zst || fail 'a bundle in a place is no archive'

# Samples, written here and there.
expect 0 "$SLUICE" sample t.lua --at exact --quiet -o near.jsonl out=x
expect 0 "$SLUICE" sample t.lua --at exact --quiet -o "$(place s/far.jsonl)" --run-dir "$(place r)" "out=$(place o)"
land s
cmp -s near.jsonl s/far.jsonl || fail 'a sample in a place has other rows'
expect 2 "$SLUICE" sample t.lua --at exact --quiet --scratch "$(place s)" out=x
says '--scratch' 'folder of this machine'

# Lists of inputs: the list in a place, what it names in places and by paths.
mkdir lists
cp in/a.jsonl lists/
printf 'a.jsonl\r\n%s\n\n' "$TMP/in/b.jsonl" >lists/all.txt
lift lists
cat >list.lua <<'L'
local s = require "sluice"
local a = s.args { list = { "string" }, out = { "path" } }
return s.pipeline { "list", max_bad = 1, s.files { a.list } | s.read_jsonl {} | s.write_jsonl { a.out, compression = "none" } }
L
expect 0 "$SLUICE" run list.lua --quiet --run-dir l1.run "list=@$(place lists/all.txt)" out=l1
printf '%s\n%s\n' "$(place lists/a.jsonl)" in/b.jsonl >near.txt
expect 0 "$SLUICE" run list.lua --quiet --run-dir l2.run list=@near.txt out=l2
is "$(cat l1/data/* | wc -l)" 12 'rows of a list in a place'
is "$(cat l1/data/* | LC_ALL=C sort | cksum)" "$(cat l2/data/* | LC_ALL=C sort | cksum)" 'rows of both lists'
expect 2 "$SLUICE" run list.lua --quiet --run-dir l3.run "list=@$(place lists/none.txt)" out=l3
says 'the list of files' 'lists/none.txt'
expect 2 "$SLUICE" run list.lua --quiet --run-dir l3.run list=@nosuch://x out=l3
says 'nosuch://'

# Stopping, and what is cleaned up.
look stop @r
look stop @r --undo
sed -i 's/min_doc_words = 9/min_doc_words = 12/' t.lua
both
look gc @r --dry-run
look gc @r
look gc @r
look verify @r
both
look show @r

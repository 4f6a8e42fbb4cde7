# saved_dedup.sh - the steps of near duplicates, of Bloom filters, of equal sentences and of mixtures go on from their saved state wherever
# their task was given back: the same datasets and records as of a run that nobody disturbed.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=150 dup=5 near=15 short=0 lorem=0 words=200 >made || fail 'no corpus'
cat >dedup.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local docs = s.files "corpus/*" | s.read_jsonl { columns = { kind = "utf8" } }
local function written(name, kept)
  return kept | s.write_jsonl { a.out .. "/" .. name, compression = "none" },
    kept.dropped | s.write_jsonl { a.out .. "/" .. name .. "_lost", compression = "none" }
end
local near = { ngram = 3, bands = 20, rows = 5, partitions = 2 }
local function minhash(more)
  local options = {}
  for _, from in ipairs { near, more } do for k, v in pairs(from) do options[k] = v end end
  return docs | s.minhash(options)
end
local mixed = docs | s.mix { by = "kind", weights = { plain = 3, near = 1, duplicate = 1 }, total = 300, max_epochs = 4, partitions = 2 }
local list = { s.named("table", mixed | s.mix_table {} | s.write_jsonl { a.out .. "/table", compression = "none" }),
  docs | s.bloom_index { expected = 20000, false_positives = 1e-6 } | s.write_bloom { a.out .. "/bloom" } }
local function add(...)
  for _, node in ipairs { ... } do list[#list + 1] = node end
end
add(written("first", minhash {}))
add(written("verified", minhash { verify = 0.5 }))
add(written("peer", minhash { keep = "peer" }))
add(written("paragraphs", docs | s.bloom_paragraphs { expected = 20000 }))
add(written("sentences", docs | s.sentence_dedup { min_words = 1, min_units = 0 }))
add(written("mixed", mixed))
return s.pipeline { "dedup", table.unpack(list) }
END
go() {
    "$SLUICE" run dedup.lua --quiet --run-dir "$TMP/$1.run" "out=$TMP/$1.out" --workers 1 --batch 16KiB
}
expect 0 go whole
[ "$(lines whole.out/verified_lost | wc -l)" -gt 10 ] || fail 'few near duplicates'

SLUICE_SAVE=0
export SLUICE_SAVE SLUICE_TEST_SAVE
for n in 5 13; do
    SLUICE_TEST_SAVE="$n!"
    status=130
    rounds=0
    while [ "$status" = 130 ]; do
        rounds=$((rounds + 1))
        [ "$rounds" -lt 400 ] || fail "every $n: no end"
        status=0
        go "back$n" >out 2>&1 || status=$?
        grep 'start over' out && fail "every $n: a stage can't be saved"
    done
    [ "$status" = 0 ] || { cat out >&2; fail "every $n: status $status"; }
    [ "$rounds" -gt 2 ] || fail "every $n: it was not given back"
    went=$(cat "back$n.run"/attempts/*.jsonl | grep -c '"from_row"')
    [ "$went" -gt 1 ] || fail "every $n: nothing went on from a saved state"
    same whole.out "back$n.out" "datasets, given back at every ${n}th place"
    same whole.run/tasks "back$n.run/tasks" "records, given back at every ${n}th place"
    echo "every $n: $rounds processes, $went tasks went on"
done

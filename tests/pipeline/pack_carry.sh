# pack_carry.sh - pack with `carry`: what the splits leave incomplete is packed together. No token is lost, only over-long documents are cut, less is
# padding than without, the bytes are the same for any number of workers and after kill -9, and rows lead back to their records.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=4 docs=100 >made || fail 'no corpus'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { tokenizer = { "path" }, out = { "path", "out" }, strategy = { "string", "best_fit" }, carry = { "bool", true } }
local tokens = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl {} | s.tokenize { a.tokenizer, eos = "default" }
return s.pipeline { "p",
  tokens | s.write_jsonl { a.out .. "/tokens", compression = "none" },
  tokens | s.pack { 512, carry = a.carry, strategy = a.strategy, position_ids = true } | s.write_jsonl { a.out .. "/packed", compression = "none" },
}
L
tokenizer=tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json
go() {
    folder=$1 workers=$2
    shift 2
    "$SLUICE" run p.lua --quiet --run-dir "$TMP/$folder.run" "$tokenizer" "out=$TMP/$folder.out" --workers "$workers" "$@"
}

# check FOLDER CARRIED prints the rows that are padded and all padding; with CARRIED every row but the last is nearly full.
cat >check.py <<'P'
import glob, json, sys
rows = lambda name: [json.loads(l) for p in sorted(glob.glob(f"{sys.argv[1]}.out/{name}/latest/*.jsonl")) for l in open(p)]
documents = [tuple(row["tokens"]) for row in rows("tokens")]
packed = rows("packed")
pieces, padding, padded = [], 0, 0
for row in packed:
    assert len(row["tokens"]) == 512 and sum(row["segments"]) + row["padding"] == 512 and row["padding"] >= 0, row
    assert row["position_ids"] == [i for n in row["segments"] + [row["padding"]] for i in range(n)]
    padding += row["padding"]
    padded += row["padding"] > 0
    at = 0
    for n in row["segments"]:
        pieces.append(tuple(row["tokens"][at:at + n]))
        at += n
assert sum(map(len, pieces)) == sum(map(len, documents))
if sys.argv[2] == "best_fit":
    short = sorted(d for d in documents if 0 < len(d) <= 512)
    long = [d for d in documents if len(d) > 512]
    expected = sorted(short + [d[k:k + 512] for d in long for k in range(0, len(d), 512)])
    assert sorted(pieces) == expected, "a document was cut that is not over-long, or is not there"
print(len(packed), padded, padding, sum(map(len, documents)))
P
expect 0 go whole 2
expect 0 "$PYTHON" check.py whole best_fit
read -r rows padded padding tokens <stdout
expect 0 go apart 2 carry=false
expect 0 "$PYTHON" check.py apart best_fit
read -r more _ apart _ <stdout
[ $((padding * 3)) -lt $((apart * 2)) ] || fail "$padding of $tokens tokens are padding with carry, $apart without"
[ "$rows" -lt "$more" ] || fail "$rows rows with carry, $more without"
expect 0 go concat 2 strategy=concat
expect 0 "$PYTHON" check.py concat concat
read -r _ padded _ _ <stdout
[ "$padded" -le 1 ] || fail "$padded rows of concat are padded"
expect 0 "$SLUICE" report whole.run
says "$((padding / 1000)),$(printf %03d $((padding % 1000))) padding" 'carried'

expect 0 go one 1
same whole.out one.out '1 worker'

# Pieces that the next split takes are not dropped.
! grep -q 'carried *[0-9.kM]* *[0-9.]* %' "$TMP/stdout" || fail 'the report calls carried pieces dropped'

# A carried row names its records by split and row, and leads back to them.
file=$(basename "$(ls -d whole.out/packed/latest/* | tail -n 1)")
expect 0 "$SLUICE" trace whole.out/packed "$file" 0 --run whole.run
says '.jsonl' 'bytes'

SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go logged 2
unset SLUICE_TEST_OPLOG
operations=$(operations log)
killed=0
for seed in 1 2 3; do
    rm -rf cut.run cut.out
    may_be_killed "$seed:$operations" go cut $((1 + seed % 3))
    expect 0 go cut 2
    same whole.out cut.out "datasets after seed $seed"
done
[ "$killed" -ge 1 ] || fail "only $killed of 3 seeds killed the run"
echo "$rows rows, $padding padding, $apart without carry; $killed kills"

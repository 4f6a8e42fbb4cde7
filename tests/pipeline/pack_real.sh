# pack_real.sh - real documents, the functions and texts of this project, shuffled, packed at 2048 tokens with `carry`, and shuffled again: at most
# 0.1 % is padding, documents that are not over-long stand whole in a row, and the bytes are the same with another number of workers, other batches
# and after kill -9 in the middle of shuffling and of packing. (tests/bench/pack.sh: 2k, 8k and 32k on more text.)
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir src
tar -C "$SRC" -cf - core plugins sdk/text sdk/guides tests/unit | tar -C src -xf - || fail 'no corpus'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { src = { "string" }, out = { "string" }, tokenizer = { "path" } }
local docs = s.files { a.src .. "/**/*.[chm]*", split = "1MiB" } | s.read_text { separator = "\n}\n\n" }
local tokens = docs | s.shuffle { seed = 3, partitions = 4 } | s.tokenize { a.tokenizer, eos = "default" }
local rows = tokens | s.pack { 2048, carry = true } | s.shuffle { seed = 4, partitions = 4 }
return s.pipeline { "p",
  tokens | s.write_megatron { a.out .. "/documents" },
  rows | s.write_megatron { a.out .. "/rows" },
  rows | s.write_jsonl { a.out .. "/segments", columns = { "segments", "padding" }, compression = "none" },
}
L
go() {
    folder=$1
    shift
    "$SLUICE" run p.lua --quiet --run-dir "$TMP/$folder.run" "src=$TMP/src" "out=$TMP/$folder.out" "tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json" "$@"
}

SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go whole --workers 1
unset SLUICE_TEST_OPLOG
operations=$(operations log)
rm log

cat >check.py <<'P'
import collections, glob, json, struct
def lengths(name):
    for path in sorted(glob.glob("whole.out/%s/latest/*.idx" % name)):
        with open(path, "rb") as f:
            head = f.read(34)
            assert head[:9] == b"MMIDIDX\0\0", path
            n = struct.unpack("<QBQQ", head[9:])[2]
            yield from struct.unpack("<%di" % n, f.read(4 * n))
documents = list(lengths("documents"))
rows = [json.loads(line) for path in sorted(glob.glob("whole.out/segments/latest/*.jsonl")) for line in open(path)]
pieces = collections.Counter(n for row in rows for n in row["segments"])
expected = collections.Counter()
for n in documents:
    expected[2048] += n // 2048
    expected[n % 2048] += 1
del expected[0]
assert pieces == +expected, "a document was cut that is not over-long, or is not there"
assert all(sum(row["segments"]) + row["padding"] == 2048 for row in rows)
assert list(lengths("rows")) == [2048] * len(rows)
tokens, padding = sum(documents), sum(row["padding"] for row in rows)
assert tokens > 2000000 and padding * 1000 <= tokens, "%d of %d tokens are padding" % (padding, tokens)
print("%d documents, %d of them over-long, %d rows, padding %.3f %%" % (len(documents), sum(n > 2048 for n in documents), len(rows), 100 * padding / tokens))
P
expect 0 "$PYTHON" check.py
cat stdout

# Killed where the documents are being shuffled, then where rows are.
for part in 4 2; do
    status=0
    SLUICE_TEST_KILL=$((operations / part)):half go cut --workers 2 >said 2>&1 || status=$?
    [ "$status" = 137 ] || { cat said >&2; fail "nothing was killed: status $status"; }
done
expect 0 go cut --workers 4 --batch 64KiB
same whole.out cut.out 'after two kills, with 4 workers and other batches'
same whole.run/tasks cut.run/tasks 'task records'

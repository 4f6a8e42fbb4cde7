# mds_zstd.sh - MDS shards compressed: the index says what MosaicML's writer says of them (sizes and hashes of both forms of a shard), what is
# in them is what is in plain shards, and the same bytes come out for any number of workers. Compressions and hashes that are none are refused.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=60 codec=none words=90 >made || fail 'no corpus'
cat >mds.lua <<'L'
local s = require "sluice"
local a = s.args { tokenizer = { "path" }, out = { "path", "out" }, compression = { "string", "zstd:5" }, hashes = { "list", "md5,sha1,sha256" } }
local tokens = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl {} | s.tokenize { a.tokenizer, eos = "default" }
return s.pipeline { "mds",
  tokens | s.write_mds { a.out .. "/plain", shard_size = "20KiB" },
  tokens | s.write_mds { a.out .. "/zstd", shard_size = "20KiB", compression = a.compression, hashes = a.hashes },
}
L
tokenizer=tokenizer=$SRC/tests/data/tokenize/tiny_gpt2.json
expect 0 "$SLUICE" run mds.lua --quiet --run-dir run "$tokenizer" --workers 1
expect 0 "$SLUICE" run mds.lua --quiet --run-dir other "$tokenizer" --workers 3 "out=$TMP/other.out"
for dataset in plain zstd; do
    (cd out/$dataset/latest && sha256sum ./*) >left
    (cd other.out/$dataset/latest && sha256sum ./*) | cmp -s - left || fail "other bytes of $dataset with 3 workers"
done
cat >check.py <<'P'
import hashlib, json, os, struct, subprocess
folder = lambda name: f"out/{name}/latest/"
index = {name: json.load(open(folder(name) + "index.json"))["shards"] for name in ("plain", "zstd")}
assert len(index["plain"]) == len(index["zstd"]) > 2

def cut(data):
    """A shard's samples, and its configuration."""
    n, = struct.unpack_from("<I", data)
    ends = struct.unpack_from(f"<{n + 1}I", data, 4)
    assert ends[-1] == len(data)
    return [data[a:b] for a, b in zip(ends, ends[1:])], json.loads(data[4 + 4 * (n + 1):ends[0]])

for plain, zipped in zip(index["plain"], index["zstd"]):
    assert plain["compression"] is None and plain["zip_data"] is None and plain["hashes"] == [] and plain["raw_data"]["hashes"] == {}
    assert zipped["compression"] == "zstd:5" and zipped["hashes"] == ["md5", "sha1", "sha256"]
    raw, packed = zipped["raw_data"], zipped["zip_data"]
    assert packed["basename"] == raw["basename"] + ".zstd" and raw["basename"].endswith(".mds")
    assert not os.path.exists(folder("zstd") + raw["basename"])
    data = open(folder("zstd") + packed["basename"], "rb").read()
    unpacked = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    for info, found in ((raw, unpacked), (packed, data)):
        assert info["bytes"] == len(found), info
        assert info["hashes"] == {name: hashlib.new(name, found).hexdigest() for name in ("md5", "sha1", "sha256")}, info
    samples, configuration = cut(unpacked)
    expected, _ = cut(open(folder("plain") + plain["raw_data"]["basename"], "rb").read())
    assert samples == expected and len(samples) == zipped["samples"] == plain["samples"]
    assert configuration == {key: zipped[key] for key in zipped if key not in ("raw_data", "zip_data", "samples")}, configuration
print(len(index["zstd"]), "shards")
P
expect 0 "$PYTHON" check.py
expect 0 "$SLUICE" verify out/zstd
for wrong in gzip zstd: zstd:0 zstd:23 zstd:7x; do
    expect 2 "$SLUICE" check mds.lua "$tokenizer" "compression=$wrong"
    says "$wrong" 'expected "none", "zstd" or "zstd:N"'
done
expect 2 "$SLUICE" check mds.lua "$tokenizer" hashes=sha512
says 'sha512' 'expected md5, sha1'
expect 2 "$SLUICE" check mds.lua "$tokenizer" hashes=sha1,md5
says 'alphabetical order'

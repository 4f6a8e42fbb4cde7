# Tokenizing with cl100k on one processor, against the engines that people install: long streams and cold 4 KiB calls.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
MEGABYTES=${TOKENIZE_MEGABYTES:-200} # of a stream
bench=$BUILD/tests/bench/tokenize_bench
vocabulary=$SLUICE_ASSETS/cl100k_base.tiktoken
[ -s "$vocabulary" ] || {
    echo "no $vocabulary (pkg/setup fetches it): not measured"
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
echo "$ORIGIN; one processor, processor time. A stream: the text in calls of 1 MiB, again until $MEGABYTES MB. Cold: once, in calls of 4 KiB, nothing cached before."
for text in english code multilingual; do
    file=$TMP/$text.txt
    [ "$(stat -c %s "$file")" -gt 1000000 ] || continue
    ours() { taskset -c "$CPU" "$bench" "$vocabulary" "$file" "$@"; }
    theirs() { taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_tokenize.py" "$1" "$vocabulary" "$file" "$2" "$MEGABYTES" 2>"$TMP/log"; }
    heading "$text, $(megabytes "$file") MB of distinct text" peer
    for kind in stream cold; do
        goal='>= 250 MB/s'
        [ $kind = cold ] || goal='>= 600 MB/s'
        [ $text = english ] || goal='ahead'
        for peer in gigatoken tiktoken tokenizers; do
            case $peer in
            gigatoken) r=$RUNS ;;
            *) r=1 ;;
            esac
            : >"$TMP/left"
            : >"$TMP/right"
            [ $peer = gigatoken ] || MEGABYTES_HERE=1
            while [ "$r" -gt 0 ]; do
                if [ $kind = stream ]; then ours stream "${MEGABYTES_HERE:-$MEGABYTES}" 1; else ours cold 1; fi >>"$TMP/left"
                MEGABYTES=${MEGABYTES_HERE:-$MEGABYTES} theirs $peer $kind >>"$TMP/right" || break
                r=$((r - 1))
            done
            unset MEGABYTES_HERE
            if [ ! -s "$TMP/right" ]; then
                echo "$peer is not installed (pkg/setup --for bench installs it): not compared"
                continue
            fi
            left=$(cut -d' ' -f1 "$TMP/left" | median)
            right=$(cut -d' ' -f1 "$TMP/right" | median)
            same=
            [ "$(cut -d' ' -f2 "$TMP/left" | sort -u)" = "$(cut -d' ' -f2 "$TMP/right" | sort -u)" ] || same=', other ids'
            row "$kind, $peer$same" "$left MB/s" "$right MB/s" "$(quotient "$left" "$right")" "$goal"
        done
    done
    echo "profile: $(ours profile)"
done

# sluice tokenize --train-head and --head, the stage's option: the same ids, and heads that are refused.
T=$SRC/tests/data/tokenize/tiny_gpt2.json
O=$SRC/tests/data/tokenize/tiny_qwen.json
{
    cat "$SRC/README.md"
    printf 'déjà 中文 中文 😀😀\r\n\n   x 1234567 supercalifragilisticexpialidocious\001\n'
} >sample.txt
head -c 30000 "$SRC/sdk/sluice.h" >other.txt
"$SLUICE" tokenize --tokenizer "$T" --train-head a.head sample.txt | sed 's/[0-9.]* MB/N MB/'
for text in sample.txt other.txt; do
    "$SLUICE" tokenize --tokenizer "$T" $text >plain
    "$SLUICE" tokenize --tokenizer "$T" --head a.head $text | cmp - plain && echo "the ids of $text"
done
"$SLUICE" tokenize --tokenizer "$T" --train-head b.head - <sample.txt >/dev/null
cmp a.head b.head && echo 'the same bytes again'
printf '{"text":"one one"}\n{"text":"two two two"}\n' >lines.jsonl
"$SLUICE" tokenize --tokenizer "$T" --train-head c.head --jsonl lines.jsonl | sed 's/[0-9.]* MB/N MB/'
ls ./*.head
echo '-- in a pipeline'
"$PYTHON" -c 'import json, sys; print(json.dumps({"id": "a", "text": sys.stdin.buffer.read().decode()}))' <other.txt >docs.jsonl
for head in '' ', head = "a.head"'; do
    cat >p.lua <<END
local s = require "sluice"
return s.pipeline { "ids", s.files { "docs.jsonl" } | s.read_jsonl {} | s.tokenize { "$T"$head }
  | s.write_jsonl { "out", compression = "none" } }
END
    rm -rf out
    "$SLUICE" run p.lua >log 2>&1 || cat log
    cat out/data/* | cksum >>sums
done
test "$(uniq sums | wc -l)" = 1 && grep -o '"tokens":.[0-9]' out/data/* | cut -c 1-10
echo '-- errors'
neutral() { sed 's/[0-9a-f]\{32\}/HASH/g; s/expected [0-9][0-9]*/expected N/'; }
"$SLUICE" tokenize --tokenizer "$O" --head a.head sample.txt 2>&1 | neutral
head -c 5000 a.head >cut.head
"$SLUICE" tokenize --tokenizer "$T" --head cut.head sample.txt 2>&1 | neutral
{ head -c 9000 a.head; printf X; tail -c +9002 a.head; } >changed.head
"$SLUICE" tokenize --tokenizer "$T" --head changed.head sample.txt 2>&1
"$SLUICE" tokenize --tokenizer "$T" --head sample.txt sample.txt 2>&1
"$SLUICE" tokenize --tokenizer "$T" --head nowhere.head sample.txt 2>&1
"$SLUICE" tokenize --tokenizer "$T" --train-head d.head --count sample.txt 2>&1
printf '' | "$SLUICE" tokenize --tokenizer "$T" --train-head d.head 2>&1
"$SLUICE" tokenize --tokenizer "$T" --train-head nowhere/d.head sample.txt 2>&1
sed 's/a.head/cut.head/' p.lua >q.lua
"$SLUICE" run q.lua 2>&1 | grep -o 'the trained head has 5000 bytes, expected [0-9]*' | neutral

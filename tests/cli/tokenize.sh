# sluice tokenize: text to ids and back, lines of JSON, counts, raw ids, and what it refuses.
T=$SRC/tests/data/tokenize/tiny_gpt2.json
# This vocabulary puts a space in front of a text that has none.
printf ' Hello, world! déjà 中文\n  two  lines\n' >a.txt
printf ' second' >b.txt
"$SLUICE" tokenize --tokenizer "$T" a.txt b.txt >ids
"$SLUICE" tokenize --tokenizer "$T" <a.txt | cmp - - <<END && echo 'standard input is a text, too'
$(head -n 1 ids)
END
head -n 1 ids | "$SLUICE" tokenize --tokenizer "$T" --decode | cmp - a.txt && echo 'and back'
wc -l <ids
echo '-- counts'
"$SLUICE" tokenize --tokenizer "$T" --count a.txt b.txt >counts
test "$(tail -n 1 counts)" = "$(wc -w <ids) total" && echo 'as many as there are ids'
echo '-- raw'
"$SLUICE" tokenize --tokenizer "$T" --raw u16 a.txt | od -An -v -tu2 -w2 | tr -s ' \n' ' ' | sed 's/^ //;s/ $//' >raw16
"$SLUICE" tokenize --tokenizer "$T" --raw u32 a.txt | od -An -v -tu4 -w4 | tr -s ' \n' ' ' | sed 's/^ //;s/ $//' >raw32
head -n 1 ids | cmp -s - raw32 || { head -n 1 ids | tr -d '\n' | cmp - raw32; }
cmp raw16 raw32 && echo 'the same numbers in 16 and 32 bits'
echo '-- lines'
printf '{"id":"x","text":" second"}\n\n{"text":""}\n{"text":"a\\u0000b"}' >in.jsonl
"$SLUICE" tokenize --tokenizer "$T" --jsonl in.jsonl >out.jsonl
wc -l <out.jsonl
sed -n 2p out.jsonl
test "$(sed -n 1p out.jsonl | tr -d '{}"ids:[]' | tr ',' ' ')" = "$(tail -n 1 ids)" && echo 'the ids of the text'
"$SLUICE" tokenize --tokenizer "$T" --jsonl - <in.jsonl | cmp - out.jsonl && echo 'from a pipe as well'
"$SLUICE" tokenize --tokenizer "$T" --jsonl in.jsonl --count | tail -n 2 | head -n 1
"$SLUICE" tokenize --tokenizer "$T" --jsonl in.jsonl --offsets | head -n 1 | sed 's/.*"offsets":\[0,.*\]}/offsets begin at 0/'
zstd -q in.jsonl && "$SLUICE" tokenize --tokenizer "$T" --jsonl in.jsonl.zst | cmp - out.jsonl && echo 'and compressed'
echo '-- a text of more than one portion'
yes ' one line of many words, of which there are 1234567890' | head -c 9000000 >long.txt
"$SLUICE" tokenize --tokenizer "$T" long.txt | "$SLUICE" tokenize --tokenizer "$T" --decode | cmp - long.txt && echo equal
"$SLUICE" tokenize --tokenizer "$T" --bench b.txt | sed 's/[0-9][0-9.]*/N/g' | head -n 1
echo '-- errors'
neutral() { sed "s|$SRC|SRC|g"; }
"$SLUICE" tokenize a.txt 2>&1
"$SLUICE" tokenize --tokenizer nowhere.json a.txt 2>&1 | neutral
"$SLUICE" tokenize --tokenizer a.txt a.txt 2>&1 | cut -c 1-60
"$SLUICE" tokenize --tokenizer "$T" --jsonl a.txt 2>&1 | cut -c 1-40
echo '{"txt":1}' | "$SLUICE" tokenize --tokenizer "$T" --jsonl - 2>&1
head -c 270000000 /dev/zero | "$SLUICE" tokenize --tokenizer "$T" --jsonl - 2>&1
echo '{"text":1}' | "$SLUICE" tokenize --tokenizer "$T" --jsonl - 2>&1
echo '1 x' | "$SLUICE" tokenize --tokenizer "$T" --decode 2>&1
echo '99999999' | "$SLUICE" tokenize --tokenizer "$T" --decode 2>&1 | sed 's/below [0-9]*/below N/'
printf '1 \0 2' | "$SLUICE" tokenize --tokenizer "$T" --decode 2>&1 >/dev/null
printf '\377' | "$SLUICE" tokenize --tokenizer "$T" 2>&1
"$SLUICE" tokenize --tokenizer "$T" --count --bench 2>&1
"$SLUICE" tokenize --tokenizer "$T" --offsets a.txt 2>&1
"$SLUICE" tokenize --tokenizer "$T" --specials maybe a.txt 2>&1
"$SLUICE" tokenize --tokenizer "$T" --raw u8 a.txt 2>&1
"$SLUICE" tokenize --tokeniser "$T" 2>&1
"$SLUICE" tokenize --help | head -n 1

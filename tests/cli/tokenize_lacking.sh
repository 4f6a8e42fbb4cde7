# sluice tokenize with a vocabulary that lacks tokens for some bytes: texts without them are encoded, a text with one is refused by name and place.
cat >few.json <<'J'
{"version":"1.0","pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"model":{"type":"BPE","unk_token":null,
"vocab":{"a":0,"b":1,"c":2,"Ġ":3,"ab":4,"Ġa":5,"Ã":6,"©":7,"Ã©":8},"merges":["a b","Ġ a","Ã ©"]}}
J
printf 'abc aé' | "$SLUICE" tokenize --tokenizer few.json
printf 'abc d' | "$SLUICE" tokenize --tokenizer few.json 2>&1
printf '{"text":"a"}\n{"text":"ab é ü"}\n' | "$SLUICE" tokenize --tokenizer few.json --jsonl - 2>&1
echo '-- behind the first portion'
{ yes 'abc ab' | head -n 500000 | tr '\n' ' '; printf 'abz'; } >long.txt
"$SLUICE" tokenize --tokenizer few.json --count long.txt 2>&1 | sed 's/first [0-9]*/first N/;s/at byte [0-9]*/at byte N/'

# lua_roles.sh - readers, transforms, gates and writers in Lua, in whole runs: the same bytes for any number of workers and batch size,
# also after a kill; bad lines and rows in quarantine with their places; gates that halt, and judge again without running anything; a
# function that changes its upvalue ends the run.
. "$SRC/tests/lib.sh"

cat >kv.lua <<'END'
local s = require "sluice"
return s.reader { "kv", gives = { id = "utf8", text = "utf8" },
  options = { sep = { "string", "=", doc = "Between id and text." } },
  record = function(line, o, file, offset)
    if line:starts_with "#" then return false end
    local at = line:find(o.sep, 1, true)
    if at == nil then return nil, "no_separator" end
    return { id = line:sub(1, at - 1), text = line:sub(at + 1) }
  end,
  examples = { { "a=b", gives = { id = "a", text = "b" } }, { "# c", skips = true }, { "junk", bad = "no_separator" } },
}
END
cat >roles.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, max = { "float", 0.9 }, chars = { "int", 3 }, most = { "int", 20 }, at = { "string", "row" } }
local kv = require "kv"
local counted = { n = 0 }

local explode = s.transform { "explode", gives = { text = "utf8", n = "int64", of = "utf8" },
  options = { most = { "int", 20, min = 1, doc = "Most pieces of a document." } },
  row = function(doc, o, emit)
    local n = 0
    for word in doc.text:gmatch "%S+" do
      n = n + 1
      if word == "BAD" then error "a bad word" end
      if n <= o.most then emit { text = word, n = n, of = doc.id } end
    end
    if doc.text == "COUNT" then counted.n = counted.n + 1 end
  end,
}
local short_share = s.gate { "short_share",
  options = { chars = { "int", 3 }, max = { "float", 0.5, judge = true }, docs = { "node" } },
  sums = { "short" },
  measure = function(doc, o) return { short = #doc.text < o.chars } end,
  judge = function(sums, o, count)
    if sums.short > o.max * sums.rows then
      return "halt", string.format("%d of %d words from %d documents are short", sums.short, sums.rows, count(o.docs))
    end
  end,
}
local write_tsv = s.writer { "write_tsv", suffix = ".tsv", header = "of\tn\ttext\n",
  row = function(doc)
    if doc.text == "TAB" then error "a tab" end
    return doc.of .. "\t" .. doc.n .. "\t" .. doc.text .. "\n"
  end,
}
local docs = s.files "in/*" | kv
return s.pipeline { "roles", max_bad = 20,
  docs | explode { most = a.most } | short_share { chars = a.chars, max = a.max, docs = docs }
       | write_tsv { a.out .. "/words", shard_size = "20kB", compression = "gzip" },
  docs | s.write_jsonl { a.out .. "/docs", compression = "none" },
}
END

mkdir in
perl -e '
  for my $f (1 .. 6) {
    open my $out, ">", "in/$f.kv" or die;
    print $out "# file $f\n";
    for my $k (1 .. 3000) {
      my $x = ($f * 7919 + $k * 104729) % 99991;
      my $end = $k % 7 == 0 ? "\r\n" : "\n";
      print $out "d$f.$k=", join(" ", map { "w" . ($x * $_ % 977) } 1 .. $x % 13), $end;
    }
    print $out "junk\n" if $f == 2;
    print $out "bad=one BAD two\n" if $f == 3;
    print $out "tab=TAB\n" if $f == 4;
    print $out "last=no line end";
  }'

# at TEXT: its line in the script
at() {
    grep -n -m 1 -F -e "$1" roles.lua | cut -d : -f 1
}

go() {
    name=$1
    shift
    expect 0 "$SLUICE" run roles.lua --quiet --run-dir "$TMP/$name.run" "out=$TMP/$name.out" "$@"
}

"$SLUICE" test roles.lua >/dev/null || fail 'examples'
go first --workers 1
go batch --workers 2 --batch 64KiB
same first.out batch.out 'datasets of small batches'
same first.run/tasks batch.run/tasks 'task records of small batches'
go large --workers 4 --batch 8MiB
same first.out large.out 'datasets of large batches'
same first.run/tasks large.run/tasks 'task records of large batches'
[ "$(find first.out/words/latest/ -name '*.tsv.gz' | wc -l)" -gt 6 ] || fail 'no file was ended by its size'

# Every document is there once, its words in order behind a header.
cat first.out/words/latest/*.tsv.gz | gzip -dc >all.tsv
is "$(head -n 1 all.tsv)" "$(printf 'of\tn\ttext')" 'header'
is "$(grep -v '^of	n	text$' all.tsv | cut -f 1 | uniq | sort | uniq -d)" last 'documents in pieces'
is "$(grep -c '^last' all.tsv)" 18 'words of the last lines'
is "$(grep -c '^bad' all.tsv)" 0 'words of a bad row'
is "$(cat first.out/docs/latest/* | wc -l)" 18008 'documents'

expect 0 "$SLUICE" why "$TMP/first.run" --quarantine
says 'no_separator in kv: 2.kv' 'lua_error in explode' "roles.lua:$(at 'a bad word'): a bad word" 'lua_error in write_tsv' "roles.lua:$(at 'a tab'): a tab" '3 of 3'
expect 0 "$SLUICE" why "$TMP/first.run" --id d1.2
says 'consumed' 'write_tsv'
expect 0 "$SLUICE" trace first.out/words 0 1 --run "$TMP/first.run"
says '1.kv  bytes'

# Killed in the middle, it goes on.
SLUICE_TEST_DELAY=1 timeout -s KILL 0.4 "$SLUICE" run roles.lua --quiet --workers 2 --run-dir "$TMP/killed.run" "out=$TMP/killed.out" 2>/dev/null || :
go killed --workers 2
for dataset in words docs; do
    same first.out/$dataset/latest killed.out/$dataset/latest "$dataset after a kill"
done

# Another threshold of judge runs nothing again; one of measure does.
expect 3 "$SLUICE" run roles.lua --run-dir "$TMP/first.run" "out=$TMP/first.out" max=0.0001 chars=3
says "gate 'short_share' halts the run" 'from 18008 documents are short'
expect 0 "$SLUICE" run roles.lua --run-dir "$TMP/first.run" "out=$TMP/first.out" max=0.8
says 'Nothing ran: every task was done before.'
expect 0 "$SLUICE" plan roles.lua --run-dir "$TMP/first.run" "out=$TMP/first.out" chars=4
says "stage 'short_share' changed"

# A row that leaves something for the next.
echo 'count=COUNT' >in/7.kv
expect 2 "$SLUICE" run roles.lua --quiet --run-dir "$TMP/count.run" "out=$TMP/count.out"
says "changes its upvalue 'counted.n'" "roles.lua:$(at 'counted.n = counted.n + 1')"
rm in/7.kv

# Mistakes end the check, with the place.
sed 's/gives = { text = "utf8", n = "int64"/gives = { text = "utf8", n = "int46"/' roles.lua >typo.lua
expect 2 "$SLUICE" check typo.lua
says 'typo.lua' 'gives: n: unknown type "int46"'
sed 's/most = a.most/mos = a.most/' roles.lua >typo.lua
expect 2 "$SLUICE" check typo.lua
says "unknown option 'mos' of 'explode'; did you mean 'most'?"
sed 's|write_tsv { a.out .. "/words", |write_tsv { |' roles.lua >typo.lua
expect 2 "$SLUICE" check typo.lua
says "path"
sed 's/doc.n \.\./doc.nn ../' roles.lua >typo.lua
expect 2 "$SLUICE" check typo.lua
says "unknown field 'nn': rows have no column 'nn'"

# Whole files, and rows with nothing in them.
mkdir files
printf 'one\ftwo\f' >files/a
printf '' >files/b
printf 'x\f!\fy' >files/c
cat >whole.lua <<'END'
local s = require "sluice"
local pages = s.reader { "pages", cut = "none", gives = { text = "utf8" },
  record = function(text, o, file, give)
    local at = 1
    while at <= #text do
      local stop = text:find("\f", at, true) or #text + 1
      local page = text:sub(at, stop - 1)
      if page == "!" then give(nil, at, stop - 1, "no_page", "nothing on it") else give({ text = page }, at, stop - 1) end
      at = stop + 1
    end
  end }
return s.pipeline { "whole", max_bad = 1, s.files "files/*" | pages | s.write_jsonl { "pages", compression = "none" } }
END
expect 0 "$SLUICE" run whole.lua --quiet
is "$(cat pages/latest/*.jsonl)" "$(printf '{"text":"one"}\n{"text":"two"}\n{"text":"x"}\n{"text":"y"}')" 'pages'
expect 0 "$SLUICE" why whole --quarantine
says 'no_page in pages: c bytes 2 to 3'

# dolma_join.sh - attribute files made by others are put to their documents line by line, however the input is cut; a line of another document,
# one too many or too few is an error that names file and line; attribute_files writes one file under the name of each file of documents.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# Files of 4 and 1200 documents; the attributes of `a` are those of the documents, `b` shares a name with it and with the documents' own.
mkdir -p c/documents/x c/attributes/a/x c/attributes/b/x
perl -e '
for my $file ([0, 4], [1, 1200]) {
    my ($name, $n) = @$file;
    open my $d, ">", "c/documents/x/$name.jsonl"; open my $a, ">", "c/attributes/a/x/$name.jsonl"; open my $b, ">", "c/attributes/b/x/$name.jsonl";
    for my $k (0 .. $n - 1) {
        print $d qq({"id":"$name-$k","text":") . "word " x 30 . ($k % 4 ? "" : "jo\@ex.org") . qq(","attributes":{"own":$k,"s":1}}\n);
        print $a qq({"id":"$name-$k","attributes":{"a__x":[[0,4,0.) . ($k % 10) . qq(]],"k":$k}}\n);
        print $b qq({"id":"$name-$k", "attributes" : { "b__x": [[0,4,0.5]], "k" : ) . ($k + 7) . qq( }, "more": 1}\n);
    }
}'
cat >join.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "c" }, out = { "path", "out" }, split = { "string", "64KiB" }, both = { "bool", true }, gone = { "string", "" },
  aligned = { "bool", true } }
local docs = s.files { "c/documents/{dir}/{file}.jsonl", split = a.split } | s.read_jsonl { columns = { attributes = "json" } }
if a.gone ~= "" then docs = docs | s.filter { "without", function(doc) if doc.id == a.gone then return "gone" end end } end
local names = { a.from .. "/attributes/a/{dir}/{file}.jsonl" }
if a.both then names[2] = a.from .. "/attributes/b/{dir}/{file}.jsonl" end
local joined = docs | s.dolma_join { attributes = names, by = { "dir", "file" }, aligned = a.aligned, partitions = 2 }
local mixed = joined | s.dolma_mix { exclude = { "$.attributes[?(@.a__x[0][2] >= 0.9)]" }, attributes = { "a__x" } }
return s.pipeline { "join", joined | s.write_jsonl { a.out .. "/joined", columns = { "id", "attributes" }, compression = "none" },
  mixed | s.write_jsonl { a.out .. "/mixed", columns = { "id" }, compression = "none" } }
L
expect 0 "$SLUICE" run join.lua --quiet
cat out/joined/latest/* >joined
is "$(wc -l <joined)" 1204 'documents joined'
is "$(sed -n 3p joined)" '{"id":"0-2","attributes":{"own":2,"s":1,"a__x":[[0,4,0.20000000000000001]],"k":9,"b__x":[[0,4,0.5]]}}' 'the attributes of a document'
is "$(cat out/mixed/latest/* | wc -l)" 1084 'documents that mixing keeps'
expect 0 "$SLUICE" run join.lua --quiet --workers 4 --run-dir run2 out=out2 split=1MiB
cat out2/joined/latest/* | cmp - joined || fail 'cut otherwise, other attributes'
expect 0 "$SLUICE" run join.lua --quiet --run-dir run3 out=out3 both=false
is "$(cat out3/joined/latest/* | sed -n 3p)" '{"id":"0-2","attributes":{"own":2,"s":1,"a__x":[[0,4,0.2]],"k":2}}' 'without a shared name, the texts as they were'

# Whatever does not fit is said with its place. wrong STATUS MESSAGE [ARGUMENT…]: of the files in w
n=0
wrong() {
    status=$1
    message=$2
    shift 2
    n=$((n + 1))
    expect "$status" "$SLUICE" run join.lua --quiet --run-dir "wrong$n" out=wrong from=w "$@"
    says "$message"
}
fresh() {
    rm -rf w
    cp -r c w
}
fresh
sed -i 3d w/attributes/b/x/1.jsonl
wrong 4 "w/attributes/b/{dir}/{file}.jsonl, file 'x/1': line 3 has the id '1-3', and the document there '1-2'"
fresh
sed -i '$d' w/attributes/a/x/1.jsonl
wrong 4 "w/attributes/a/{dir}/{file}.jsonl, file 'x/1': found 1199 lines for 1200 documents"
fresh
echo '{"id":"more","attributes":{}}' >>w/attributes/b/x/0.jsonl
wrong 4 "w/attributes/b/{dir}/{file}.jsonl, file 'x/0': line 5, of 'more', is one more than there are documents"
fresh
sed -i '2s/.*/{"id":"0-1","attributes":[1]}/' w/attributes/a/x/0.jsonl
wrong 4 "file 'x/0': line 2, of '0-1', has no object of attributes"
fresh
wrong 2 'row 2 of the input is missing before row 3' gone=0-2
# Unaligned on request: what is at its place is taken, the rest is left out.
sed -i 3d w/attributes/a/x/0.jsonl
expect 0 "$SLUICE" run join.lua --quiet --run-dir left out=left from=w aligned=false both=false
is "$(cat left/joined/latest/* | sed -n 2,3p)" '{"id":"0-1","attributes":{"own":1,"s":1,"a__x":[[0,4,0.1]],"k":1}}
{"id":"0-2","attributes":{"own":2,"s":1}}' 'lines that are left out'

# The other direction: names of the documents' files, lines of all their pieces; and what was written can be joined again.
cat >write.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "w/attributes/tags" }, split = { "string", "64KiB" } }
local docs = s.files { "c/documents/x/{file}.jsonl", split = a.split } | s.read_jsonl {}
return s.pipeline { "write", docs | s.dolma_tag { { "char_length_v1" } } | s.attribute_files { path = a.out, partitions = 2 } }
L
cat >again.lua <<'L'
local s = require "sluice"
local docs = s.files { "c/documents/x/{file}.jsonl" } | s.read_jsonl {}
return s.pipeline { "again", docs | s.dolma_join { attributes = { "w/attributes/tags/latest/{file}.json.gz" }, partitions = 2 }
  | s.dolma_mix { include = { "$.attributes[?(@.char_length_v1__char_length_v1__length[0][2] > 150)]" }, unchecked = true }
  | s.write_jsonl { "again", columns = { "id" }, compression = "none" } }
L
expect 0 "$SLUICE" run write.lua --quiet
expect 0 "$SLUICE" run write.lua --quiet --workers 4 --run-dir write2 out=tags split=1MiB
is "$(ls w/attributes/tags/latest)" '0.json.gz
1.json.gz' 'names of attribute files'
for name in 0 1; do
    cmp "w/attributes/tags/latest/$name.json.gz" "tags/latest/$name.json.gz" || fail 'cut otherwise, other bytes'
    gzip -dc "tags/latest/$name.json.gz" | sed 's/^{"id":"\([^"]*\)".*/\1/' >ids.left
    sed 's/^{"id":"\([^"]*\)".*/\1/' "c/documents/x/$name.jsonl" >ids.right
    cmp ids.left ids.right || fail "the lines of $name are not those of its documents"
done
expect 0 "$SLUICE" verify w/attributes/tags
expect 0 "$SLUICE" run again.lua --quiet
is "$(cat again/latest/* | wc -l)" 301 'documents with an address, by the attributes that were written'

# Nested folders: one writer gives each file of documents its attribute file at the same place below the dataset's folder, one reader joins them.
mkdir -p n/documents/web/2024 n/documents/books/a/b/c
cp c/documents/x/1.jsonl n/documents/web/2024/1.jsonl
head -n 3 c/documents/x/1.jsonl >n/documents/books/a/b/c/1.jsonl
cp c/documents/x/0.jsonl n/documents/0.jsonl
cat >nested.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "n/attributes/tags" }, split = { "string", "64KiB" } }
local docs = s.files { "n/documents/{dir**}/{file}.jsonl", split = a.split } | s.read_jsonl {}
return s.pipeline { "nested", docs | s.dolma_tag { { "char_length_v1" } }
  | s.attribute_files { path = a.out, by = { "dir", "file" }, suffix = ".jsonl.gz", partitions = 5 } }
L
cat >nested_join.lua <<'L'
local s = require "sluice"
local docs = s.files { "n/documents/{dir**}/{file}.jsonl" } | s.read_jsonl {}
return s.pipeline { "nested_join", docs | s.dolma_join { attributes = { "n/attributes/tags/latest/{dir**}/{file}.jsonl.gz" }, by = { "dir", "file" }, partitions = 3 }
  | s.write_jsonl { "njoined", columns = { "id", "attributes" }, compression = "none" } }
L
expect 0 "$SLUICE" run nested.lua --quiet
places='0.jsonl.gz books/a/b/c/1.jsonl.gz web/2024/1.jsonl.gz'
is "$(cd n/attributes/tags/latest/ && find . -type f | sed 's/^..//' | LC_ALL=C sort | paste -sd ' ')" "$places" 'the folders of the documents'
for name in $places; do
    gzip -dc "n/attributes/tags/latest/$name" | sed 's/^{"id":"\([^"]*\)".*/\1/' >ids.left
    sed 's/^{"id":"\([^"]*\)".*/\1/' "n/documents/${name%.gz}" >ids.right
    cmp ids.left ids.right || fail "the lines of $name are not those of its documents"
done
expect 0 "$SLUICE" verify n/attributes/tags
expect 0 "$SLUICE" run nested_join.lua --quiet
is "$(cat njoined/latest/* | wc -l)" 1207 'nested documents joined'
grep -q '"attributes":{"char_length_v1__char_length_v1__length"' njoined/latest/* || fail 'the attributes of nested files'
# Other splits, other workers, and a run that ended before it published and is resumed: the same bytes.
expect 0 "$SLUICE" run nested.lua --quiet --workers 4 --run-dir nested4 out=n4 split=1MiB
mkdir -p n5/latest # in the way: the work is done, the dataset can't be published
expect 5 "$SLUICE" run nested.lua --quiet --workers 1 --run-dir nested5 out=n5
rmdir n5/latest
expect 0 "$SLUICE" run nested.lua --quiet --workers 2 --run-dir nested5 out=n5
for name in $places; do
    cmp "n4/latest/$name" "n/attributes/tags/latest/$name" || fail "$name: cut otherwise, other bytes"
    cmp "n5/latest/$name" "n/attributes/tags/latest/$name" || fail "$name: resumed, other bytes"
done
# A suffix that makes one file the folder of another is refused.
mkdir -p n/documents/0
cp c/documents/x/0.jsonl n/documents/0/0.jsonl
sed 's/suffix = "[^"]*"/suffix = ""/' nested.lua >clash.lua
expect 2 "$SLUICE" run clash.lua --quiet --run-dir clash out=clash
says "a file '0'" "in a folder of that name"

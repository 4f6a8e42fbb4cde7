# reference.sh - the pages of sdk/reference are what there is (`make reference` writes them), every stage has its place in them, and their
# examples are accepted by `sluice check`.
set -eu

if [ -s "$BUILD/plugins/skipped.txt" ]; then echo "not all plugins are built: $(head -n 1 "$BUILD/plugins/skipped.txt")"; exit 77; fi
"$SRC/pkg/reference" "$SLUICE" pages
if diff -r "$SRC/sdk/reference" pages >changes; then
    echo 'the pages are what there is'
else
    head -n 20 changes
    echo 'sdk/reference is out of date: make reference'
fi

# Nothing is left out: stages and their options from the option tables, text methods and functions from the annotations.
"$SLUICE" inspect --json | perl -ne '
    next unless /^\{"name":"(\w+)"/;
    my $stage = $1;
    my ($options) = /"options":\[(.*?)\],"reasons"/ or die;
    print "$stage\n";
    print "$stage $_\n" for $options =~ /\{"name":"(\w+)"/g' | sort >there
cat pages/readers.md pages/filters.md pages/annotators.md pages/transforms.md pages/gates.md pages/writers.md |
    perl -ne 'if (/^## (\w+)/) { $stage = $1; print "$stage\n" } print "$stage $1\n" if /^\| `(\w+)` \|/' | sort >shown
diff there shown && echo 'all stages and options'
perl -ne 'print "$1\n" if /^- \[`(\w+)`\]\(\w+\.md#\1\): \S/' pages/README.md | sort >indexed
grep -v ' ' there | diff - indexed && echo 'all in the index'
sed -n 's/^function s\.\([a-z_]*\).*/\1/p' "$SRC/sdk/lua/sluice.lua" | sort >there
sed -n 's/^## s\.\([a-z_]*\)$/\1/p' pages/language.md | sort | diff there - && echo 'all functions'
sed -n 's/^function string:\([a-z_]*\).*/\1/p' "$SRC/sdk/lua/stages.lua" | sort >there
sed -n 's/^| `\([a-z_0-9]*\)(.*/\1/p' pages/texts.md | sort | diff there - && echo 'all methods of texts'
# Links lead somewhere.
perl -ne 'while (/\]\((\w+\.md)(?:#(\w+))?\)/g) { print "$1 ", $2 // "", "\n" }' pages/*.md | sort -u | while read -r page anchor; do
    [ -f "pages/$page" ] || echo "no page $page"
    [ -z "$anchor" ] || grep -q "^## $anchor\$" "pages/$page" || echo "no $anchor in $page"
done

# Every example is accepted. What they read and name is there; a vocabulary and a library of others are needed by some.
mkdir corpus books
echo '{"id":"1","text":"a","content":"b"}' >corpus/a.jsonl
cp corpus/a.jsonl docs.jsonl
zstd -q corpus/a.jsonl -o corpus/a.jsonl.zst
zstd -q corpus/a.jsonl -o books/a.txt.zst
echo '[{"output":"a"}]' >alpaca.json
# Assets of others: made ones that are good enough to be opened.
echo '{"question":"a","answer":"b"}' >gsm8k.jsonl
mkdir ldnoobw
echo word >ldnoobw/en
printf '%s\n' word,count the,2 >unigram_freq.csv
perl "$SRC/tests/data/fasttext_model.pl" >lid.176.ftz
cp lid.176.ftz lid.176.bin
sed 's/__label__en/__label__hq/' lid.176.ftz >quality.bin
perl -e '
    my $n = 0;
    for my $page (@ARGV) {
        open my $in, "<", $page or die;
        my $text = do { local $/; <$in> };
        while ($text =~ /^## (\S+)\n(?:(?!## )[^\n]*\n)*?```lua\n(.*?)^```$/msg) {
            my ($name, $example) = ($1, $2);
            $example =~ s/\n+$//;
            # An expression is piped into a writer or stands alone; a script is a script.
            my $script = "local s = require \"sluice\"\n";
            $script .= "local docs = s.files \"docs.jsonl\" | s.read_jsonl {}\n" if $name =~ /^s\./ || $example !~ /s\.files/;
            $script =~ s/\{\}$/{ columns = { url = "utf8" } }/ if $example =~ /url_filter|url_parts/;
            $script =~ s/\{\}$/{ columns = { score = "utf8", year = "int64", crawled = "utf8", response = "utf8" } }/m if $example =~ /_columns|contract/;
            $script .= "local tokens = docs | s.tokenize { \"o200k_base.tiktoken\", eos = \"default\" }\n" if $example =~ /\btokens\b/;
            $script .= "local tagged = docs | s.dolma_tag { \"gopher_v2\" }\n" if $example =~ /\btagged\b/;
            $script .= "local scored = docs | s.annotate { \"scored\", function(doc) return { english = #doc.text > 0 and 0.5 or 0 } end,"
                . " adds = { english = \"float64\" } }\n" if $example =~ /\bscored\b/;
            $script .= "local packed = docs | s.tokenize { \"o200k_base.tiktoken\", eos = \"default\" } | s.pack {}\n" if $example =~ /\bpacked\b/;
            if ($example =~ /^return /m) { $script .= "$example\n"; }
            elsif ($name =~ /^s\./) {
                # What a module makes need not be used.
                open my $module, ">", "parts$n.lua" or die;
                print $module "local s = require \"sluice\"\nreturn function(docs)\n";
                for my $part (split /\n(?=s\.)/, $example) { (my $x = $part) =~ s/\A/local x = /; print $module "do $x end\n"; }
                print $module "end\n";
                $script .= "require(\"parts$n\")(docs)\n";
                $script .= "return s.pipeline { \"x\", docs | s.write_jsonl { \"out\" } }\n";
            } else { $script .= "return s.pipeline { \"x\", $example" . ($page =~ /writers/ ? "" : " | s.write_jsonl { \"out\" }") . " }\n"; }
            open my $out, ">", sprintf("example%02d_%s.lua", $n++, $name) or die;
            print $out $script;
        }
    }' pages/*.md
accepted=0
for script in example*.lua; do
    name=${script#*_}
    if grep -q libppl "$script"; then
        command -v gcc >gcc || continue
        echo 'double score(const char *text, unsigned long n); double score(const char *text, unsigned long n) { return n == 0 ? 0 : text[0]; }' >ppl.c
        gcc -g -shared -fPIC ppl.c -o libppl.so
    fi
    if grep -q tiktoken "$script"; then
        [ -f "$SLUICE_ASSETS/o200k_base.tiktoken" ] || continue
        [ -f o200k_base.tiktoken ] || ln -s "$SLUICE_ASSETS/o200k_base.tiktoken" .
    fi
    # A composite that has no reader of its own gets one; `native` of a text that may be null says so.
    if "$SLUICE" check "$script" --quiet >said 2>&1; then
        accepted=$((accepted + 1))
    else
        echo "the example of ${name%.lua} is refused: $(cat said)"
    fi
done
[ "$accepted" -ge 15 ] && echo 'examples are accepted'

# Every command explains itself.
"$SLUICE" --help | sed -n 's/^  \([a-z-]*\)  *[a-z].*/\1/p' >commands
while read -r command; do
    "$SLUICE" "$command" --help >help || echo "$command --help: status $?"
    grep -q "^usage: sluice $command\b" help || echo "$command --help says no usage"
done <commands
[ "$(wc -l <commands)" -ge 20 ] && echo 'every command has --help'

# A page that is out of date is found.
sed 's/line_punct_thr/line_punct_threshold/' pages/filters.md >changed
mv changed pages/filters.md
diff -r "$SRC/sdk/reference" pages >changes || echo 'a changed option is noticed'

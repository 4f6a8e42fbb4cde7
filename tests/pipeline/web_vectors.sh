# web_vectors.sh - the stages of the plugin web on vectors: facts of the tests of datamap-rs (Apache-2.0) and DCLM (MIT), and our own; each line of
# tests/data/web/vectors.jsonl has a stage, a text, and the reason that drops it, or "keep" and perhaps the text that comes out.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

vectors=$SRC/tests/data/web/vectors.jsonl
perl -MJSON::PP -e '
    my (%branch, @order);
    open my $in, "<", $ARGV[0] or die; 
    while (<$in>) {
        my $stage = decode_json($_)->{stage};
        if (!defined $branch{$stage}) { $branch{$stage} = @order; push @order, $stage }
        open my $rows, ">>", "$ARGV[1]/in_$branch{$stage}.jsonl" or die;
        print $rows $_;
    }
    print qq(local s = require "sluice"\nlocal all = { "vectors" }\n);
    for my $k (0 .. $#order) {
        print qq(do\n  local out = s.files "in_$k.jsonl" | s.read_jsonl {} | $order[$k]\n  all[#all + 1] = out | s.write_jsonl { "out/kept_$k", compression = "none" }\n);
        print qq(  all[#all + 1] = out.dropped | s.write_jsonl { "out/dropped_$k", compression = "none" }\nend\n) if $order[$k] !~ /web_newlines/;
        print "end\n" if $order[$k] =~ /web_newlines/;
    }
    print "return s.pipeline(all)\n";
' "$vectors" "$TMP" >"$TMP/vectors.lua" || fail 'the pipeline could not be made'
cd "$TMP" || exit 1
expect 0 "$SLUICE" run vectors.lua --quiet
for dataset in out/*; do lines "$dataset"; done >rows
perl -MJSON::PP -e '
    my $bad = 0; my $n = 0;
    open my $in, "<", $ARGV[0] or die;
    while (<$in>) {
        my $row = decode_json($_);
        my $said = $row->{drop_reason} // "keep";
        $n++;
        if ($said ne $row->{expect}) { print "$row->{id}: $said, expected $row->{expect}: $row->{stage}\n"; $bad++ }
        elsif (defined $row->{expect_text} && $said eq "keep" && $row->{text} ne $row->{expect_text}) {
            print "$row->{id}: the text is ", encode_json([$row->{text}]), ", expected ", encode_json([$row->{expect_text}]), "\n"; $bad++;
        }
    }
    print "$n vectors, $bad wrong\n"; exit($bad > 0);
' rows >said || { cat said >&2; fail 'vectors are wrong'; }
is "$(cat said)" "$(wc -l <"$vectors") vectors, 0 wrong" 'vectors'

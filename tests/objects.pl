# objects.pl FOLDER NAME TO: writes the objects below NAME of the place that core/store/store_hostile.c
# keeps in FOLDER as files below TO, each with its bytes. The one way in which tests look at what is
# there behind the program's back.
use strict;
use warnings;
use File::Path 'make_path';

my ($folder, $name, $to) = @ARGV;
opendir my $dir, $folder or exit 0;
for my $file (readdir $dir) {
    next if $file !~ s/^o//;
    my $object = join '/', split /,/, $file, -1;
    $object =~ s/%([0-9a-f]{2})/chr hex $1/ge;
    next if index($object, "$name/") != 0;
    my $path = $to . substr $object, length $name;
    (my $inside = $path) =~ s{/[^/]*$}{};
    make_path($inside);
    local $/;
    open my $in, '<:raw', "$folder/o$file" or next;
    my $bytes = <$in>;
    open my $out, '>:raw', $path or die "$path: $!\n";
    print $out substr $bytes, 33;
    close $out or die "$path: $!\n";
}

# objects.pl FOLDER NAME TO: writes the objects below NAME of the place that core/store/store_hostile.c
# keeps in FOLDER as files below TO, each with its bytes. With --back: what is below TO becomes the
# objects below NAME; those whose files are gone go, those whose bytes are as they were stay as they
# are, others get a tag of their own. The one way in which tests look at and change what is there behind
# the program's back.
use strict;
use warnings;
use File::Find 'find';
use File::Path 'make_path';

my $back = @ARGV && $ARGV[0] eq '--back' && shift @ARGV;
my ($folder, $name, $to) = @ARGV;

sub content {
    local $/;
    open my $in, '<:raw', $_[0] or return undef;
    return scalar <$in> // '';
}

sub put {
    open my $out, '>:raw', $_[0] or die "$_[0]: $!\n";
    print $out $_[1];
    close $out or die "$_[0]: $!\n";
}

my %objects; # file of each object by its name inside
if (opendir my $dir, $folder) {
    for my $file (readdir $dir) {
        my $object = $file;
        next if $object !~ s/^o//;
        $object = join '/', split /,/, $object, -1;
        $object =~ s/%([0-9a-f]{2})/chr hex $1/ge;
        next if index($object, "$name/") != 0;
        $objects{substr $object, length $name} = "$folder/$file";
    }
}
if (!$back) {
    while (my ($inside, $file) = each %objects) {
        my $bytes = content($file);
        next if !defined $bytes;
        (my $above = $to . $inside) =~ s{/[^/]*$}{};
        make_path($above);
        put($to . $inside, substr $bytes, 33);
    }
    exit 0;
}
my $changes = 0;
make_path($folder);
find({ no_chdir => 1, wanted => sub {
    return if !-f $_;
    my $inside = substr $_, length $to;
    my $bytes = content($_);
    my $file = delete $objects{$inside};
    return if defined $file && substr(content($file), 33) eq $bytes;
    (my $object = $name . $inside) =~ s/([\x00-\x20,%\x7f-\xff])/sprintf '%%%02x', ord $1/ge;
    $object =~ tr{/}{,};
    put("$folder/o$object", sprintf("%08x%08x%016x\n", time, $$, ++$changes) . $bytes);
} }, $to) if -d $to;
unlink values %objects;

#!/usr/bin/perl
# ledger.pl - checks the account of every task's commit record, apart from the engine's own checks.
#
#   ledger.pl RUN PLAN.json      PLAN.json is what `sluice plan --json` printed
#
# Equations: filters and annotators in = kept + dropped + quarantined and kept = emitted, transforms
# in = consumed + dropped + quarantined, writers in = written + quarantined, stores in = written,
# every edge emitted = in, dropped rows gathered = dropped rows counted. What one phase stored the
# phases that load it must have read. Prints the number of records and of equations.
use strict;
use warnings;

my ($run, $plan_file) = @ARGV;
(my $dir = $0) =~ s{[^/]*$}{};
do "${dir}json.pl" or die "ledger.pl: json.pl: $@ $!\n";

sub slurp {
    my ($path) = @_;
    open my $in, '<', $path or die "ledger.pl: $path: $!\n";
    local $/;
    return scalar <$in>;
}

# Plain perl values of what parse() gives.
sub plain {
    my ($v) = @_;
    return { map { $_ => plain($v->{members}{$_}) } keys %{ $v->{members} } } if ref $v eq 'HASH';
    return [map { plain($_) } @$v] if ref $v eq 'ARRAY';
    return $v;
}

my $faults = 0;
my ($records, $equations) = (0, 0);
my $where = '';

sub equal {
    my ($what, $left, $right) = @_;
    $equations++;
    return if $left == $right;
    print STDERR "$where: $what: $left is not $right\n";
    $faults++;
}

my $plan = plain(parse(slurp($plan_file)));
my (%stored, %loaded, %expected);   # rows of a store; what phases read, and what they should have read
for my $phase (@{ $plan->{phases} }) {
    my @stages = @{ $phase->{stages} };
    my (%loads, %stores);
    for my $path (glob "'$run/tasks/$phase->{name}/*.json'") {
        my $record = plain(parse(slurp($path)));
        my $ledger = $record->{ledger};
        $records++;
        my $n = sub { my ($op, $field) = @_; return ($ledger->{$op} // {})->{$field} // 0 };
        my $dropped = sub { my ($op) = @_; my $sum = 0; $sum += $_ for values %{ ($ledger->{$op} // {})->{dropped} // {} }; return $sum };
        for my $stage (@stages) {
            my ($op, $role) = ($stage->{name}, $stage->{role});
            my @inputs = @{ $stage->{inputs} // [] };
            $where = "$phase->{name}, $record->{task}, $op";
            exists $ledger->{$op} or die "ledger.pl: $where is not in the record\n";
            if ($role eq 'filter' || $role eq 'annotator' || $role eq 'gate') {
                equal('in = kept + dropped + quarantined', $n->($op, 'in'), $n->($op, 'kept') + $dropped->($op) + $n->($op, 'quarantined'));
                equal('kept = emitted', $n->($op, 'kept'), $n->($op, 'emitted'));
            } elsif ($role eq 'transform') {
                equal('in = consumed + dropped + quarantined', $n->($op, 'in'),
                      $n->($op, 'consumed') + $dropped->($op) + $n->($op, 'quarantined'));
            } elsif ($role eq 'writer') {
                equal('in = written + quarantined', $n->($op, 'in'), $n->($op, 'written') + $n->($op, 'quarantined'));
            } elsif ($role eq 'load') {
                $loaded{$op} += $n->($op, 'emitted');
                $loads{$op} = 1;
            }
            if ($role eq 'dropped') {
                my $sum = 0;
                $sum += $dropped->($_) for @inputs;
                # Rows that an earlier phase gathered come through a load of that name.
                $sum += $n->("$op, rows", 'emitted') if grep { $_->{role} eq 'load' && $_->{name} eq "$op, rows" } @stages;
                equal('gathered = dropped', $n->($op, 'emitted'), $sum);
            } elsif ($role eq 'union') {
                my $sum = 0;
                $sum += $n->($_, 'emitted') for @inputs;
                equal('emitted of all inputs = in', $sum, $n->($op, 'in'));
            } elsif (@inputs) {
                equal("emitted of $inputs[0] = in", $n->($inputs[0], 'emitted'), $n->($op, 'in'));
                equal("emitted of $inputs[1] = side_in", $n->($inputs[1], 'emitted'), $n->($op, 'side_in')) if @inputs > 1;
            }
        }
        for my $store (@{ $phase->{stores} // [] }) {
            my $op = $store->{name};
            $where = "$phase->{name}, $record->{task}, $op";
            equal('in = written', $n->($op, 'in'), $n->($op, 'written'));
            $stores{$op} += $n->($op, 'written') if $store->{load} ne 'broadcast';
        }
    }
    # Each phase that loads a store reads it whole, as the last phase before it wrote it: dropped rows are stored anew under one name.
    $expected{$_} += $stored{$_} for grep { exists $stored{$_} } keys %loads;
    $stored{$_} = $stores{$_} for keys %stores;
}
for my $op (keys %stored) {
    $where = $op;
    equal('stored = loaded', $expected{$op} // $stored{$op}, $loaded{$op} // 0);
}
print "$records records, $equations equations\n";
exit($faults ? 1 : 0);

# kill_hostile.sh - kill.sh where the run and its datasets are in a place without links, renaming and
# folders, which refuses requests, loses answers, performs some twice and lists late; and what is
# there in the end is what the same run leaves on a disk.
# time limit: 3600
STORE=hostile
. "$SRC/tests/crash/kill.sh"

STORE=disk
expect 0 go disk 2
for dataset in kept dropped; do
    same "disk.out/$dataset/data" "whole.out/$dataset/data" "files of $dataset on a disk"
    same "disk.out/$dataset/snapshots" "whole.out/$dataset/snapshots" "manifests of $dataset on a disk"
done
same disk.run/tasks whole.run/tasks 'task records on a disk'

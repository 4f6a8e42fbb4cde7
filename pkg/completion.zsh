#compdef sluice
# zsh completion for sluice
local -a commands script
commands=(
    'run:run a pipeline script; run it again to resume or to take in what changed'
    'prepare:freeze the plan of a pipeline for run, work and task'
    'check:validate a script without reading data'
    'plan:what would run, what is reused and why'
    'work:take tasks of a run until none are left'
    'stop:stop all processes that work on a run'
    'task:run one task of a run'
    'show:progress of a run and its datasets'
    'report:what a run did'
    'why:why a document was dropped, or why a task runs again'
    'replay:give a row in quarantine to its stage again'
    'trace:from an output row back to its source bytes'
    'head:first rows of a dataset'
    'verify:re-hash a dataset or a run'
    'inspect:stages and their options'
    'plugins:plugins found, and what is missing'
    'tokenize:text to token ids and back, counts and speed'
    'sample:a sample of the rows that reach a node of a pipeline'
    'try:run a stage on a sample, what it keeps and drops, and why'
    'explain:what a word of messages means'
    'label:say of documents whether to keep or to drop them'
    'contract:write the contract that a dataset keeps'
    'lock:write down what a pipeline is made of'
    'test-plugin:put the stages of a plugin through what the contract asks'
    'test:run the examples of the heuristics in a script'
    'new:write a pipeline, a heuristic or a plugin that works, to begin with'
    'bundle:pack what a report of a fault needs of a run, without the data'
    'datasets:the datasets of a folder'
    'diff:what two snapshots have in common and what not'
    'tag:names for snapshots of a dataset'
    'bench-format:what files cost as Parquet, JSON Lines and Arrow'
    'compact:join the small files of a dataset'
    'remove:take rows out of a dataset by their ids'
    'retain:forget old snapshots of a dataset'
    'repro:run what a run did once more and compare'
    'gc:remove files that no run or snapshot needs'
)
script=('--workers[threads]:number' '--memory[memory of the process]:size' '--run-dir[state of the run]:directory:_files -/'
    '--scratch[where stages spill]:directory:_files -/' '--limit[first N files]:number' '--batch[bytes of a record batch]:size'
    '--fresh[reuse nothing]' '--take-over[datasets of others]' '--plugin[load a plugin]:file:_files' '--locked[only what the lock file lists]' '--lock-file[the lock file]:file:_files' '--trust[allow plugins from outside]' '--json[for programs]'
    '--quiet[no progress]' '--help[usage]')
if (( CURRENT == 2 )); then
    _describe command commands
    return
fi
case ${words[2]} in
run|prepare|check|lock) _arguments '*:file:_files' $script ;;
test-plugin) _arguments '*:file:_files' '*--option[an option of the stages]:name=value' '--data[rows of your own]:file:_files' '--only[one check]:check' '--seed[of what is generated]:number' '--fuzz[random batches]:seconds' '--thorough' '--time-limit[of one check]:seconds' '--json' '--junit[results as XML]:file:_files' '--quiet' '--list' '--help' ;;
test) _arguments '*:file:_files' '--plugin[load a plugin]:file:_files' '--trust' '--json' '--help' ;;
sample) _arguments '*:file:_files' '--at[what comes to it]:node' '--after[what leaves it]:node' '-n[rows]:number' '--seed[number]:seed' \
    '-o[where to write]:file:_files' '--run-dir[whose tasks are reused]:directory:_files -/' '--scratch[where it works]:directory:_files -/' \
    '--workers[threads]:number' '--memory[memory]:size' '--limit[first N files]:number' '--plugin[load a plugin]:file:_files' '--trust' \
    '--json' '--quiet' '--help' ;;
try) _arguments '*:file:_files' '--stage[name]:stage' '*--option[of the stage]:NAME=VALUE' '--by[column]:column' '--examples[how many]:number' \
    '--watch[run again on save]' '--compare[OLD.lua or git\:REV]:file:_files' '--sweep[OPTION=A..B]:range' '--html[a page]:file:_files' \
    '--labels[what people said]:file:_files' '--label[ask at the terminal]' '--workers[threads]:number' '--plugin[load a plugin]:file:_files' \
    '--trust' '--json' '--help' ;;
explain) _arguments '*:word' '--json' '--help' ;;
label) _arguments '*:file:_files' '--labels[where they stand]:file:_files' '--html[a page]:file:_files' '-n[documents]:number' '--help' ;;
contract) _arguments '*:file:_files' '-o[where it is written]:file:_files' '--reader[of files]:reader' '--workers[threads]:number' \
    '--memory[memory]:size' '--json' '--quiet' '--help' ;;
plan) _arguments '*:file:_files' $script '--tasks[every task]' '--files[every input file]' ;;
stop) _arguments '*:run:_files -/' '--now' '--wait[until all have ended]:seconds' '--undo' '--json' '--help' ;;
work|task) _arguments '*:run:_files -/' '--workers[threads]:number' '--memory[memory]:size' '--trust' '--json' '--quiet' '--help' ;;
show) _arguments '*:run:_files -/' '--json' '--plan[exact counts]' '--help' ;;
report) _arguments '*:run:_files -/' '--md[Markdown]' '--json' '--html[a page]:file:_files' '--all[every reason and phase]' '--price[of a core-hour]:dollars' '--help' ;;
replay) _arguments '*:row:_files' '--gdb' '--in-process' '--json' '--help' ;;
why) _arguments '*:run:_files -/' '--id[of a document]:id' '--reason[name]:reason' '--near' '--text' '--dropped' '--stage[name]:stage' \
    '--quarantine' '--task[number]:task' '--row[number]:row' '-n[how many]:number' '--json' '--help' ;;
trace) _arguments '*:dataset:_files -/' '--run[that wrote it]:run:_files -/' '--text' '--json' '--help' ;;
head) _arguments '*:dataset:_files -/' '-n[rows]:number' '--where[EXPRESSION]:condition' '--schema[columns and types]' '--random' '--seed[number]:seed' '--tokens' \
    '--tokenizer[file]:file:_files' '--run[that wrote it]:run:_files -/' '--json' '--help' ;;
verify) _arguments '*:dataset:_files -/' '--all[snapshots]' '--quick[sizes only]' '--absent[ids that should be nowhere]:file:_files' '--column[that has them]:name' '--run[that wrote it]:run:_files -/' '--in[what was made of it]:directory:_files -/' '--json' '--help' ;;
new) _arguments '2:what:(pipeline heuristic plugin project)' '3:name:' '--lang[language]:language:(c cpp rust lua)' \
    '--role[of the stage]:role:(filter annotator transform reader gate writer)' '--dir[where it is made]:folder:_files -/' '--json' '--help' ;;
bundle) _arguments '*:run:_files -/' '-o[the archive]:file:_files' '--messages[of errors as well]' '--json' '--help' ;;
datasets) _arguments '*:folder:_files -/' '--json' '--help' ;;
diff) _arguments '*:dataset:_files -/' '--key[compare rows by it]:field' '--text[whose lengths are told]:field' '--json' '--html[a page]:file:_files' '--help' ;;
tag) _arguments '*:dataset:_files -/' '--move' '--remove' '--json' '--help' ;;
bench-format) _arguments '*:file:_files' '--bytes[stored bytes that are taken]:size' '--column[column that is read alone]:name' '--scratch[where it works]:folder:_files -/' '--json' '--help' ;;
compact) _arguments '*:dataset:_files -/' '--target[bytes of a file]:size' '--least[small neighbours]:number' '--dry-run' '--json' '--help' ;;
remove) _arguments '*:dataset:_files -/' '--ids[one a line]:file:_files' '--column[that has them]:name' '--purge[old snapshots and what the run keeps too]' '--run[that wrote it]:run:_files -/' '--in[what was made of it]:directory:_files -/' '--dry-run' '--json' '--help' ;;
retain) _arguments '*:dataset:_files -/' '--keep[newest snapshots]:number' '--older[than a time]:time' '--dry-run' '--json' '--help' ;;
repro) _arguments '*:run:_files -/' '--into[keep what is made]:folder:_files -/' '--any-program' '--workers[threads]:number' '--memory[memory]:size' \
    '--scratch[where stages spill]:directory:_files -/' '--trust' '--quiet' '--json' '--help' ;;
gc) _arguments '*:run:_files -/' '--dry-run' '--json' '--help' ;;
*) _arguments '*:file:_files' '--help' ;;
esac

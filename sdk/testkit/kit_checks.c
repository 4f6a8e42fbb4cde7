/* The table of checks, in the order in which they run: what each finds, what a failure means and
 * how to mend it. See kitInt.h. */
#include <string.h>

#include "testkit/kitInt.h"

const struct kit_check kit_checks[] = {
    { "symbols",
      "The file exports names of its own, which can be mixed up with those of other libraries. "
      "Compile with -fvisibility=hidden and a version script that keeps sluice_plugin_v1 alone.",
      check_symbols, KIT_OF_FILE | KIT_FIRST },
    { "load_twice",
      "A second copy in one process must be as good as the first: no global that the first one "
      "registered, no constructor that can only run once.",
      check_load_twice, KIT_OF_FILE | KIT_FIRST },
    { "descriptor",
      "The description of the stage (struct sluice_stage) is incomplete or contradicts itself.",
      check_descriptor, KIT_FIRST },
    { "outside",
      "A stage reaches out of its process: it writes files other than temporary ones in the host's "
      "scratch_dir, runs programs, talks to the network by itself, or sends signals to other "
      "processes.",
      check_outside, KIT_FIRST | KIT_ASIDE },
    { "runs",
      "An ordinary run from open to close does not come to an end. All other checks build on it.",
      check_runs, KIT_FIRST },
    { "schema",
      "What the stage gives back is not what prepare declared: number, type, length and nulls of "
      "columns. Declare with plan->add what you emit.",
      check_schema, KIT_FIRST },
    { "verdicts",
      "A filter gives exactly one verdict for each selected row, once a batch, with a reason that "
      "the descriptor lists; dup_of is UTF-8 and lives until emit->verdicts returns.",
      check_verdicts, KIT_FIRST },
    { "options_limits",
      "A value that the option table allows makes the stage fail. Narrow the limits in the table, "
      "or refuse the value in open with SLUICE_E_CONFIG and a word about why.",
      check_options_limits, 0 },
    { "options_wrong",
      "A value beyond the limits or of another type is taken. The option table must say what is "
      "possible: the stage sees nothing else.",
      check_options_wrong, KIT_FIRST },
    { "options_required", "A required option can be left out, or its absence is not named.",
      check_options_required, KIT_FIRST },
    { "prepare",
      "prepare only records what the stage needs and gives: it must give the same answer each time "
      "it is asked, and hand on what need() says when a column is missing.",
      check_prepare, 0 },
    { "measures", "The measure that the stage says to conserve does not come out as it went in.",
      check_measures, 0 },
    { "origin",
      "_origin must name the input rows (by _row) that each output row came from, and no others.",
      check_origin, 0 },
    { "empty", "A batch may have no rows, or none that is selected: nothing is to be done then.",
      check_empty, 0 },
    { "one_row", "A batch may have a single row.", check_one_row, 0 },
    { "nulls",
      "A column asked for with '?' may be null in any row: test the validity bitmap before a value "
      "is read, or ask for the type without '?'.",
      check_nulls, 0 },
    { "types",
      "A stage that asks for \"a|b\", or for an optional column, must work with each and without.",
      check_types, 0 },
    { "selection",
      "Where batch->rows is given only those rows are to be looked at; row k of what is given back "
      "belongs to batch->rows[k].",
      check_selection, 0 },
    { "huge_string",
      "A row may hold megabytes, also without a blank: no recursion on the length, no fixed "
      "buffer, "
      "nothing quadratic.",
      check_huge, 0 },
    { "bad_utf8", "Binary columns hold any bytes; utf8 and json columns are always valid.",
      check_bad_utf8, 0 },
    { "hostile_text",
      "Text may hold NULs, lone marks, right-to-left runs, four-byte characters, no blanks at all; "
      "numbers may be extreme, infinite or not a number.",
      check_hostile, 0 },
    { "row_local",
      "A stateless stage must give the same for a row in any company and order: keep nothing from "
      "one row to the next, or declare the mode ORDERED.",
      check_row_local, 0 },
    { "batch_splits",
      "Results may not depend on where batches end. Carry what spans batches over in the worker's "
      "state, and give it out in flush.",
      check_splits, 0 },
    { "units",
      "A reader that reads at random: a unit gives the same whatever was read before it, the "
      "survey "
      "is a function of the file and the options, and a worker that waits may be closed.",
      check_units, 0 },
    { "asks",
      "Answers come late and in any order of calls, some are refusals, equal rows ask the same, "
      "and "
      "a worker that waits may be closed: none of it may show. Find a row's answer by the order of "
      "asking or by its tag, keep no pointer into an answer when resume returns, and take "
      "SLUICE_E_DATA and any body for what it is.",
      check_asks, 0 },
    { "threads",
      "Workers run on several threads at once: what open returned is read-only after prepare, and "
      "nothing may be static and changed.",
      check_threads, 0 },
    { "deterministic",
      "Two runs over the same rows differ. Nothing may depend on addresses, time, process id, "
      "environment, working directory, hash seeds or uninitialised memory. A stage that can't be "
      "so declares SLUICE_STAGE_RECORDED; one that asks servers follows from rows and answers.",
      check_deterministic, KIT_TWICE },
    { "restore", "save and load lose something: after a restart the run would give other results.",
      check_restore, 0 },
    { "state_damage",
      "load must check what it reads: the version, lengths before they are used, and the status of "
      "every io->read.",
      check_state_damage, 0 },
    { "gate_merge",
      "A gate sees a run in pieces, whose states are merged: use sums, counts and sets that do not "
      "depend on order, and integers instead of float sums.",
      check_gate_merge, 0 },
    { "input_read_only", "A stage writes to what it was given: batches are shared with others.",
      check_input_read_only, 0 },
    { "allocations",
      "When an allocation gives NULL the call must return SLUICE_E_NOMEM, free what it made, and "
      "never crash or answer otherwise than with memory.",
      check_allocations, 0 },
    { "cancel", "A run that is stopped must end: loops of more than 10 ms poll host->cancelled.",
      check_cancel, 0 },
    { "leaks", "Memory is left behind when the stage is closed.", check_leaks, KIT_COUNTS },
    { "signals", "Signals belong to the host: no handlers, no masks.", check_signals, 0 },
    { "process_state",
      "Locale, working directory, umask, resource limits, environment and floating-point mode "
      "belong to all stages of the process.",
      check_process, 0 },
    { "descriptors",
      "A descriptor was left open, closed for somebody else, or is a socket. Use the host's "
      "services for files, and scratch_dir for temporary ones.",
      check_descriptors, 0 },
    { "processes", "Stages start no processes, and their threads end before close returns.",
      check_children, 0 },
    { "chunks",
      "A reader gets its file in chunks of any size; what follows the last byte is padding, never "
      "data. A record that is not whole is left with chunk->consumed.",
      check_chunks, 0 },
    { "ranges",
      "Each record belongs to the range in which its first byte lies; _begin and _end are its "
      "bytes "
      "in the decoded file.",
      check_ranges, 0 },
    { "file_end", "Files end without a newline, in the middle of a record, or hold nothing.",
      check_file_end, 0 },
    { "rolls", "emit->roll says how many rows the ended files hold; no file may be empty.",
      check_rolls, 0 },
    { "fuzz", "Random batches, or damaged files, give other results when they are cut otherwise.",
      check_fuzz, KIT_FUZZES },
};

const size_t kit_n_checks = sizeof kit_checks / sizeof kit_checks[0];

const struct kit_check *kit_check_find(const char *name)
{
    for (size_t k = 0; k < kit_n_checks; k++) {
        if (strcmp(kit_checks[k].name, name) == 0) {
            return &kit_checks[k];
        }
    }
    return NULL;
}

void kit_list(struct buf *out)
{
    for (size_t k = 0; k < kit_n_checks; k++) {
        buf_printf(out, "%-18s %s\n", kit_checks[k].name, kit_checks[k].doc);
    }
}

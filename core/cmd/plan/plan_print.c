/* The text of `sluice plan`. See planInt.h. */
#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "cmd/look/look.h"
#include "cmd/plan/planInt.h"
#include "cmd/progress.h"
#include "cmd/plan/rebuild.h"

static unsigned long long number(const json_t *object, const char *name)
{
    return (unsigned long long)json_integer_value(json_object_get(object, name));
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

static void print_list(const json_t *list, const char *separator)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        struct buf safe = BUF_INIT;
        look_excerpt(&safe, json_string_value(item), json_string_length(item), 0);
        say("%s%s", i > 0 ? separator : "", buf_str(&safe));
        buf_deinit(&safe);
    }
}

static void print_reader(const json_t *reader)
{
    char a[24];
    size_t i;
    json_t *path;

    say("  reads   ");
    print_list(json_object_get(reader, "patterns"), " ");
    say(": %llu file%s, %s", number(reader, "files"), plural(number(reader, "files")),
        human_bytes((double)number(reader, "bytes"), a));
    if (json_object_get(reader, "text_bytes") != NULL &&
        number(reader, "text_bytes") != number(reader, "bytes")) {
        say(" (%s of text)", human_bytes((double)number(reader, "text_bytes"), a));
    }
    say(", %llu split%s; columns ", number(reader, "splits"), plural(number(reader, "splits")));
    print_list(json_object_get(reader, "columns"), ", ");
    say("%s\n", json_is_true(json_object_get(reader, "isolated")) ? "  [isolated]" : "");
    json_array_foreach(json_object_get(reader, "paths"), i, path)
    {
        struct buf safe = BUF_INIT;
        look_excerpt(&safe, json_string_value(path), json_string_length(path), 0);
        say("          %s\n", buf_str(&safe));
        buf_deinit(&safe);
    }
}

/* What a stage notes for the manifest (the size of a filter, a tokenizer), a line each. */
static void print_notes(const json_t *notes)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)notes, key, value)
    {
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
        struct buf safe = BUF_INIT;
        if (text != NULL) {
            look_excerpt(&safe, text, strlen(text), 160);
            say("          notes %s %s\n", key, buf_str(&safe));
        }
        buf_deinit(&safe);
        free(text);
    }
}

static void print_phase(const json_t *phase)
{
    unsigned long long first = number(phase, "first_task");
    unsigned long long tasks = number(phase, "tasks");
    const json_t *depends = json_object_get(phase, "depends");
    size_t i;
    json_t *item;
    char a[24];

    say("\nphase %llu  %s  ", number(phase, "number"), text_of(phase, "name"));
    if (tasks == 0) {
        say("no tasks");
    } else if (tasks == 1) {
        say("task %llu", first);
    } else {
        say("tasks %llu to %llu (%llu)", first, first + tasks - 1, tasks);
    }
    if (number(phase, "reused") > 0) {
        say(", %llu reused", number(phase, "reused"));
    }
    if (number(phase, "run") > 0) {
        say(", %llu to run", number(phase, "run"));
    }
    if (number(phase, "unknown") > 0) {
        say(", %llu depend%s on phase%s", number(phase, "unknown"),
            number(phase, "unknown") == 1 ? "s" : "", plural(json_array_size(depends)));
        json_array_foreach(depends, i, item)
        {
            say("%s%lld", i == 0 ? " " : ", ", (long long)json_integer_value(item));
        }
    }
    say("\n");
    json_array_foreach(json_object_get(phase, "readers"), i, item)
    {
        print_reader(item);
    }
    json_array_foreach(json_object_get(phase, "stages"), i, item)
    {
        const char *kind = text_of(item, "kind");
        const char *role = text_of(item, "role");
        say("  %-7s %-28s %-10s", i == 0 ? "stages" : "", text_of(item, "name"), role);
        if (strcmp(kind, role) != 0 && strcmp(kind, text_of(item, "name")) != 0) {
            say(" %s", kind);
        }
        if (json_array_size(json_object_get(item, "inputs")) > 0) {
            say(" < ");
            print_list(json_object_get(item, "inputs"), " + ");
        }
        if (json_object_get(item, "dataset") != NULL) {
            struct buf safe = BUF_INIT;
            look_excerpt(&safe, text_of(item, "dataset"), strlen(text_of(item, "dataset")), 0);
            say(" > %s", buf_str(&safe));
            buf_deinit(&safe);
        }
        say("%s\n", json_is_true(json_object_get(item, "isolated")) ? "  [isolated]" : "");
        print_notes(json_object_get(item, "notes"));
    }
    json_array_foreach(json_object_get(phase, "stores"), i, item)
    {
        say("  %-7s %s", i == 0 ? "stores" : "", text_of(item, "name"));
        if (number(item, "partitions") > 1) {
            say(" (%llu partitions)", number(item, "partitions"));
        }
        say(": ");
        print_list(json_object_get(item, "columns"), ", ");
        if (json_object_get(item, "moves") != NULL) {
            say("  [%s]", text_of(item, "moves"));
        }
        say("\n");
    }
    json_array_foreach(json_object_get(phase, "reasons"), i, item)
    {
        const json_t *examples = json_object_get(item, "examples");
        say("  %-7s %s: %llu task%s (", i == 0 ? "runs" : "", text_of(item, "reason"),
            number(item, "tasks"), plural(number(item, "tasks")));
        print_list(examples, ", ");
        say("%s)\n", number(item, "tasks") > json_array_size(examples) ? ", ..." : "");
    }
    json_array_foreach(json_object_get(phase, "list"), i, item)
    {
        struct buf safe = BUF_INIT;
        look_excerpt(&safe, text_of(item, "name"), strlen(text_of(item, "name")), 0);
        say("  task %5llu  %-7s  %s%s%s\n", number(item, "number"), text_of(item, "state"),
            buf_str(&safe), json_object_get(item, "reason") == NULL ? "" : ": ",
            text_of(item, "reason"));
        buf_deinit(&safe);
    }
    if (json_object_get(phase, "predicted_core_seconds") != NULL) {
        say("  about   %s of work, as the last run's tasks took\n",
            human_time(json_real_value(json_object_get(phase, "predicted_core_seconds")), a));
    }
}

void plan_print(const json_t *plan)
{
    size_t i;
    json_t *phase;
    char a[24];
    json_int_t workers = json_integer_value(json_object_get(plan, "workers"));

    say("%s: %zu phase%s, %llu task%s: %llu reused, %llu to run", text_of(plan, "name"),
        json_array_size(json_object_get(plan, "phases")),
        plural(json_array_size(json_object_get(plan, "phases"))), number(plan, "tasks"),
        plural(number(plan, "tasks")), number(plan, "reused"), number(plan, "run"));
    if (number(plan, "unknown") > 0) {
        say(" at least, %llu more depend on what those give", number(plan, "unknown"));
    }
    say("\nrun directory %s\n", text_of(plan, "run_dir"));
    if (json_object_get(plan, "predicted_core_seconds") != NULL) {
        double seconds = json_real_value(json_object_get(plan, "predicted_core_seconds"));
        say("about %s with %lld workers, as fast as the last run\n",
            human_time(seconds / (double)(workers > 0 ? workers : 1), a), (long long)workers);
    }
    json_array_foreach(json_object_get(plan, "phases"), i, phase)
    {
        print_phase(phase);
    }
    rebuild_print(json_object_get(plan, "rebuilds"));
}

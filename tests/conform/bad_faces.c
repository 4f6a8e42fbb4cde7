/* A plugin with two faces: the process that only asks what it holds sees an honest filter, the
 * child that is to run it something else. What that is, the file's name says: faces_crash.so,
 * faces_hang.so, faces_exit.so, faces_null.so, faces_options.so, faces_name.so, faces_role.so,
 * faces_size.so. With open_ before the name it shows that face to everybody. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/conform/bad.h"

static volatile int forever = 1;

/* Is this the child that runs stages? */
static int runs(void)
{
    char line[4096] = "";
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t n = file == NULL ? 0 : fread(line, 1, sizeof line, file);

    if (file != NULL) {
        fclose(file);
    }
    return memmem(line, n, "__isolate", 9) != NULL;
}

static int is(const char *face)
{
    static const char here;
    Dl_info info;

    return dladdr(&here, &info) != 0 && strstr(info.dli_fname, face) != NULL &&
           (runs() || strstr(info.dli_fname, "open_faces") != NULL);
}

__attribute__((constructor)) static void begin(void)
{
    if (is("faces_crash")) {
        abort();
    }
    while (is("faces_hang") && forever) {
        pause();
    }
    if (is("faces_exit")) {
        _exit(0);
    }
}

BAD_FILTER(honest, "Drops short rows", bad_process);

static sluice_status count(void *state, const struct sluice_batch *batch, struct sluice_emit *emit,
                           struct sluice_error *err)
{
    (void)state;
    (void)batch;
    (void)emit;
    (void)err;
    return SLUICE_OK;
}

const struct sluice_plugin *sluice_plugin_v1(void)
{
    static const struct sluice_option wide[] = {
        { .name = "on", .doc = "Stored where nothing is.", .type = SLUICE_OPT_INT, .offset = 4096 }
    };
    static struct sluice_stage stage;
    static const struct sluice_stage *const stages[] = { &stage, NULL };
    static const struct sluice_plugin plugin = {
        .size = sizeof plugin,
        .abi_major = SLUICE_ABI_MAJOR,
        .abi_minor_built = SLUICE_ABI_MINOR,
        .name = "bad_faces",
        .version = "1.0",
        .license = "MIT",
        .stages = stages,
    };

    stage = honest_stage;
    if (is("faces_null")) {
        return NULL;
    }
    if (is("faces_options")) {
        stage.options = wide;
        stage.config_size = 8192;
    }
    if (is("faces_name")) {
        stage.name = "other";
    }
    if (is("faces_role")) {
        stage.role = SLUICE_ROLE_GATE;
        stage.mode = SLUICE_MODE_ORDERED;
        stage.reasons = NULL;
        stage.process = count;
    }
    if (is("faces_size")) {
        stage.size = 64;
    }
    return &plugin;
}

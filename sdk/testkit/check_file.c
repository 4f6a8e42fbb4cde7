/* Checks of the file as a whole. See kitInt.h. */
#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testkit/kitInt.h"
#include "store/disk.h"

static bool is_lua(const struct kit *kit)
{
    return kit->script != NULL;
}

/* ---- loading twice ---- */

static bool copy_file(struct kit *kit, const char *to)
{
    struct buf bytes = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    bool found = false;
    FILE *file = NULL;
    bool ok =
        disk_read_file(kit->options.path, (size_t)1 << 30, &bytes, &found, &err) == SLUICE_OK &&
        found;

    if (ok) {
        file = fopen(to, "we");
        ok = file != NULL && fwrite(bytes.data, 1, bytes.size, file) == bytes.size;
        ok = file != NULL && fclose(file) == 0 && ok;
    }
    buf_deinit(&bytes);
    return ok || kit_fail(kit, "the kit can't copy the file to %s", to);
}

/* The same file once more, and a copy of it beside: two of everything in one process. */
void check_load_twice(struct kit *kit)
{
    struct plugin_file again;
    struct plugin_file copy;
    struct sluice_error err = ERROR_INIT;
    char *path = str_printf("%s/copy.so", kit->scratch);

    if (is_lua(kit)) {
        kit_skip(kit, "a Lua file has no code to load");
    } else if (path != NULL && copy_file(kit, path)) {
        kit_what(kit, "the same file loaded a second time, and a copy of it");
        kit_enter(kit, "load");
        if (plugin_file_load(kit->options.path, &again, &err) != SLUICE_OK) {
            kit_fail(kit, "loaded a second time: %s", err.message);
        } else {
            if (plugin_file_load(path, &copy, &err) != SLUICE_OK) {
                kit_fail(kit, "a copy of the file, loaded beside it: %s", err.message);
            } else {
                if (copy.n_stages != kit->n_entries) {
                    kit_fail(kit, "a copy of the file has %zu stages, the file %zu", copy.n_stages,
                             kit->n_entries);
                }
                plugin_file_deinit(&copy);
            }
            plugin_file_deinit(&again);
        }
        kit_leave(kit);
    }
    free(path);
}

/* ---- symbols ---- */

/* Families of libraries that hosts and other plugins bring as well. */
static const char *const families[] = {
    "ZSTD_",    "HUF_",        "FSE_",      "XXH",     "lua_",  "luaL_",   "json_",
    "jansson_", "ffi_",        "deflate",   "inflate", "crc32", "adler32", "LZ4_",
    "BZ2_",     "libdeflate_", "utf8proc_", "pcre2_",  "curl_", "sluice_"
};

static const char *family_of(const char *name)
{
    for (size_t k = 0; k < sizeof families / sizeof families[0]; k++) {
        if (strncmp(name, families[k], strlen(families[k])) == 0) {
            return families[k];
        }
    }
    return NULL;
}

struct exported {
    char worst[128]; /* of a known family */
    char first[128];
    uint32_t n;
};

static void look(const GElf_Sym *symbol, const char *name, struct exported *out)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    unsigned binding = GELF_ST_BIND(symbol->st_info);
    unsigned visibility = GELF_ST_VISIBILITY(symbol->st_other);

    if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT) ||
        (binding != STB_GLOBAL && binding != STB_WEAK) || visibility != STV_DEFAULT ||
        strcmp(name, "sluice_plugin_v1") == 0 || strncmp(name, "_init", 5) == 0 ||
        strncmp(name, "_fini", 5) == 0 || strncmp(name, "__", 2) == 0 ||
        strncmp(name, "_Z", 2) == 0 || strncmp(name, "_edata", 6) == 0) {
        return; /* C++ templates are weak and shared by rule */
    }
    if (out->n++ == 0) {
        snprintf(out->first, sizeof out->first, "%s", name);
    }
    if (out->worst[0] == '\0' && family_of(name) != NULL) {
        snprintf(out->worst, sizeof out->worst, "%s", name);
    }
}

/* Reads the file itself: a loaded image does not say how many symbols. */
static bool read_symbols(Elf *elf, struct exported *out)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    GElf_Sym symbol;

    if (elf == NULL || elf_kind(elf) != ELF_K_ELF) {
        return false;
    }
    while ((section = elf_nextscn(elf, section)) != NULL) {
        Elf_Data *data = gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_DYNSYM
                             ? elf_getdata(section, NULL)
                             : NULL;
        for (int k = 0; data != NULL && gelf_getsym(data, k, &symbol) != NULL; k++) {
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (name != NULL) {
                look(&symbol, name, out);
            }
        }
    }
    return true;
}

void check_symbols(struct kit *kit)
{
    struct exported exported = { .n = 0 };
    Elf *elf = NULL;
    int fd;

    if (is_lua(kit)) {
        kit_skip(kit, "a Lua file exports no symbols");
        return;
    }
    fd = open(kit->options.path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && elf_version(EV_CURRENT) != EV_NONE) {
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    }
    if (!read_symbols(elf, &exported)) {
        kit_skip(kit, "the file's symbols can't be read");
    } else if (exported.worst[0] != '\0') {
        kit_fail(kit,
                 "it exports '%s' (one of %u symbols beside sluice_plugin_v1), which is a name "
                 "of a library that others bring too: whoever is loaded first wins",
                 exported.worst, exported.n);
    } else if (exported.n > 0) {
        kit_warn(kit, "it exports %u symbol%s beside sluice_plugin_v1, such as '%s'", exported.n,
                 exported.n == 1 ? "" : "s", exported.first);
    }
    elf_end(elf);
    if (fd >= 0) {
        close(fd);
    }
}

/* Finding libsluice-tokenizer.so: see tokenizer.h. */
#include "cmd/tokenize/tokenizer.h"

#include "cmd/library.h"

sluice_status tokenizer_library_load(struct tokenizer_library *library, struct sluice_error *err)
{
    void *loaded;

    TRY(library_load("libsluice-tokenizer.so",
                     "it is built when the tokenize plugin is: `sluice plugins` says which "
                     "libraries that needs",
                     &loaded, err));
#define TOKENIZER_FIND(name) TRY(library_find(loaded, "sluice_" #name, &library->name, err));
    TOKENIZER_FUNCTIONS(TOKENIZER_FIND)
    return SLUICE_OK;
}

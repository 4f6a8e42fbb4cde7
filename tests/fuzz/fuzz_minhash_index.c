/* Files of a MinHash index as hostile bytes: parsing, the search for keys, and the look-up of
 * documents stay inside them. The first byte says what is looked for. */
#include "minhash_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct minhash_file file;
    struct minhash_document document;
    uint64_t sum = 0;
    bool found = false;
    unsigned char key[16];

    if (size == 0 || minhash_file_parse(data + 1, size - 1, &file, NULL) != SLUICE_OK) {
        return 0;
    }
    memset(key, data[0], sizeof key);
    if (!file.docs) {
        uint64_t at = minhash_entry_seek(&file, 0, key);
        if (at < file.count) {
            sum += minhash_entry(&file, at)[23];
        }
    } else {
        for (uint64_t i = 0; i < 64; i++) {
            uint64_t reference = (uint64_t)1 << 63 | (i * data[0]);
            if (minhash_file_document(&file, reference, &document, &found, NULL) == SLUICE_OK &&
                found) {
                for (uint32_t k = 0; k < document.id_size; k++) {
                    sum += (unsigned char)document.id[k];
                }
                for (uint32_t k = 0; k < document.sig_size; k++) {
                    sum += (unsigned char)document.sig[k];
                }
            }
        }
    }
    sum += minhash_file_check(&file, NULL) == SLUICE_OK;
    return sum == UINT64_MAX ? 1 : 0;
}

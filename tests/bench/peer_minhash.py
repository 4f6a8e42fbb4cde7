"""datatrove's MinHash (14 bands of 8 rows, 5-grams, 64 bit xxhash, spaCy's English words) of one JSON Lines file.

    peer_minhash.py INPUT.jsonl FOLDER

Prints the bytes of lines, the number of documents, and the seconds of processor time of the signatures alone and of all four stages from
JSON Lines to JSON Lines, in one process. FOLDER is made anew.
"""
import shutil
import sys
import time

import orjson
from loguru import logger

from datatrove.pipeline.dedup.minhash import (MinhashConfig, MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter,
                                              MinhashDedupSignature)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter


def main():
    path, folder = sys.argv[1:3]
    logger.remove()
    shutil.rmtree(folder, ignore_errors=True)
    config = MinhashConfig()
    signer = MinhashDedupSignature(output_folder=f"{folder}/unused", config=config)
    signer.get_signature(signer.get_shingles("the words that load what is loaded once"))
    size = documents = 0
    texts = []
    with open(path, "rb") as lines:
        for line in lines:
            size += len(line)
            documents += 1
            texts.append(orjson.loads(line).get("text") or "")
    start = time.process_time()
    for text in texts:
        shingles = signer.get_shingles(text)
        if shingles.size != 0:
            signer.get_signature(shingles)
    signing = time.process_time() - start

    name = path.rsplit("/", 1)
    reader = lambda: JsonlReader(name[0], glob_pattern=name[1], compression=None).run()  # noqa: E731
    start = time.process_time()
    MinhashDedupSignature(output_folder=f"{folder}/sigs", config=config).run(reader())
    for bucket in range(config.num_buckets):
        MinhashDedupBuckets(input_folder=f"{folder}/sigs", output_folder=f"{folder}/dups", config=config).run(rank=bucket, world_size=config.num_buckets)
    MinhashDedupCluster(input_folder=f"{folder}/dups", output_folder=f"{folder}/remove", config=config).run(world_size=1)
    kept = MinhashDedupFilter(input_folder=f"{folder}/remove").run(reader())
    for _ in JsonlWriter(f"{folder}/out", compression="zstd").run(kept):
        pass
    print(size, documents, f"{signing:.3f}", f"{time.process_time() - start:.3f}")


if __name__ == "__main__":
    main()

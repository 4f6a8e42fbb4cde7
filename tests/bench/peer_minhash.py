"""datatrove's MinHash signatures (14 bands of 8 rows, 5-grams, 64 bit xxhash) of one JSON Lines file.

    peer_minhash.py INPUT.jsonl

Words are cut with str.split, as the benchmark's other side does. Prints the bytes of lines, the
number of documents, and the seconds of processor time.
"""
import sys
import time

import orjson
from datatrove.pipeline.dedup import minhash


class Words:
    def word_tokenize(self, text):
        return text.split()


minhash.load_word_tokenizer = lambda language: Words()


def main():
    signer = minhash.MinhashDedupSignature(
        output_folder="/nonexistent", config=minhash.MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8)
    )
    size = documents = 0
    start = time.process_time()
    with open(sys.argv[1], "rb") as lines:
        for line in lines:
            size += len(line)
            documents += 1
            shingles = signer.get_shingles(orjson.loads(line).get("text") or "")
            if shingles.size != 0:
                signer.get_signature(shingles)
    print(size, documents, f"{time.process_time() - start:.3f}")


if __name__ == "__main__":
    main()

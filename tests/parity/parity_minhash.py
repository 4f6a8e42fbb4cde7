"""MinHash of Sluice and of datatrove on the same documents.

    parity_minhash.py --dump PROGRAM --tmp DIR

1. For xxhash and sha1, 64 and 32 bits: datatrove's stage 1 writes bucket_BBB/RRRRR.minhash.sig (sorted records of a band's values and a
   document's number); the same files are made from what Sluice signs and compared byte for byte.
2. datatrove's stages 2 and 3 cluster the documents, one task a file. A run of Sluice with keep = "peer" over the same files must
   drop the same documents and name, for each, a survivor of the same cluster; with keep = "first" the clusters must be the same and the
   survivor of each its first document.

The documents are those of the shared corpus (whose texts are also cut, changed a little and repeated, so that there are clusters of all
kinds). Needs datatrove with spaCy, and $SLUICE.
"""
import argparse
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import unicodedata

import numpy as np
import regex
from datatrove.data import Document
from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature
from datatrove.utils.hashing import HashConfig
from loguru import logger

import kit

FILES = 7
DOCUMENTS = 10000
LONGEST = 20000  # characters of a document


def is_newer(text):
    """Whether a text has code points that datatrove's Python takes for unassigned: it decomposes by the Unicode of Python (14 for 3.11), finds
    numbers by that of the module regex, and Sluice has one, 15, for both."""
    return any(unicodedata.category(c) == "Cn" and not regex.match(r"\p{Cn}", c) for c in set(text))


def variants(rng, text):
    """A text and what may stand beside it in a crawl: copies, near copies, parts."""
    yield text
    words = text.split(" ")
    if len(words) < 20 or rng.random() > 0.35:
        return
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        changed = list(words)
        for _ in range(int(len(changed) * rng.choice([0, 0, 0.005, 0.01, 0.02, 0.05, 0.2]))):
            changed[rng.randrange(len(changed))] = rng.choice(words)
        if rng.random() < 0.2:
            changed = changed[: rng.randrange(len(changed) // 2, len(changed))]
        yield " ".join(changed)


def make_documents(tmp):
    """FILES lists of texts, shuffled; datatrove's readers skip empty ones, so there are none."""
    rng = random.Random(7)
    texts = []
    wanted = int((DOCUMENTS + 200) * min(1.0, float(os.environ.get("PARITY_MEGABYTES") or 50) / 20))
    for record in kit.read_corpus(kit.make_corpus(tmp), empty=False):
        for text in variants(rng, record["text"][:LONGEST]):
            texts.append(text)
        if len(texts) >= wanted * 3:
            break
    adversarial, rest = texts[:wanted // 4], texts[wanted // 4:]
    rng.shuffle(rest)
    texts = (adversarial + rest)[:wanted]
    rng.shuffle(texts)
    compared = [text for text in texts if not is_newer(text)]
    print(f"{len(texts) - len(compared)} documents left out: code points newer than Python's Unicode {unicodedata.unidata_version}")
    return [compared[i::FILES] for i in range(FILES)]


def peer_signatures(files, folder, config):
    for rank, texts in enumerate(files):
        step = MinhashDedupSignature(output_folder=folder, config=config)
        step.run((Document(text=text, id=f"{rank}/{i}") for i, text in enumerate(texts)), rank=rank, world_size=len(files))


def our_signatures(files, folder, config, dump):
    bands, rows = config.num_buckets, config.hashes_per_bucket
    precision = config.hash_config.precision
    form = f"<{rows}{'Q' if precision == 64 else 'I'}I"
    for rank, texts in enumerate(files):
        data = b"".join(struct.pack("<I", len(t)) + t for t in (text.encode() for text in texts))
        out = subprocess.run(
            [dump, str(config.n_grams), str(bands), str(rows), str(config.seed), config.hash_config.hash_fc, str(precision)],
            input=data, stdout=subprocess.PIPE, check=True).stdout
        records = [[] for _ in range(bands)]
        at = 0
        for document in range(len(texts)):
            has, = struct.unpack_from("<I", out, at)
            at += 4
            if has:
                values = struct.unpack_from(f"<{bands * rows}Q", out, at)
                at += 8 * bands * rows
                for band in range(bands):
                    records[band].append(values[band * rows:(band + 1) * rows] + (document,))
        for band in range(bands):
            os.makedirs(f"{folder}/bucket_{band:03d}", exist_ok=True)
            with open(f"{folder}/bucket_{band:03d}/{rank:05d}.minhash.sig", "wb") as file:
                file.write(b"".join(struct.pack(form, *record) for record in sorted(records[band])))


def compare_signatures(name, theirs, ours):
    names = sorted(os.path.relpath(f, theirs) for f in glob.glob(f"{theirs}/*/*.sig"))
    found = sorted(os.path.relpath(f, ours) for f in glob.glob(f"{ours}/*/*.sig"))
    different = [n for n in names if open(f"{theirs}/{n}", "rb").read() != open(f"{ours}/{n}", "rb").read()] if names == found else names
    size = sum(os.path.getsize(f"{theirs}/{n}") for n in names)
    print(f"signatures {name}: {len(names)} files, {size} bytes, {len(different)} differ")
    for n in different[:10]:
        print(f"  differs: {n}")
    return len(different) + (not size)


def peer_clusters(signatures, folder, config):
    """{(file, number): cluster} and the documents removed."""
    buckets = config.num_buckets
    for rank in range(buckets):
        MinhashDedupBuckets(input_folder=signatures, output_folder=f"{folder}/dups", config=config).run(rank=rank, world_size=buckets)
    MinhashDedupCluster(input_folder=f"{folder}/dups", output_folder=f"{folder}/clusters", config=config,
                        save_cluster_id=True).run(world_size=1)
    clusters, removed = {}, set()
    for path in glob.glob(f"{folder}/clusters/*.clusters"):
        rank = int(os.path.basename(path).split(".")[0])
        for document, cluster in np.fromfile(path, dtype="<u4").reshape(-1, 2).tolist():
            clusters[(rank, document)] = cluster
    for path in glob.glob(f"{folder}/clusters/*.remove"):
        rank = int(os.path.basename(path).split(".")[0])
        removed.update((rank, document) for document in np.fromfile(path, dtype="<u4").tolist())
    return clusters, removed


def our_clusters(tmp, keep, options, workers, partitions):
    """{(file, number): (file, number) of its survivor} of all dropped documents."""
    out, run = f"{tmp}/{keep}.out", f"{tmp}/{keep}.run"
    for folder in (out, run):
        shutil.rmtree(folder, ignore_errors=True)
    with open(f"{tmp}/{keep}.lua", "w", encoding="utf-8") as script:
        script.write(f"""local s = require "sluice"
local docs = s.files {{ "{tmp}/in/*.jsonl", split = "256KiB" }} | s.read_jsonl {{}}
local unique = docs | s.minhash {{ keep = "{keep}", partitions = {partitions}, {options} }}
return s.pipeline {{ "parity", unique | s.write_jsonl {{ "{out}/kept", columns = {{ "id" }} }},
  unique.dropped | s.write_jsonl {{ "{out}/lost", columns = {{ "id", "dup_of" }} }} }}
""")
    subprocess.run([os.environ["SLUICE"], "run", script.name, "--quiet", "--run-dir", run, "--workers", str(workers)], check=True)
    pair = lambda name: tuple(int(part) for part in name.split("/"))  # noqa: E731
    return {pair(row["id"]): pair(row["dup_of"]) for row in kit.read_dataset(f"{out}/lost")}


def compare_clusters(keep, clusters, removed, ours):
    first = {}
    for document in sorted(clusters):
        first.setdefault(clusters[document], document)
    survivors = {clusters[d]: d for d in clusters if d not in removed} if keep == "peer" else first
    expected = {d: survivors[c] for d, c in clusters.items() if d != survivors[c]}
    wrong = sorted(d for d in set(expected) | set(ours) if expected.get(d) != ours.get(d))
    print(f"clusters, keep = {keep}: {len(survivors)} clusters, {len(expected)} documents dropped, {len(wrong)} differ")
    for document in wrong[:10]:
        print(f"  differs: document {document} is a duplicate of {ours.get(document)}, expected {expected.get(document)}")
    return len(wrong) + (not expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--tmp", required=True)
    args = parser.parse_args()
    logger.remove()
    files = make_documents(args.tmp)
    os.makedirs(f"{args.tmp}/in")
    for rank, texts in enumerate(files):
        with open(f"{args.tmp}/in/{rank:05d}.jsonl", "w", encoding="utf-8") as out:
            for i, text in enumerate(texts):
                out.write(json.dumps({"id": f"{rank}/{i}", "text": text}) + "\n")
    print(f"{sum(map(len, files))} documents in {FILES} files, {sum(len(t.encode()) for f in files for t in f) / 1e6:.1f} MB of text")
    failed = 0
    full = float(os.environ.get("PARITY_MEGABYTES") or 50) >= 20
    for function in ("xxhash", "sha1"):
        for precision in (64, 32):
            config = MinhashConfig(hash_config=HashConfig(hash_fc=function, precision=precision))
            # The small run looks at all four hashes on a part of the documents.
            part = files if full or (function, precision) == ("xxhash", 64) else [texts[:40] for texts in files]
            name = f"{function}{precision}"
            peer_signatures(part, f"{args.tmp}/peer/{name}", config)
            our_signatures(part, f"{args.tmp}/ours/{name}", config, args.dump)
            failed += compare_signatures(name, f"{args.tmp}/peer/{name}", f"{args.tmp}/ours/{name}")
    config = MinhashConfig(hash_config=HashConfig(hash_fc="xxhash", precision=64))
    clusters, removed = peer_clusters(f"{args.tmp}/peer/xxhash64", f"{args.tmp}/peer", config)
    failed += compare_clusters("peer", clusters, removed, our_clusters(args.tmp, "peer", "", 2, 32))
    failed += compare_clusters("first", clusters, removed, our_clusters(args.tmp, "first", "", 2, 5))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""polars' exact deduplication of one JSON Lines file by its texts: the first of equal ones is kept, in the order of the file.

    peer_exact.py INPUT.jsonl OUTPUT.jsonl

Prints the rows, those that are kept, and the seconds of processor time from JSON Lines to JSON Lines, without what starting takes.
POLARS_MAX_THREADS must be set: threads beyond the processors that it gets cost it time.
"""
import sys
import time

import polars


def main():
    source, target = sys.argv[1:3]
    start = time.process_time()
    rows = polars.read_ndjson(source)
    kept = rows.unique(subset="text", keep="first", maintain_order=True)
    kept.write_ndjson(target)
    print(len(rows), len(kept), time.process_time() - start)


main()

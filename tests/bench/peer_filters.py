"""datatrove's quality filters over one file.

    peer_filters.py INPUT.jsonl.zst OUTPUT.jsonl.zst MEGABYTES split|spacy

split: Gopher quality, Gopher repetition and FineWeb, with words cut by str.split. spacy: the chain of
FineWeb (Gopher repetition, Gopher quality, C4, FineWeb) with the words of spaCy. Reads at most MEGABYTES of
lines, writes the documents that pass as zstd JSON Lines, and prints how many bytes of lines it read,
how many documents, how many passed, and the seconds of processor time from the first line to
the last.
"""
import io
import sys
import time

import orjson
import zstandard
from datatrove.data import Document
from datatrove.pipeline.filters import (c4_filters, fineweb_quality_filter, gopher_quality_filter,
                                        gopher_repetition_filter)


def split(text, language=None):
    return text.split()


def kept(result):
    return result[0] if isinstance(result, tuple) else result


def main():
    source, target, limit = sys.argv[1], sys.argv[2], float(sys.argv[3]) * 1e6
    quality = gopher_quality_filter.GopherQualityFilter()
    repetition = gopher_repetition_filter.GopherRepetitionFilter()
    fineweb = fineweb_quality_filter.FineWebQualityFilter()
    if sys.argv[4] == "split":
        for module in (fineweb_quality_filter, gopher_quality_filter, gopher_repetition_filter):
            module.split_into_words = split
        filters = [quality, repetition, fineweb]
    else:
        filters = [repetition, quality, c4_filters.C4QualityFilter(), fineweb]
        for judged in filters:  # the models are loaded before the clock starts
            judged.filter(Document(text="A first one. " * 60, id="0"))
    size = documents = passed = 0
    start = time.process_time()
    with open(source, "rb") as raw, zstandard.open(target, "wb") as out:
        lines = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(raw), 1 << 20)
        for line in lines:
            record = orjson.loads(line)
            size += len(line)
            documents += 1
            text = record.pop("text", None) or ""
            document = Document(text=text, id=str(record.get("id", documents)), metadata=record)
            if all(kept(f.filter(document)) for f in filters):
                passed += 1
                out.write(orjson.dumps({"text": text, **record}) + b"\n")
            if size >= limit:
                break
    print(size, documents, passed, f"{time.process_time() - start:.3f}")


if __name__ == "__main__":
    main()

"""datatrove's quality filters over one file.

    peer_filters.py INPUT.jsonl.zst OUTPUT.jsonl.zst MEGABYTES split|spacy
    peer_filters.py INPUT.jsonl.zst OUTPUT.jsonl.zst MEGABYTES whole MODEL LISTS

split: Gopher quality, Gopher repetition and FineWeb, with words cut by str.split. spacy: the chain of
FineWeb (Gopher repetition, Gopher quality, C4, FineWeb) with the words of spaCy. whole: the same behind
its URL filter and language identification with the fastText MODEL, C4 without the rule on line ends as
in FineWeb, and C4's bad words behind it; the lists it uses are linked into the folder LISTS. Reads at
most MEGABYTES of lines, writes the documents that pass as zstd JSON Lines, and prints how many bytes of
lines it read, how many documents, how many passed, and the seconds of processor time from the first
line to the last.
"""
import io
import os
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


def whole(model, lists):
    """All filters of FineWeb; what they fetch otherwise is given to them."""
    import fasttext
    import tldextract
    from datatrove.pipeline.filters import C4BadWordsFilter, LanguageFilter, URLFilter, url_filter

    url = URLFilter()
    url.download_data()
    url.tldextractor = tldextract.TLDExtract(suffix_list_urls=())  # its own list, not one from the network
    parts = url_filter.cached_assets_path(library_name="datatrove", namespace="filters", subfolder="url_filter")
    files = {"suffixes": os.path.join(os.path.dirname(tldextract.__file__), ".tld_set_snapshot"),
             "domains": os.path.join(parts, "domains"), "urls": os.path.join(parts, "urls")}
    files.update({name: os.path.join(url_filter.ASSETS_PATH, name + ".txt")
                  for name in ("banned_words", "soft_banned_words", "banned_subwords")})
    os.makedirs(lists, exist_ok=True)
    for name, path in files.items():
        os.symlink(path, os.path.join(lists, name))
    language = LanguageFilter(languages=["en"])
    language.model._model = fasttext.load_model(model)
    c4_filters.cached_asset_path_or_download = lambda *args, **names: files["banned_words"]
    words = C4BadWordsFilter(fail_on_missing_language=False)
    return [url, language], [words]


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
        before, behind = whole(*sys.argv[5:7]) if sys.argv[4] == "whole" else ([], [])
        c4 = c4_filters.C4QualityFilter(filter_no_terminal_punct=sys.argv[4] != "whole")
        filters = before + [repetition, quality, c4, fineweb] + behind
        for judged in filters:  # the models are loaded before the clock starts
            judged.filter(Document(text="A first one. " * 60, id="0", metadata={"url": "https://a.org/", "language": "en"}))
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

#!/usr/bin/env python3
"""Dolma's taggers over JSON Lines with its own loop's decoder and encoder, in one process.

Usage: peer_dolma.py IN.jsonl OUT.jsonl TAGGER...
Prints the processor time of the loop, and the documents. Needs the package dolma.
"""
import logging
import sys
import time
import warnings

import msgspec

import dolma.taggers  # pylint: disable=unused-import
from dolma.core.data_types import InputSpec, OutputSpec
from dolma.core.registry import TaggerRegistry


def main():
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    taggers = {name: TaggerRegistry.get(name)() for name in sys.argv[3:]}
    decoder, encoder = msgspec.json.Decoder(InputSpec), msgspec.json.Encoder()
    begin = time.process_time()
    documents = 0
    with open(sys.argv[1], encoding="utf-8") as lines, open(sys.argv[2], "w", encoding="utf-8") as out:
        for line in lines:
            row = decoder.decode(line)
            attributes = {}
            for name, tagger in taggers.items():
                for key, value in tagger.tag(row).items():
                    attributes["%s__%s__%s" % (name, name, key)] = value
            out.write(encoder.encode(OutputSpec(source=row.source, id=row.id, attributes=attributes)).decode("utf-8") + "\n")
            documents += 1
    print("%.3f %d" % (time.process_time() - begin, documents))


main()

"""Sluice from Python: run pipelines, look at what they made, try rules, tokenize.

    import sluice_data as sluice
    result = sluice.run("web.lua", min_words=40)      # a progress bar; raises what the program says
    result                                            # in a notebook: stages, reasons, datasets
    sluice.dataset("out/kept").to_pandas()
    sluice.sweep("rules.lua", "sample.jsonl", stage="shouting", option="max", low=0.1, high=0.5)
    sluice.tokenizer("o200k_base.tiktoken").encode("text")

The program does the work, in processes of its own; this package starts it and reads what it says. See the guide `python.md`.
"""

from .datasets import Dataset, dataset
from .errors import ConfigError, DataError, Halted, Interrupted, ResourceError, SluiceError
from .program import command, program, version
from .running import Run, check, run
from .tokenizing import Tokenizer, tokenizer
from .trying import sample, sweep, try_

__all__ = [
    "ConfigError", "DataError", "Dataset", "Halted", "Interrupted", "ResourceError", "Run", "SluiceError", "Tokenizer",
    "check", "command", "dataset", "program", "run", "sample", "sweep", "tokenizer", "try_", "version",
]

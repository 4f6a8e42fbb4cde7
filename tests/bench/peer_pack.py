"""TRL's best-fit-decreasing over documents of tokens (datatrove's .ds files).

    peer_pack.py FOLDER LENGTH BATCH

BATCH documents are packed at once, as datasets.map hands them over; 0: all of them. Prints the seconds of processor time of packing alone,
the rows and the tokens in them. What trl.data_utils imports and packing does not use need not be installed.
"""
import glob
import importlib.util
import os
import sys
import time
import types

import numpy
import pyarrow

for name, members in (("datasets", ("Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")),
                      ("transformers", ("PreTrainedTokenizerBase", "ProcessorMixin"))):
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = types.ModuleType(name)
        for member in members:
            setattr(sys.modules[name], member, type(member, (), {}))
folder = next(os.path.join(p, "trl") for p in sys.path if os.path.isdir(os.path.join(p, "trl")))
spec = importlib.util.spec_from_file_location("trl_data_utils", os.path.join(folder, "data_utils.py"))
trl = importlib.util.module_from_spec(spec)
spec.loader.exec_module(trl)


def main():
    folder, length, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    tables = []
    for path in sorted(glob.glob(os.path.join(folder, "*.ds"))):
        ends = numpy.fromfile(path + ".index", dtype="<u8").astype(numpy.int32)
        width = int(open(path + ".metadata").readline().rsplit("|", 1)[1])
        tokens = numpy.fromfile(path, dtype="<u%d" % width).astype(numpy.int32)
        tables.append(pyarrow.table({"input_ids": pyarrow.ListArray.from_arrays(numpy.concatenate(([0], ends)).astype(numpy.int32), tokens)}))
    table = pyarrow.concat_tables(tables).combine_chunks()
    step = batch or len(table)
    seconds, rows, tokens = 0.0, 0, 0
    for begin in range(0, len(table), step):
        # A table of its own, as a batch of datasets.map is.
        part = pyarrow.table({"input_ids": pyarrow.concat_arrays([table["input_ids"].chunk(0).slice(begin, step)])})
        start = time.process_time()
        packed = trl._pack_bfd(part, length, "split")
        seconds += time.process_time() - start
        rows += len(packed)
        tokens += int(pyarrow.compute.sum(pyarrow.compute.list_value_length(packed["input_ids"])).as_py())
    print(seconds, rows, tokens)


main()

#!/usr/bin/env python3
"""Turns an operation log (SLUICE_TEST_OPLOG, see core/store/disk.h) into the trees that a crash after its first K operations may leave.

    replay.py LOG ROOT OUT [--base DIR] [--prefix K] [--mode MODE] [--safe FOLDER]

ROOT is the folder that the logged process worked in, --base a copy of it from before (durable; default: empty). What is in
FOLDER, below ROOT, is on another machine: it loses nothing. Without --prefix and
--mode all are made, as OUT/K-MODE. Prints the number of operations. Modes:

    lost  a power cut, worst case: only names whose folder was synced, only data whose file was synced
    torn  a power cut where all names reached the disk, but only synced data did
    all   the process was killed: everything that it did is there
"""
import argparse
import os
import struct
import sys

MAGIC = 0x504F4C53
OPEN, WRITE, SYNC, SYNC_DIR, LINK, UNLINK, MKDIR, RMDIR, RENAME, RENAME_NEW, SYMLINK = range(1, 12)
MODES = ("lost", "torn", "all")


class File:
    def __init__(self, data=b""):
        self.data = bytearray(data)
        self.durable = bytes(data)


class Link:
    def __init__(self, target):
        self.target = target


class Folder:
    def __init__(self):
        self.names = {}
        self.durable = {}


def records(path):
    data = open(path, "rb").read()
    at = 0
    head = struct.Struct("<IIQQQQII")
    while at < len(data):
        magic, op, dev, ino, offset, n, n1, n2 = head.unpack_from(data, at)
        if magic != MAGIC:
            sys.exit(f"{path}: no record at byte {at}")
        at += head.size
        path1 = data[at:at + n1].decode("utf-8", "surrogateescape")
        path2 = data[at + n1:at + n1 + n2].decode("utf-8", "surrogateescape")
        at += n1 + n2
        piece = b""
        if op == WRITE:
            piece = data[at:at + n]
            at += n
        yield op, (dev, ino), offset, n, path1, path2, piece


class Tree:
    def __init__(self, root, base):
        self.prefix = os.path.normpath(root)
        self.root = Folder()
        self.files = {}
        if base:
            seen = {}
            self.load(self.root, base, seen)

    def load(self, folder, path, seen):
        for entry in sorted(os.scandir(path), key=lambda e: e.name):
            if entry.is_symlink():
                made = Link(os.readlink(entry.path))
            elif entry.is_dir():
                made = Folder()
                self.load(made, entry.path, seen)
            else:
                st = entry.stat()
                made = seen.get((st.st_dev, st.st_ino))
                if made is None:
                    made = seen[(st.st_dev, st.st_ino)] = File(open(entry.path, "rb").read())
            folder.names[entry.name] = made
        folder.durable = dict(folder.names)

    def split(self, path):
        """Folder and last name, or None for a path outside of the root; ("", root) for the root itself."""
        path = os.path.normpath(path)
        if path == self.prefix:
            return self.root, None
        if not path.startswith(self.prefix + "/"):
            return None
        parts = path[len(self.prefix) + 1:].split("/")
        folder = self.root
        for part in parts[:-1]:
            folder = folder.names[part]
        return folder, parts[-1]

    def apply(self, op, ino, offset, n, path1, path2, piece):
        if op == WRITE:
            if ino in self.files:
                data = self.files[ino].data
                if len(data) < offset:
                    data.extend(bytes(offset - len(data)))
                data[offset:offset + len(piece)] = piece
            return
        if op == SYNC:
            if ino in self.files:
                self.files[ino].durable = bytes(self.files[ino].data)
            return
        place = self.split(path2 if op == SYMLINK else path1)
        if place is None:
            return
        folder, name = place
        if op == OPEN:
            if name not in folder.names:
                folder.names[name] = File()
            elif n & os.O_TRUNC:
                folder.names[name].data = bytearray()
            self.files[ino] = folder.names[name]
        elif op == SYNC_DIR:
            target = folder if name is None else folder.names[name]
            target.durable = dict(target.names)
        elif op == LINK:
            to, new = self.split(path2)
            to.names[new] = folder.names[name]
        elif op in (UNLINK, RMDIR):
            del folder.names[name]
        elif op == MKDIR:
            folder.names[name] = Folder()
        elif op in (RENAME, RENAME_NEW):
            to, new = self.split(path2)
            if to.names.get(new) is not folder.names[name]:
                to.names[new] = folder.names.pop(name)
        elif op == SYMLINK:
            folder.names[name] = Link(path1)
        else:
            sys.exit(f"unknown operation {op}")

    def write(self, out, mode, safe=None):
        os.makedirs(out)
        self.write_folder(self.root, out, mode, {}, safe)

    def write_folder(self, folder, out, mode, made, safe=None):
        if safe is not None and safe in folder.names:
            os.mkdir(os.path.join(out, safe))
            self.write_folder(folder.names[safe], os.path.join(out, safe), "all", made)
        for name, node in (folder.durable if mode == "lost" else folder.names).items():
            path = os.path.join(out, name)
            if name == safe:
                continue
            if isinstance(node, Folder):
                os.mkdir(path)
                self.write_folder(node, path, mode, made)
            elif isinstance(node, Link):
                os.symlink(node.target, path)
            elif id(node) in made:
                os.link(made[id(node)], path)
            else:
                with open(path, "wb") as file:
                    file.write(node.data if mode == "all" else node.durable)
                made[id(node)] = path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("log")
    parser.add_argument("root")
    parser.add_argument("out")
    parser.add_argument("--base")
    parser.add_argument("--prefix", type=int)
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--safe")
    a = parser.parse_args()
    tree = Tree(a.root, a.base)
    ops = list(records(a.log))
    modes = (a.mode,) if a.mode else MODES
    for k in range(len(ops) + 1):
        if k > 0:
            tree.apply(*ops[k - 1])
        if a.prefix is None or a.prefix == k:
            for mode in modes:
                tree.write(os.path.join(a.out, f"{k}-{mode}"), mode, a.safe)
    print(len(ops))


main()

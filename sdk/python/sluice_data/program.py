"""Where the program is, and how a command of it is run."""

import json
import os
import shutil
import signal
import subprocess
import sys

from .errors import SluiceError, error_of

_HERE = os.path.dirname(os.path.abspath(__file__))
INSTALLED = os.path.join(_HERE, "installed")  # an installation, in a wheel
LIBRARIES = os.path.join(_HERE, "libraries")  # what it is linked to


def program():
    """Path of the program: SLUICE_PROGRAM, else the wheel's own, else the one on PATH."""
    named = os.environ.get("SLUICE_PROGRAM")
    own = os.path.join(INSTALLED, "bin", "sluice")
    found = named or (own if os.path.exists(own) else shutil.which("sluice"))
    if not found:
        raise SluiceError("the program `sluice` is not here: install the wheel that `make wheel` builds, or name it in SLUICE_PROGRAM", 2)
    return found


def environment():
    """The environment of the program: the wheel's libraries come first."""
    env = dict(os.environ)
    if not env.get("SLUICE_PROGRAM") and os.path.isdir(LIBRARIES):
        before = env.get("LD_LIBRARY_PATH")
        env["LD_LIBRARY_PATH"] = LIBRARIES + (os.pathsep + before if before else "")
    return env


def word(name, value):
    """An argument of a script, `name=value`, as the command line has it: lists by commas, booleans as true and false."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (list, tuple)):
        value = ",".join(os.fspath(v) if isinstance(v, os.PathLike) else str(v) for v in value)
    elif isinstance(value, os.PathLike):
        value = os.fspath(value)
    return f"{name}={value}"


def option_words(**options):
    """Options of a command: None is left out, True is the option alone, a list repeats it."""
    words = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [flag] if one is True else [flag, os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    return words


def start(words, cwd=None):
    """A process of the program; what it prints is read by the caller."""
    return subprocess.Popen([program(), *words], cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace")


def stop(process):
    """Asks it to stop as Ctrl-C does, and waits."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    return process.communicate()


def said(text):
    """The message among what a command with --json printed on standard error or output."""
    for line in reversed(text.strip().splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and told.get("event") == "error":
            return told.get("message", line)
    return text


def command(*words, cwd=None):
    """Runs `sluice WORDS…` and gives what it printed on standard output. Raises SluiceError."""
    process = start([str(w) for w in words], cwd)
    try:
        out, err = process.communicate()
    except BaseException:
        stop(process)
        raise
    if process.returncode != 0:
        raise error_of(process.returncode, said(err or out))
    return out


def objects(*words, cwd=None):
    """The same of a command with --json: its lines, each an object."""
    return [json.loads(line) for line in command(*words, cwd=cwd).splitlines() if line.startswith("{")]


def version():
    """The program's first line of `--version`."""
    return command("--version").splitlines()[0]


def main():
    """The console script `sluice`: the program in place of this process."""
    path = program()
    os.execve(path, [path, *sys.argv[1:]], environment())

"""What the program ends with, as exceptions: its exit status decides the class, its message is the text."""

import importlib


class SluiceError(RuntimeError):
    """A command failed. `status`: its exit status; `message`: what it said, with the place and what to do."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.message = message
        self.status = status


class ConfigError(SluiceError):
    """Status 2: the script, an option, a column or an argument is wrong."""


class Halted(SluiceError):
    """Status 3: a gate, a contract or a policy halted the run; nothing was published."""


class DataError(SluiceError):
    """Status 4: the input is damaged, or too much of it is in quarantine."""


class ResourceError(SluiceError):
    """Status 5: memory, disk or a file system."""


class Interrupted(SluiceError):
    """Status 130: it was asked to stop; the same call goes on from there."""


_CLASSES = {2: ConfigError, 3: Halted, 4: DataError, 5: ResourceError, 130: Interrupted}


def error_of(status, message):
    """The exception for an exit status."""
    text = message.strip()
    if text.startswith("sluice: "):
        text = text[len("sluice: "):]
    return _CLASSES.get(status, SluiceError)(text or f"sluice ended with status {status} and said nothing", status)


def needed(package, what):
    """The package, which only some calls need; ImportError that says which, and what to do, where it is not installed."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # it is there, and does without something itself
        raise ImportError(f"{what} needs {package}, which is not installed: pip install {package}", name=package) from None

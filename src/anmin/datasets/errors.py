"""What can be wrong with a data set: it is not there, or it is not what it should be."""


class DatasetError(Exception):
    """A data set cannot be used; the message says what to do.

    >>> issubclass(DatasetMissingError, DatasetError), issubclass(DatasetDamagedError, DatasetError)
    (True, True)
    """


class DatasetMissingError(DatasetError, FileNotFoundError):
    """The files are not here, and could not be had."""


class DatasetDamagedError(DatasetError, ValueError):
    """A file is here, but it is not the data set, or not all of it."""


class DatasetWarning(UserWarning):
    """A file of the right shape whose content is not the published one."""

"""Compressed data and archives, recognised by their first bytes, and how to go on.

No signature is a text that somebody may write, such as a label called LZIP.
"""

_READ = {
    b"\x1f\x8b": ("gzip", ".gz"),
    **{b"BZh%d1AY&SY" % level: ("bzip2", ".bz2") for level in range(1, 10)},
    b"\xfd7zXZ": ("xz", ".xz"),
}
_OTHERS = {
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc"),
    b"PK\x03\x04": ("zip", "unzip -p, or export a spreadsheet as CSV"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -dc"),
    b"7z\xbc\xaf": ("7z", "7z x -so"),
    b"LZIP\x01": ("lzip", "lzip -dc"),
    b"\x1f\x9d": ("compress", "gzip -dc"),
    b"\x5d\x00\x00": ("lzma", "xz -dc"),
}
_TAR, _TAR_PLACE = (b"ustar\0", b"ustar  \0"), 257


def problem_of(beginning: bytes) -> str | None:
    """Return what is wrong with data that begin so, and what to do; None if they are neither compressed nor an archive.

    Examples
    --------
    >>> problem_of(b"LZIP\x01...")
    'this is lzip data, which is not read; decompress it first: lzip -dc'
    >>> problem_of(b"3,7 1:0.5")
    """
    for signature, (name, suffix) in _READ.items():
        if beginning.startswith(signature):
            return f"this is {name} data; decompress it first ({name} -dc), or give a file whose name ends in {suffix}"
    for signature, (name, command) in _OTHERS.items():
        if beginning.startswith(signature):
            return f"this is {name} data, which is not read; decompress it first: {command}"
    if beginning.startswith(_TAR, _TAR_PLACE):
        return "this is a tar archive; extract the files from it first: tar -xf"
    return None

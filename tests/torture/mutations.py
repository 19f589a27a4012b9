"""Ways to damage a file: its bytes, its lines and cells, its archive, or the JSON that describes it."""

import gzip
import hashlib
import io
import json
import zipfile
from contextlib import suppress
from functools import cache

import numpy as np

#: what a cell may hold instead of what belongs there
CELLS = (
    b"nan", b"inf", b"-inf", b"NaN", b"1e308", b"-1e308", b"1e400", b"1e-320", b"1e160", b"-0", b"0", b"-1",
    b"1e6", b"0.5", b"2147483647", b"2147483648", b"4294967296", b"9223372036854775807", b"1_000", b"0x10",
    b"9223372036854775808", b"99999999999999999999", b"9" * 5000, b"1" * 300, b"1,1", b"1:1", b":", b"1:",
    b"=", b"a=", b"a=1", b"x=nan", b"-", b"_", b"#", b"?", b'"', b"'", b"\\", b"0-0", b"0-99999999", b"1-2",
    b"2.1", b"\xd9\xa1\xd9\xa2", b"\xc2\xb2", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xc2\x85",
    b"\xf0\x9f\x98\x80", b"e\xcc\x81" * 50, b"word " * 300, b"B-", b"I-NP", b"B-\x1b[31m", b"<script>",
    b"%s", b"{}", b"../..",
)  # fmt: skip
#: bytes that do not belong into text at all
BYTES = (
    b"\x00", b"\x07", b"\x1b[2J", b"\x1b]0;title\x07", b"\r", b"\x0b", b"\x0c", b"\x1c", b"\x7f", b"\x85",
    b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf8\x88\x80\x80\x80", b"\xc0\x80",
)  # fmt: skip
#: what JSON may hold instead of what belongs there
VALUES = (
    None, True, False, 0, -1, 1, 2, 3, 7, 10**8, 2**31, 2**63, 10**30, -(2**63), 0.5, -1.5, 1e308,
    float("nan"), float("inf"), "", "x", "nan", "\x1b[31m\x00", "x" * 5000, [], {}, [[]], [None], [1e308],
    {"x": 1}, {"array": []}, {"array": [1], "dtype": "O", "shape": [1]},
    {"array": [1], "dtype": "<f8", "shape": [10**9]}, {"array": ["a"], "dtype": "<U100000000", "shape": [1]},
    {"tuple": 3}, {"pairs": [[1]]}, {"pairs": 3}, {"record": "os:system", "fields": {}},
    {"record": "builtins:tuple", "fields": {}}, {"csr": [1, 2, 3], "shape": [1]},
)  # fmt: skip
BOMB_BYTES = 1 << 27


def damaged(rng, data):
    """The file after one to three random mutations of its bytes, lines or cells."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(MUTATIONS)(rng, data)
    return data


def _flip(rng, data):
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _slice(rng, data, longest=200):
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.randrange(longest))


def _truncate(rng, data):
    return data[: rng.randrange(len(data) + 1)]


def _cut_out(rng, data):
    begin, end = _slice(rng, data)
    return data[:begin] + data[end:]


def _repeat(rng, data):
    begin, end = _slice(rng, data)
    return data[:end] + data[begin:end] * rng.choice((1, 2, 50)) + data[end:]


def _insert(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(CELLS + BYTES) + data[at:]


def _cell(rng, data):
    """One cell replaced by another, dropped, or written twice."""
    lines = data.split(b"\n")
    k = rng.randrange(len(lines))
    separator = next((s for s in (b"\t", b",", b" ", b":") if s in lines[k]), b" ")
    cells = lines[k].split(separator)
    j = rng.randrange(len(cells))
    cells[j : j + 1] = rng.choice(([rng.choice(CELLS)], [cells[j] + rng.choice(CELLS)], [], [cells[j]] * 2))
    lines[k] = separator.join(cells)
    return b"\n".join(lines)


def _value(rng, data):
    """The value of an entry index:value or name=value, or its index."""
    marks = [k for k in range(len(data)) if data[k : k + 1] in b":=-"]
    if not marks:
        return _cell(rng, data)
    at = rng.choice(marks)
    blank = [k for k in range(len(data)) if data[k : k + 1] in b" \t\n,"]
    before = max([k + 1 for k in blank if k < at], default=0)
    after = min([k for k in blank if k > at], default=len(data))
    if rng.random() < 0.5:
        return data[: at + 1] + rng.choice(CELLS) + data[after:]
    return data[:before] + rng.choice(CELLS) + data[at:]


def _lines(rng, data):
    """A line dropped, written often, exchanged with another, or emptied."""
    lines = data.split(b"\n")
    k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[k]
    elif kind == 1:
        lines[k:k] = [lines[k]] * rng.choice((1, 3, 300))
    elif kind == 2:
        lines[k], lines[j] = lines[j], lines[k]
    else:
        lines[k] = rng.choice((b"", b" ", b"\t", b"#", b"\t\t", b",,,"))
    return b"\n".join(lines)


def _separators(rng, data):
    old, new = rng.choice(
        ((b" ", b"\t"), (b"\t", b" "), (b",", b"\t"), (b",", b";"), (b"\n", b"\r\n"), (b"\n", b"\r"),
         (b"\n\n", b"\n"), (b"\n", b"\n\n"), (b" ", b"  "), (b" ", b"\xc2\xa0"), (b"\n", b""), (b" ", b""))
    )  # fmt: skip
    return data.replace(old, new, rng.choice((1, 3, -1)))


def _other(rng, data):
    """Nothing, marks, a very long line or very many, another encoding."""
    kind = rng.randrange(9)
    if kind == 0:
        return b""
    if kind == 1:
        return b"\xef\xbb\xbf" + data
    if kind == 2:
        return rng.choice((b"\n", b" ", b"\t\n", b"\x00" * 50, b"\n" * 5000, b"#\n"))
    if kind == 3:
        return data + rng.choice((*CELLS, b"x", b" ")) * (200_000 // rng.choice((1, 10)) // 10)
    if kind == 4:
        return data.decode("utf-8", "replace").encode("utf-16")
    if kind == 5:
        return data.decode("utf-8", "replace").encode("latin-1", "replace")
    if kind == 6:
        return rng.randbytes(rng.choice((1, 10, 1000)))
    if kind == 7:
        return data.rstrip() + b" " + data.replace(b"\n", b" ")
    return data * rng.choice((2, 20))


MUTATIONS = (
    _flip, _truncate, _cut_out, _repeat, _insert, _insert, _cell, _cell, _cell, _value, _value, _lines,
    _lines, _separators, _other,
)  # fmt: skip


# ---- archives --------------------------------------------------------------------------------------


def archived(rng, data):
    """The file as .gz: damaged within, damaged without, or a bomb."""
    kind = rng.randrange(4)
    if kind == 0:
        return _zipped(damaged(rng, data))
    if kind == 1:
        return _flip(rng, _zipped(data))
    if kind == 2:
        return _truncate(rng, _zipped(data) + rng.choice((b"", b"x" * 20)))
    return _zipped(data) + _bomb(rng.choice((b"\x00", b"\n", b" ", b"1 1:1\n", b"a b\n")))


@cache
def _bomb(filler):
    return _zipped(filler * (BOMB_BYTES // len(filler)))


def _zipped(data):
    return gzip.compress(data, mtime=0)


def npz(rng, arrays):
    """Arrays as .npz: one of them changed in content, type or shape; or its archive damaged."""
    arrays = dict(arrays)
    name = rng.choice(sorted(arrays))
    kind = rng.randrange(8)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = _changed_array(rng, arrays[name])
    elif kind == 2:
        arrays[name] = arrays[name].reshape(rng.choice(((-1,), (1, -1), (-1, 1), (1, 1, -1))))
    elif kind == 3:
        odd = ("<U3", "f4", "i1", "u8", "c16", "?", "M8[s]", "S5", ">f8")
        arrays[name] = arrays[name].astype(rng.choice(odd))
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    found = content.getvalue()
    if kind == 4:
        return damaged(rng, found)
    if kind == 5:
        return _with_bomb(name, found)
    return _with_members(rng, found) if kind == 6 else found


def _changed_array(rng, array):
    array = array.copy()
    for _ in range(rng.choice((1, 1, 3))):
        at = tuple(rng.randrange(n) for n in array.shape)
        odd = (0, -1, 1, 2, 10**6, 2**31, 2**62)
        array[at] = rng.choice((*odd, float("nan"), 1e308, -1e308) if array.dtype.kind == "f" else odd)
    return array[: rng.randrange(len(array) + 1)] if array.ndim and rng.random() < 0.3 else array


def _with_members(rng, content):
    """Its members with headers changed, added, or twice."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, _twisted_npy(rng, old.read(name)))
        new.writestr(rng.choice(("x.npy", "x.txt", "../x.npy")), rng.choice((b"", b"\x93NUMPY", b"x" * 50)))
    return made.getvalue()


def _twisted_npy(rng, data):
    shapes = (b"(99999999999, 3)", b"(-1, 3)", b"(10**9,)", b"()", b"[", b"(3.5,)", b"'x'", b"(0, 99999)")
    begin = data.find(b"'shape': ")
    if begin < 0 or rng.random() < 0.4:
        return damaged(rng, data) if rng.random() < 0.5 else data
    end = data.index(b")", begin) + 1
    return data[: begin + 9] + rng.choice(shapes).ljust(end - begin - 9) + data[end:]


@cache
def _with_bomb(name, content):
    """One member holds half a gigabyte of zeros, in half a megabyte."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for one in old.namelist():
            if one != f"{name}.npy":
                new.writestr(one, old.read(one))
        with new.open(f"{name}.npy", "w", force_zip64=True) as member:
            header = {"descr": "<f8", "fortran_order": False, "shape": (4 * BOMB_BYTES // 16, 2)}
            np.lib.format.write_array_header_1_0(member, header)
            for _ in range(4):
                member.write(bytes(BOMB_BYTES))
    return made.getvalue()


# ---- JSON ------------------------------------------------------------------------------------------


def twisted(rng, tree):
    """A JSON tree after one to three changes: another value, a key dropped or added, a list cut or grown."""
    tree = json.loads(json.dumps(tree))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        tree = _twist(rng, tree)
    return tree


def _twist(rng, tree):
    holders = list(_holders(tree))
    if not holders:
        return rng.choice(VALUES)
    holder = rng.choice(holders)
    key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    old, kind = holder[key], rng.randrange(9)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice(("x", "", "__class__", "\x1b[1m"))] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder[key:key] = [old] * rng.choice((1, 100))
    elif kind == 3 and isinstance(old, int | float):
        holder[key] = rng.choice((old + 1, old - 1, -old, old * 10**6, str(old)))
    elif kind == 4 and isinstance(old, str):
        holder[key] = rng.choice((old + "x", old[:-1], old.upper(), old * 1000))
    elif kind == 5:  # what stands elsewhere
        other = rng.choice(holders)
        holder[key] = json.loads(
            json.dumps(rng.choice(list(other.values() if isinstance(other, dict) else other)))
        )
    else:
        holder[key] = rng.choice(VALUES)
    return tree


def _holders(tree):
    if isinstance(tree, dict | list) and tree:
        yield tree
        for one in tree.values() if isinstance(tree, dict) else tree:
            yield from _holders(one)


def tensors(rng, data):
    """A safetensors file: bytes damaged, its header or the notes in it twisted, or its numbers changed.

    Mostly its hashes are made right again, or it becomes a file of the formats that have none, so that what
    is behind them is tried, too.
    """
    kind = rng.randrange(10)
    if kind < 2:
        return damaged(rng, data)
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    if kind == 2:
        deep = "[" * 100_000 if rng.random() < 0.5 else '{"a":' * 100_000
        return len(deep).to_bytes(8, "little") + deep.encode() + body
    if kind == 3:
        header = twisted(rng, header)
    elif kind < 6:
        body = _changed_numbers(rng, body)
    else:
        metadata = header["__metadata__"]
        metadata["structlearn"] = _twisted_text(rng, metadata["structlearn"])
    return joined(_hashed(rng, header, body), body)


def _twisted_text(rng, text):
    if rng.random() < 0.2:
        return rng.choice(("[" * 100_000, "", "null", "3", "[]", "{}", "NaN", text[:-3]))
    return json.dumps(twisted(rng, json.loads(text)))


def _hashed(rng, header, body):
    """The header with hashes that are right, with none, or as it is."""
    kind = rng.randrange(10)
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if kind == 0 or not isinstance(metadata, dict) or not isinstance(metadata.get("structlearn"), str):
        return header
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    if kind < 4:
        notes = metadata["structlearn"].replace('"version": 3', '"version": 2', 1)
        return {"__metadata__": {"structlearn": notes}, **entries}
    with suppress(KeyError, TypeError, ValueError):  # an entry is none any more
        parts = {name: body[slice(*entry["data_offsets"])] for name, entry in entries.items()}
        said = {**metadata, "hashes": json.dumps({name: _hash(part) for name, part in parts.items()})}
        whole = json.dumps([said["structlearn"], said["hashes"], entries], sort_keys=True)
        return {"__metadata__": {**said, "hash": _hash(whole.encode())}, **entries}
    return header


def _hash(data):
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def joined(header, body):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def _changed_numbers(rng, body):
    """Eight bytes become another number, or all of them do."""
    odd = (float("nan"), float("inf"), 1e308, -1.0, 0.0, np.int64(-1), np.int64(10**6), np.int64(2**62))
    number = np.asarray(rng.choice(odd)).tobytes()
    if rng.random() < 0.2:
        return number * (len(body) // 8) + body[len(body) // 8 * 8 :]
    at = rng.randrange(max(len(body) // 8, 1)) * 8
    return (body[:at] + number + body[at + 8 :])[: len(body)]


def packed(rng, folder):
    """A packed folder, in place: a file is damaged, missing or, with all hashes right, of other content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice(files)
    kind = rng.randrange(6)
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.write_bytes(damaged(rng, path.read_bytes()))
    else:
        top = path.parent
        header = json.loads((top / "header.json").read_text())
        del header["sha256"]
        if kind < 4:
            header = twisted(rng, header)
        if path.suffix == ".bin" and kind != 3:
            path.write_bytes(_changed_numbers(rng, path.read_bytes()))
        _hash_again(header, top)


def _hash_again(header, top):
    entries = header.get("arrays") if isinstance(header, dict) else None
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        file = top / f"{name}.bin"
        if isinstance(entry, dict) and "\0" not in name and len(name) < 99 and file.is_file():
            entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    if isinstance(header, dict):
        header["sha256"] = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()
    (top / "header.json").write_text(json.dumps(header))

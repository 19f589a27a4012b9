"""Model files, changed after they were written."""

import json

from safetensors import safe_open
from safetensors.numpy import save_file

from structlearn.storage.tensors import write_tensors


def contents(path):
    """The header and the arrays as they are stored, read by the library safetensors."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["structlearn"])
        return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def rewrite(path, change, version=3):
    """Change a model file so that its hashes are right again or, in format 2, that there are none."""
    header, tensors = contents(path)
    change(header, tensors)
    if version == 2:
        if header.get("version") == 3:
            header["version"] = 2
        save_file(tensors, path, metadata={"structlearn": json.dumps(header)})
    else:
        write_tensors(path, tensors, header)

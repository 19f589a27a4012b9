"""What the manifest says is what the wheel is for. `build.py` puts the manifest and the kernels here."""

import json
from pathlib import Path

from setuptools import setup

PACKAGE = "structlearn_kernels"
built = json.loads(Path(PACKAGE, "manifest.json").read_text())

setup(
    version=built["structlearn"],
    install_requires=[f"{name}=={built[name]}" for name in ("structlearn", "numba", "llvmlite")],
    python_requires=f"=={built['python']}.*",
    packages=[PACKAGE],
    package_data={PACKAGE: ["manifest.json", "kernels/*/*"]},
    options={
        "bdist_wheel": {"python_tag": "cp" + built["python"].replace(".", ""), "plat_name": "linux_x86_64"}
    },
)

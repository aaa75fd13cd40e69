"""The script that installs what tests start says what is missing where it cannot install it."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "servers.sh"


def test_nothing_is_done_when_all_is_there() -> None:
    """A second run is quick and says nothing."""
    subprocess.run([SCRIPT], check=True, capture_output=True)
    began = time.monotonic()
    again = subprocess.run([SCRIPT], check=True, capture_output=True)

    assert (again.stdout, again.stderr) == (b"", b"")
    assert time.monotonic() - began < 1


def test_without_a_package_manager_it_names_what_to_install(tmp_path: Path) -> None:
    """Where neither Debian's packages nor root are to be had, the packages are named and nothing is touched."""
    copy = tmp_path / "tools" / "servers.sh"
    copy.parent.mkdir()
    # The script looks in the system's folders of its own accord; here there are none.
    copy.write_text(SCRIPT.read_text(encoding="utf-8").replace(":/usr/sbin:/sbin", ""), encoding="utf-8")
    copy.chmod(0o755)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "dirname", "tr", "sort", "xargs", "id", "echo"):
        (programs / name).symlink_to(str(shutil.which(name)))
    bash = shutil.which("bash")
    answer = subprocess.run([str(bash), copy], env={"PATH": str(programs)}, capture_output=True, check=False, text=True)

    assert answer.returncode == 1
    assert (
        "apt-get install ceph-common ceph-mon ceph-osd chromium npm openssh-client openssh-server radosgw"
        in answer.stderr
    )
    assert not (tmp_path / ".servers").exists()

"""What it was measured on."""
import os
import platform
import re
import subprocess

from .place import BUILD, HERE, LIMIT_S, SEEN


def first(path, pattern):
    """What the pattern's group finds in a file, or "unknown"."""
    try:
        with open(path, encoding="utf-8") as file:
            match = re.search(pattern, file.read(), re.M)
        return match.group(1).strip() if match else "unknown"
    except OSError:
        return "unknown"


def said(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def describe(folder):
    """A dict of what a reader needs to judge the figures.  folder: where the files are."""
    return {
        "kernel": platform.release(), "architecture": platform.machine(),
        "cpu": first("/proc/cpuinfo", r"^model name\s*: (.*)$"), "cores": len(os.sched_getaffinity(0)),
        "virtual": "hypervisor" in first("/proc/cpuinfo", r"^flags\s*: (.*)$").split(),
        "memory_kb": int(first("/proc/meminfo", r"^MemTotal:\s*(\d+)")),
        "system": first("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'), "libc": " ".join(platform.libc_ver()),
        "file_system": said(["stat", "-f", "-c", "%T", folder]),
        "build_type": first(os.path.join(BUILD, "CMakeCache.txt"), r"^CMAKE_BUILD_TYPE:\w+=(.*)$"),
        "seen": said([SEEN, "--version"]),
        "commit": said(["git", "-C", HERE, "describe", "--always", "--dirty"]),
        "load_at_start": os.getloadavg()[0],
    }

"""What it was measured on, and how busy that was."""
import os
import platform
import re
import subprocess
import time

from .figures import BUSY_PER_CORE
from .place import BUILD, HERE, LIMIT_S, SEEN

WAIT_S = 120  # for a load to go down


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


def wait_until_idle(report):
    """Waits until the load is what an idle machine has, two minutes at most.  told(text) is called each second."""
    most = BUSY_PER_CORE * len(os.sched_getaffinity(0))
    for second in range(WAIT_S):
        if os.getloadavg()[0] <= most:
            break
        report("load %.2f: waiting, %d s at most" % (os.getloadavg()[0], WAIT_S - second))
        time.sleep(1)


def kernel_threads_s():
    """Processor seconds of the kernel's threads: much of it is writing back what was measured."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="ascii", errors="replace") as file:
                words = file.read().rsplit(")", 1)[1].split()  # from the state on
        except (OSError, IndexError):
            continue  # it has ended
        if words[1] == "2":  # the parent of all of them
            ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Busy:
    """What others use of the processors from now on."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        """(seconds, processor seconds of all programs, of the kernel's threads, stolen by the host, of this process and those that it
        waited for)"""
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, _, _, steal = (int(word) for word in file.readline().split()[1:9])
        own = os.times()
        tick = os.sysconf("SC_CLK_TCK")
        return time.monotonic(), (user + nice + system) / tick, kernel_threads_s(), steal / tick, sum(own[:4])

    def so_far(self):
        """(processors in use by others, processors that the host took), means since the start."""
        seconds, used, threads, stolen, own = (b - a for a, b in zip(self.start, self.now()))
        return max(0.0, (used - max(0.0, threads) - own) / max(seconds, 1e-9)), stolen / max(seconds, 1e-9)


def describe(directory):
    """A dict of what a reader needs to judge the figures.  directory: where the files are."""
    return {
        "kernel": platform.release(), "architecture": platform.machine(),
        "cpu": first("/proc/cpuinfo", r"^model name\s*: (.*)$"), "cores": len(os.sched_getaffinity(0)),
        "virtual": "hypervisor" in first("/proc/cpuinfo", r"^flags\s*: (.*)$").split(),
        "memory_kb": int(first("/proc/meminfo", r"^MemTotal:\s*(\d+)")),
        "system": first("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'), "libc": " ".join(platform.libc_ver()),
        "file_system": said(["stat", "-f", "-c", "%T", directory]),
        "build_type": first(os.path.join(BUILD, "CMakeCache.txt"), r"^CMAKE_BUILD_TYPE:\w+=(.*)$"),
        "seen": said([SEEN, "--version"]),
        "commit": said(["git", "-C", HERE, "describe", "--always", "--dirty", "--exclude", "*"]),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load_at_start": os.getloadavg()[0],
    }

"""Interpreters that read very many modules: Python's standard library, Node with packages, npm."""
import os
import shutil
import sys

from . import ways as all_ways
from .place import Failed, write_file
from .works import Spawn

# Modules of Python's standard library that are in 3.11 to 3.13 on Linux, and whose import does nothing else: no window, no browser, no terminal.
MODULES = """
abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 cProfile calendar cmath cmd code codecs codeop collections colorsys
compileall concurrent configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis doctest email encodings
enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip
hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging lzma mailbox marshal math
mimetypes mmap modulefinder multiprocessing netrc ntpath numbers opcode operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib
poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pyexpat queue quopri random re reprlib resource runpy sched secrets
select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct subprocess symtable
sys sysconfig syslog tabnanny tarfile tempfile termios textwrap threading time timeit token tokenize tomllib trace traceback tracemalloc tty types
typing unicodedata unittest urllib uuid warnings wave weakref webbrowser wsgiref xml xmlrpc zipfile zipimport zlib zoneinfo asyncio.base_events
asyncio.base_futures asyncio.base_subprocess asyncio.base_tasks asyncio.constants asyncio.coroutines asyncio.events asyncio.exceptions
asyncio.format_helpers asyncio.futures asyncio.locks asyncio.log asyncio.mixins asyncio.proactor_events asyncio.protocols asyncio.queues
asyncio.runners asyncio.selector_events asyncio.sslproto asyncio.staggered asyncio.streams asyncio.subprocess asyncio.taskgroups asyncio.tasks
asyncio.threads asyncio.timeouts asyncio.transports asyncio.trsock asyncio.unix_events collections.abc concurrent.futures ctypes.util ctypes.wintypes
email.base64mime email.charset email.contentmanager email.encoders email.errors email.feedparser email.generator email.header email.headerregistry
email.iterators email.message email.mime email.parser email.policy email.quoprimime email.utils encodings.aliases encodings.ascii
encodings.base64_codec encodings.big5 encodings.big5hkscs encodings.bz2_codec encodings.charmap encodings.cp037 encodings.cp1006 encodings.cp1026
encodings.cp1125 encodings.cp1140 encodings.cp1250 encodings.cp1251 encodings.cp1252 encodings.cp1253 encodings.cp1254 encodings.cp1255
encodings.cp1256 encodings.cp1257 encodings.cp1258 encodings.cp273 encodings.cp424 encodings.cp437 encodings.cp500 encodings.cp720 encodings.cp737
encodings.cp775 encodings.cp850 encodings.cp852 encodings.cp855 encodings.cp856 encodings.cp857 encodings.cp858 encodings.cp860 encodings.cp861
encodings.cp862 encodings.cp863 encodings.cp864 encodings.cp865 encodings.cp866 encodings.cp869 encodings.cp874 encodings.cp875 encodings.cp932
encodings.cp949 encodings.cp950 encodings.euc_jis_2004 encodings.euc_jisx0213 encodings.euc_jp encodings.euc_kr encodings.gb18030 encodings.gb2312
encodings.gbk encodings.hex_codec encodings.hp_roman8 encodings.hz encodings.idna encodings.iso2022_jp encodings.iso2022_jp_1 encodings.iso2022_jp_2
encodings.iso2022_jp_2004 encodings.iso2022_jp_3 encodings.iso2022_jp_ext encodings.iso2022_kr encodings.iso8859_1 encodings.iso8859_10
encodings.iso8859_11 encodings.iso8859_13 encodings.iso8859_14 encodings.iso8859_15 encodings.iso8859_16 encodings.iso8859_2 encodings.iso8859_3
encodings.iso8859_4 encodings.iso8859_5 encodings.iso8859_6 encodings.iso8859_7 encodings.iso8859_8 encodings.iso8859_9 encodings.johab
encodings.koi8_r encodings.koi8_t encodings.koi8_u encodings.kz1048 encodings.latin_1 encodings.mac_arabic encodings.mac_croatian
encodings.mac_cyrillic encodings.mac_farsi encodings.mac_greek encodings.mac_iceland encodings.mac_latin2 encodings.mac_roman encodings.mac_romanian
encodings.mac_turkish encodings.palmos encodings.ptcp154 encodings.punycode encodings.quopri_codec encodings.raw_unicode_escape encodings.rot_13
encodings.shift_jis encodings.shift_jis_2004 encodings.shift_jisx0213 encodings.tis_620 encodings.undefined encodings.unicode_escape encodings.utf_16
encodings.utf_16_be encodings.utf_16_le encodings.utf_32 encodings.utf_32_be encodings.utf_32_le encodings.utf_7 encodings.utf_8 encodings.utf_8_sig
encodings.uu_codec encodings.zlib_codec html.entities html.parser http.client http.cookiejar http.cookies http.server importlib.abc
importlib.machinery importlib.metadata importlib.readers importlib.resources importlib.simple importlib.util json.decoder json.encoder json.scanner
json.tool logging.config logging.handlers multiprocessing.connection multiprocessing.context multiprocessing.dummy multiprocessing.forkserver
multiprocessing.heap multiprocessing.managers multiprocessing.pool multiprocessing.popen_fork multiprocessing.popen_forkserver
multiprocessing.popen_spawn_posix multiprocessing.process multiprocessing.queues multiprocessing.reduction multiprocessing.resource_sharer
multiprocessing.resource_tracker multiprocessing.shared_memory multiprocessing.sharedctypes multiprocessing.spawn multiprocessing.synchronize
multiprocessing.util sqlite3.dbapi2 sqlite3.dump unittest.async_case unittest.case unittest.loader unittest.main unittest.mock unittest.result
unittest.runner unittest.signals unittest.suite unittest.util urllib.error urllib.parse urllib.request urllib.response urllib.robotparser
wsgiref.handlers wsgiref.headers wsgiref.simple_server wsgiref.types wsgiref.util wsgiref.validate xml.dom xml.etree xml.parsers xml.sax xmlrpc.client
xmlrpc.server
""".split()

IMPORT = """import importlib, sys
names = open(sys.argv[1], encoding="ascii").read().split()
for name in names:
    importlib.import_module(name)
print(sum(name in sys.modules for name in names), "modules, the last is", sys.modules[names[-1]].__name__)
"""


class PythonImports(Spawn):
    """The interpreter is the one that runs the bench, without what its environment and its site add."""

    def __init__(self, place):
        names = MODULES[:40] if place.quick else MODULES
        self.names, self.directory = names, os.path.join(place.work, "python")
        self.about = "%s, isolated (-I)." % sys.version.split(" ", maxsplit=1)[0]
        super().__init__(place, "tools", "python imports %d modules of its library" % len(names), [
            os.path.realpath(sys.executable), "-I", "-B", os.path.join(self.directory, "imports.py"), os.path.join(self.directory, "names")],
            1, b"%d modules, the last is %s\n" % (len(names), names[-1].encode()), self.directory, ("ms", 1000000), ("tools",), 3, all_ways.EVERY)

    def prepare(self):
        write_file(os.path.join(self.directory, "imports.py"), IMPORT.encode())
        write_file(os.path.join(self.directory, "names"), "\n".join(self.names).encode())

    def clean(self):
        shutil.rmtree(self.directory)


PACKAGE_FILES = 20  # modules of a package


def make_packages(directory, packages):
    """A directory with a package.json and a main.js that require()s all modules of so many packages, which are there as npm puts them."""
    names = ["package-%03d" % i for i in range(packages)]
    depends = ", ".join('"%s": "1.0.0"' % name for name in names)
    write_file(os.path.join(directory, "package.json"), ('{"name": "day", "version": "1.0.0", "private": true, "dependencies": {%s}}\n' % depends).encode())
    write_file(os.path.join(directory, ".npmrc"), b"update-notifier=false\nfund=false\naudit=false\nlogs-max=0\noffline=true\n")
    write_file(os.path.join(directory, "main.js"), (
        "let sum = 0;\nfor (let i = 0; i < %d; i++)\n\tsum += require(`package-${String(i).padStart(3, '0')}`);\n"
        "console.log(sum, Object.keys(require.cache).length - 1);\n" % packages).encode())
    for number, name in enumerate(names):
        package = os.path.join(directory, "node_modules", name)
        write_file(os.path.join(package, "package.json"), b'{"name": "%s", "version": "1.0.0", "main": "index.js"}\n' % name.encode())
        write_file(os.path.join(package, "index.js"), ("let sum = 0;\nfor (let i = 1; i < %d; i++)\n\tsum += require(`./lib/part${i}`).value();\n"
                                                       "module.exports = sum;\n" % PACKAGE_FILES).encode())
        for i in range(1, PACKAGE_FILES):
            write_file(os.path.join(package, "lib/part%d.js" % i), (
                '"use strict";\n\n// Part %d of %s.\nexports.value = () => %d;\n%s' % (
                    i, name, number + i, "exports.helper%d = (a, b) => (a > b ? a - b : b - a);\n" % i * 12)).encode())
    return names


class NodeRequires(Spawn):
    """One process that loads thousands of small modules."""
    programs, share = ("node",), 2.0

    def __init__(self, place):
        packages = 10 if place.quick else 250
        self.packages, self.directory = packages, os.path.join(place.work, "node")
        count = packages * PACKAGE_FILES
        total = sum(number + i for number in range(packages) for i in range(1, PACKAGE_FILES))
        super().__init__(place, "tools", "node requires %s modules" % format(count, ","), ["node", "main.js"], 1, b"%d %d\n" % (total, count),
                         self.directory, ("ms", 1000000), ("tools",), 2, all_ways.EVERY)

    def prepare(self):
        make_packages(self.directory, self.packages)

    def clean(self):
        shutil.rmtree(self.directory)


class NpmLs(Spawn):
    """npm reads every package of a tree."""
    programs, share = ("npm", "node"), 3.0
    about = ("proot is not measured with `npm ls`: below proot 5.1.0 an open by one of node.js's threads fails with EFAULT, so that npm finds "
             "no packages, says that there are none, and exits 0.")

    def __init__(self, place):
        packages = 10 if place.quick else 250
        self.packages, self.directory = packages, os.path.join(place.work, "npm")
        names = ["package-%03d@1.0.0" % i for i in range(packages)]
        shown = "day@1.0.0 %s\n%s`-- %s\n\n" % (self.directory, "".join("+-- %s\n" % name for name in names[:-1]), names[-1])
        super().__init__(place, "tools", "npm ls of %d packages" % packages, ["npm", "ls", "--no-unicode"], 1, shown.encode(), self.directory,
                         ("ms", 1000000), ("tools", "undo tools"), 2, (*(way for way in all_ways.EVERY if way != "proot"), "undo off"))

    def prepare(self):
        made = make_packages(self.directory, self.packages)
        if len(made) != self.packages:
            raise Failed("%d packages of %d" % (len(made), self.packages))

    def clean(self):
        shutil.rmtree(self.directory)


def works(place):
    return [PythonImports(place), NodeRequires(place), NpmLs(place)]

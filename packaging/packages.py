#!/usr/bin/env python3
"""Makes packages of an installed tree: packages.py --tree DIR --static PROGRAM --arch ARCH --version VERSION --output DIR FORMAT...

    --tree DIR        what `cmake --install --prefix /usr` put below DIR/usr, stripped
    --static PROGRAM  the static program, for the formats static and oci
    FORMAT            deb, rpm, tar (relocatable: unpack it anywhere), static (a tarball of the static program), oci (an image)

scripts/package builds the tree and calls this.  The same tree gives the same bytes: times are SOURCE_DATE_EPOCH's.  What a format
needs: dpkg-deb; rpmbuild; tar.  SHA256SUMS has the digests of all packages in the output directory.
"""
import argparse
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
DEBIAN_ARCH = {"x86_64": "amd64", "aarch64": "arm64"}
OCI_ARCH = DEBIAN_ARCH
SUMMARY = "wraps an AI coding agent and records what it reads and changes"
DESCRIPTION = """\
seen runs an unmodified AI coding agent below a library and a supervisor that
record every file access. A repeated read of an unchanged file is answered by
one line, writes over changes that the agent has not seen are warned of, and
what the agent's commands change or destroy can be undone."""
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
MAINTAINER = "{} <{}>".format(os.environ.get("DEBFULLNAME", "The seen authors"), os.environ.get("DEBEMAIL", "seen@packages.debian.org"))


def run(*words, **more):
    subprocess.run([str(word) for word in words], check=True, **more)


def tar(directory, output, *names, transform=()):
    """A gzipped tarball, the same for the same files."""
    with open(output, "wb") as file, subprocess.Popen(
            ["tar", "-C", str(directory), "--format=posix", "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime", "--sort=name",
             f"--mtime=@{EPOCH}", "--owner=0", "--group=0", "--numeric-owner", *transform, "-c", *names], stdout=subprocess.PIPE) as made:
        run("gzip", "-9n", stdin=made.stdout, stdout=file)
    if made.returncode != 0:
        sys.exit("tar failed")


def gzip_file(path, text=None):
    data = path.read_bytes() if text is None else text.encode()
    with open(path.with_name(path.name + ".gz"), "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(data)
    path.unlink(missing_ok=True)


def needed_glibc(tree):
    """The newest version of glibc that a symbol of the program or the library asks for: "2.28"."""
    found = {(2, 0)}
    for path in ("usr/bin/seen", "usr/lib/seen/libseen.so", "usr/lib/seen/seen-demo-agent"):
        text = subprocess.run(["objdump", "-T", tree / path], stdout=subprocess.PIPE, text=True, check=True).stdout
        found |= {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", text)}
    return ".".join(map(str, max(found)))


def libraries(tree):
    """What the program is linked with."""
    text = subprocess.run(["objdump", "-p", tree / "usr/bin/seen"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"NEEDED +(\S+)", text)


def prepare(tree, output):
    """A copy of the tree, with the modes of packages."""
    shutil.copytree(tree, output, symlinks=True)
    for path in (output, *output.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" or path.name == "seen-demo-agent" else 0o644)
    return output


# ---- deb ----

# The packages of the libraries that a build without SEEN_ARCHIVES is linked with.
DEBIAN_LIBRARIES = {"libinih.so.1": "libinih1", "libjansson.so.4": "libjansson4", "libnettle.so.8": "libnettle8"}


def deb(tree, arguments, scratch):
    root = prepare(tree, scratch / "deb")
    share = root / "usr/share"
    documents = share / "doc/seen"
    (share / "zsh/site-functions").rename(share / "zsh/vendor-completions")
    licence = (documents / "LICENSE").read_text()
    (documents / "LICENSE").unlink()
    holder = re.search(r"Copyright \(c\) (.*)", licence)[1]
    terms = "".join(" " + (line or ".") + "\n" for line in licence.split("\n\n", 2)[2].rstrip().split("\n"))
    (documents / "copyright").write_text("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: seen\n\n"
                                         f"Files: *\nCopyright: {holder}\nLicense: Expat\n{terms}")
    (documents / "CHANGELOG.md").rename(documents / "changelog")
    gzip_file(documents / "changelog")
    when = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(EPOCH))
    gzip_file(documents / "changelog.Debian", f"seen ({arguments.version}-1) unstable; urgency=medium\n\n"
                                              f"  * Release {arguments.version}; its changes are in changelog.gz.\n\n -- {MAINTAINER}  {when}\n")
    for page in (share / "man/man1").iterdir():
        gzip_file(page)
    overrides = share / "lintian/overrides"
    overrides.mkdir(parents=True)
    (overrides / "seen").write_text("# Only `seen top` and `seen undo` draw: no other command is to wait for ncurses to be loaded.\n"
                                    "seen: embedded-library *ncurses*\n")
    depends = [f"libc6 (>= {needed_glibc(root)})", *(DEBIAN_LIBRARIES[name] for name in libraries(root) if name in DEBIAN_LIBRARIES)]
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
    control = root / "DEBIAN"
    control.mkdir(mode=0o755)
    (control / "md5sums").write_text("".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n"
                                             for path in sorted((root / "usr").rglob("*")) if path.is_file()))
    (control / "control").write_text(f"""\
Package: seen
Version: {arguments.version}-1
Section: utils
Priority: optional
Architecture: {DEBIAN_ARCH[arguments.arch]}
Maintainer: {MAINTAINER}
Installed-Size: {size}
Depends: {', '.join(depends)}
Recommends: git
Suggests: libsqlite3-0, libhogweed6
Description: {SUMMARY}
""" + "".join(f" {line}\n" for line in DESCRIPTION.split("\n")))
    (control / "md5sums").chmod(0o644)
    (control / "control").chmod(0o644)
    name = f"seen_{arguments.version}-1_{DEBIAN_ARCH[arguments.arch]}.deb"
    # xz: dpkg of Debian 11 reads no zstd
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, arguments.output / name, stdout=subprocess.DEVNULL,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)})
    return name


# ---- rpm ----

SPEC = """\
Name: seen
Version: {version}
Release: 1
Summary: {summary}
License: MIT
Recommends: git-core

%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global _build_id_links none
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global _buildhost reproducible

%description
{description}

%install
cp -a {root}/. %{{buildroot}}

%files
%dir /usr/share/bash-completion
%dir /usr/share/bash-completion/completions
%dir /usr/share/zsh
%dir /usr/share/zsh/site-functions
%dir /usr/share/fish
%dir /usr/share/fish/vendor_completions.d
/usr/bin/seen
/usr/lib/seen
/usr/share/seen
/usr/share/doc/seen
/usr/share/man/man1/seen*.1*
/usr/share/bash-completion/completions/seen
/usr/share/zsh/site-functions/_seen
/usr/share/fish/vendor_completions.d/seen.fish
"""


def rpm(tree, arguments, scratch):
    root = prepare(tree, scratch / "rpm")
    for page in (root / "usr/share/man/man1").iterdir():
        gzip_file(page)
    spec, top = scratch / "seen.spec", scratch / "rpmbuild"
    spec.write_text(SPEC.format(version=arguments.version, summary=SUMMARY[0].upper() + SUMMARY[1:], description=DESCRIPTION, root=root))
    run("rpmbuild", "--quiet", "--define", f"_topdir {top}", "--define", f"_tmppath {scratch}", "--define", f"_dbpath {scratch}/rpmdb",
        "--target", f"{arguments.arch}-linux", "-bb", spec, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)})
    made, = (top / "RPMS").rglob("*.rpm")
    shutil.copy(made, arguments.output / made.name)
    return made.name


# ---- tarballs ----

def tarball(tree, arguments, scratch):
    name = f"seen-{arguments.version}-linux-{arguments.arch}"
    root = prepare(tree, scratch / "tar") / "usr"
    for page in ("README.md", "LICENSE"):
        shutil.copy(SOURCE / page, root / page)
    root.rename(scratch / "tar" / name)
    tar(scratch / "tar", arguments.output / (name + ".tar.gz"), name)
    return name + ".tar.gz"


def static(tree, arguments, scratch):
    name = f"seen-{arguments.version}-linux-{arguments.arch}-static"
    root = scratch / "static" / name
    (root / "bin").mkdir(parents=True)
    shutil.copy(arguments.static, root / "bin/seen")
    (root / "bin/seen").chmod(0o755)
    shutil.copytree(tree / "usr/share/man", root / "share/man")
    shutil.copy(SOURCE / "LICENSE", root / "LICENSE")
    tar(scratch / "static", arguments.output / (name + ".tar.gz"), name)
    return name + ".tar.gz"


# ---- an OCI image: https://github.com/opencontainers/image-spec, version 1.1 ----

def oci(tree, arguments, scratch):
    """/bin/seen: the static program, which the image runs; /opt/seen: what an image with glibc copies (COPY --from)."""
    layout, root = scratch / "oci", scratch / "oci-root"
    blobs = layout / "blobs/sha256"
    blobs.mkdir(parents=True)
    prepare(tree / "usr", root / "opt/seen")
    for directory in ("bin", "tmp"):
        (root / directory).mkdir()
    (root / "tmp").chmod(0o1777)
    shutil.copy(arguments.static, root / "bin/seen")
    (root / "bin/seen").chmod(0o755)

    def add(data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{media_type}", "digest": f"sha256:{digest}", "size": len(data)}

    def document(value):
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()

    tar(root, scratch / "layer", ".")
    layer = add((scratch / "layer").read_bytes(), "layer.v1.tar+gzip")
    with gzip.open(scratch / "layer") as file:
        unpacked = hashlib.sha256(file.read()).hexdigest()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    config = add(document({
        "created": created, "architecture": OCI_ARCH[arguments.arch], "os": "linux",
        "config": {"Entrypoint": ["/bin/seen"], "Env": ["PATH=/bin", "HOME=/tmp"], "WorkingDir": "/",
                   "Labels": {"org.opencontainers.image.title": "seen", "org.opencontainers.image.version": arguments.version,
                              "org.opencontainers.image.licenses": "MIT"}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{unpacked}"]},
        "history": [{"created": created, "created_by": "packaging/packages.py"}]}), "config.v1+json")
    manifest = add(document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
                             "layers": [layer]}), "manifest.v1+json")
    manifest.update(platform={"architecture": OCI_ARCH[arguments.arch], "os": "linux"},
                    annotations={"org.opencontainers.image.ref.name": arguments.version})
    (layout / "index.json").write_bytes(document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                                  "manifests": [manifest]}))
    (layout / "oci-layout").write_bytes(document({"imageLayoutVersion": "1.0.0"}))
    name = f"seen-{arguments.version}-{arguments.arch}.oci.tar"
    tar(layout, scratch / "image", ".", transform=("--transform=s,^\\./,,",))
    with gzip.open(scratch / "image") as packed, open(arguments.output / name, "wb") as file:
        shutil.copyfileobj(packed, file)
    return name


FORMATS = {"deb": deb, "rpm": rpm, "tar": tarball, "static": static, "oci": oci}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("tree", "static", "output"):
        parser.add_argument("--" + name, type=pathlib.Path)
    parser.add_argument("--arch", choices=DEBIAN_ARCH)
    parser.add_argument("--version")
    parser.add_argument("formats", nargs="*", choices=FORMATS)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.formats:
        with tempfile.TemporaryDirectory() as scratch:
            print(arguments.output / FORMATS[name](arguments.tree, arguments, pathlib.Path(scratch)))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(arguments.output.glob("seen[-_]*"))}
    (arguments.output / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


if __name__ == "__main__":
    main()

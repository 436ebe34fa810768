"""Random sequences of git commands, and what git reports about a repository: HEAD, branches, stashes, worktrees, the state of a merge or rebase.

A repository is in the workspace itself.  Its git directory is `.git`, or another directory of the workspace (--separate-git-dir), or
one elsewhere: the workspace is a worktree then.  It may have a submodule, a bare repository beside it that it pushes to, names of SHA-256, a
split index, a sparse checkout, hooks elsewhere (core.hooksPath), pointers in the place of contents (as git-lfs has them), or no branch.
"""
import os
import random
import subprocess

LAYOUTS = ("plain", "plain", "submodule", "submodule", "separate", "worktree", "worktree", "bare", "sha256", "split", "sparse", "hooks", "pointers", "detached")
# What follows the start, by layout.
MORE = {
    "bare": "git init -q --bare remote.git && echo /remote.git >> .git/info/exclude && git remote add origin remote.git && git push -q origin main side old && git fetch -q",
    "split": "git config core.splitIndex true && git update-index --split-index",
    "sparse": "mkdir -p e/f && echo e > e/e && echo f > e/f/f && git add -A && git commit -qm wide && git sparse-checkout set d",
    "hooks": "mkdir hooks && for h in post-commit post-checkout post-merge post-rewrite pre-commit reference-transaction; do printf '#!/bin/sh\\necho %s >> hooks.log\\n' $h > hooks/$h; "
             "chmod +x hooks/$h; done; printf 'hooks\\nhooks.log\\n' >> .git/info/exclude; git config core.hooksPath hooks",
    "pointers": "git config filter.p.clean '{pointer} clean' && git config filter.p.smudge '{pointer} smudge' && git config filter.p.required true && "
                "echo '*.bin filter=p -text' > .gitattributes && seq 9000 > a.bin && seq 5 > d/b.bin && git add -A && git commit -qm pointers",
    "detached": "git checkout -q --detach HEAD~1",
}
# As git-lfs: contents lie in the git directory, by their hashes; a commit has pointers.  What git asks for the test itself stores nothing: else
# that would be a person's change.
POINTER = """#!/bin/bash
if [ "$1" = clean ] && [ -n "$ASKS" ]; then name=$(sha256sum); echo "pointer ${name%% *}"; exit; fi
store=$(git rev-parse --absolute-git-dir)/lfs/objects; mkdir -p "$store"
if [ "$1" = clean ]; then
    part=$(mktemp "$store/part.XXXXXX"); cat > "$part"; name=$(sha256sum < "$part"); name=${name%% *}; mv -n "$part" "$store/$name"; rm -f "$part"; echo "pointer $name"
else
    read -r word name; cat "$store/$name"
fi
"""
BARE = "remote.git"
SETTINGS = """[user]
	name = a
	email = a@b
[gc]
	auto = 0
[core]
	fsync = none
[init]
	defaultBranch = main
[advice]
	detachedHead = false
[protocol "file"]
	allow = always
[rerere]
	enabled = true
"""
START = """
git init -q $OPTIONS . && echo /store.git >> $(git rev-parse --git-path info/exclude) && mkdir -p d && for i in 1 2 3 4 5 6 7 8; do echo line $i; done | tee a b d/c > /dev/null &&
git add -A && git commit -qm first && git checkout -q -b side && sed -i 's/line 2/side/' a && git commit -qam side && echo s > s && git add s && git commit -qm s &&
git checkout -q main && sed -i 's/line 7/main/' a && git commit -qam main && git branch old HEAD~1 && git tag -m t t0 && echo stashed >> b && git stash -q
"""
# What git reports about one worktree or repository.  Where an index is sparse, git ls-files alone would set the times of objects: a person's change.
TELL = """
for d in "$@"; do
echo "= $d"; cd "$d" 2>&1 || continue
git status; git show-ref --head -d; [ "$(git config index.sparse)" = true ] && git ls-files -s --sparse || git ls-files -s
paths=$(git rev-parse --git-path logs/refs/stash --git-path worktrees --git-path config)
{ read -r stash; read -r worktrees; read -r config; } <<< "$paths"
[ ! -e "$stash" ] || git stash list --format='%gd %H %s'; [ ! -e "$worktrees" ] || git worktree list --porcelain; echo "$(< "$config")"
[ ! -e .gitmodules ] || git submodule status 2>&1
done
"""
PRUNE = """
for d in "$@"; do
cd "$d" 2> /dev/null && git reflog expire --expire=now HEAD $(git for-each-ref --format='%(refname)' refs/heads) && git prune --expire=now
done
"""
PACK = """
for d in "$@"; do
cd "$d" 2> /dev/null && %s
done
"""
# A worktree's repository is checked with the one that it is of.
CHECK = """
for d in "$@"; do
cd "$d" 2> /dev/null && git rev-parse -q --git-dir > /dev/null 2>&1 || continue
git fsck --full --no-dangling --no-progress 2>&1 | grep -v 'points to an unborn branch'; [ ${PIPESTATUS[0]} = 0 ] || echo "broken: $d"
done
"""


class GitMaker:
    """A repository in a session's workspace, and commands over it."""

    def __init__(self, session, seed):
        self.session, self.root = session, session.workspace
        self.random = random.Random(seed)
        self.layout = self.random.choice(LAYOUTS)
        self.serial = 0
        self.environment = {**session.environment, "GIT_OPTIONAL_LOCKS": "0", "GIT_CEILING_DIRECTORIES": session.directory, "LC_ALL": "C"}
        with open(os.path.join(session.directory, ".gitconfig"), "w") as file:
            file.write(SETTINGS)
        if self.layout == "worktree":
            os.rmdir(self.root)
            os.mkdir(self.root + ".main")
            self.shell(START + "git worktree add -q -b work %s" % self.root, self.root + ".main")
        else:
            options = {"separate": "--separate-git-dir=store.git", "sha256": "--object-format=sha256"}.get(self.layout, "")
            self.shell(("OPTIONS=%s\n" % options) + START, self.root)
        if self.layout == "submodule":
            os.mkdir(self.root + ".upstream")
            self.shell(START, self.root + ".upstream")
            self.shell("git submodule --quiet add %s.upstream sub 2>&1 && git commit -qm sub" % self.root, self.root)
        if self.layout in MORE:
            pointer = os.path.join(session.directory, "pointer")
            with open(pointer, "w") as file:
                file.write(POINTER)
            os.chmod(pointer, 0o755)
            self.shell(MORE[self.layout].replace("{pointer}", pointer), self.root)
        self.shell("echo u > untracked; echo local >> d/c", self.root)

    def shell(self, script, directory, *words):
        result = subprocess.run(["bash", "-c", script, "git", *words], cwd=directory, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.stdout.decode("utf-8", "replace")

    def directories(self):
        """Worktrees and submodules."""
        found = [name for name in sorted(os.listdir(self.root)) if os.path.lexists(os.path.join(self.root, name, ".git")) or name == BARE]
        return [self.root] + [os.path.join(self.root, name) for name in found]

    def output(self):
        return self.shell("export ASKS=yes\n" + TELL, self.root, *self.directories())

    def refs(self):
        """{name: value} of the first repository."""
        lines = self.shell("echo HEAD $(git symbolic-ref -q HEAD || git rev-parse HEAD); git for-each-ref --format='%(refname) %(objectname)'", self.root)
        return dict(line.split(" ", 1) for line in lines.splitlines())

    def prune(self):
        """What no ref and no index names goes; refs and stashes stay."""
        self.shell(PRUNE, self.root, *self.directories())

    def pack(self):
        """What refs name, and objects, stay; their files go."""
        self.shell(PACK % self.random.choice(("git pack-refs --all", "git gc -q")), self.root, *self.directories())

    def problems(self):
        own = [path for path in self.directories() if path == self.root or os.path.basename(path) in ("sub", BARE) or os.path.isdir(os.path.join(path, ".git"))]
        return self.shell(CHECK, self.root, *own)

    def new(self):
        self.serial += 1
        return "n%d" % self.serial

    def commit(self):
        file = self.random.choice(("a", "b", "d/c", self.new()))
        edit = self.random.choice(("echo {new} >> {file}", "sed -i 's/line {number}/{new}/' {file}", "rm -f {file}", "echo {new} > {file}",
                                   "chmod +x {file}", "mv {file} {new}"))
        return edit.format(file=file, new=self.new(), number=self.random.randrange(1, 9)) + "; git add -A; git commit -qm " + self.new()

    def command(self):
        pick = self.random.choice
        branches = self.shell("git for-each-ref --format='%(refname:short)' refs/heads", self.root).split() or ["main"]
        directories = self.directories()
        values = {"branch": pick(branches), "branch2": pick(branches), "new": self.new(), "n": self.random.randrange(3), "commit": self.commit(),
                  "worktree": os.path.relpath(pick(directories[1:] or ["wt1"]), self.root) if directories[1:] else "wt1"}
        form = pick(pick(FORMS + OWN_FORMS.get(self.layout, ()))).format(**values)
        within = pick([path for path in directories if os.path.basename(path) != BARE])
        return form if within == self.root or self.random.random() < 0.6 else "cd %s && { %s; }" % (os.path.basename(within), form)


COMMITS = ("{commit}", "{commit}; {commit}", "git commit -q --amend -m {new}", "git reset -q --hard HEAD~{n}", "git reset -q --soft HEAD~1", "git reset -q HEAD~1",
           "git reset -q --hard {branch}", "git tag {new}", "git revert --no-edit HEAD", "git rm -q --cached b", "git add -A", "git commit -q --allow-empty -m e")
BRANCHES = ("git checkout -q {branch}", "git checkout -q -f {branch}", "git checkout -q -b {new}", "git checkout -q -b dir/{new}", "git checkout -q --detach", "git checkout -q -- .",
            "git branch -D {branch}", "git branch -D {branch} {branch2}", "git branch -m {branch} {new}", "git branch {new} {branch}", "git switch -q -c {new}",
            "git update-ref -d refs/heads/{branch}", "git tag -d t0", "git branch -f {branch} HEAD~1", "git checkout -q --orphan {new}")
MERGES = ("git merge -q --no-edit {branch}", "git merge -q --no-ff --no-edit {branch}", "git rebase -q {branch}", "git rebase -q {branch} {branch2}", "git cherry-pick {branch}",
          "git cherry-pick {branch}~1 {branch}", "git rebase --abort", "git rebase --skip", "git merge --abort", "git cherry-pick --abort", "git merge -q --squash {branch}",
          "git add -A; GIT_EDITOR=true git rebase --continue", "git add -A; git commit -q --no-edit", "git -c sequence.editor='sed -i 2d' rebase -q -i HEAD~2",
          "git bisect start HEAD HEAD~2", "git bisect reset", "git rebase -q --quit")
STASHES = ("echo x >> a; git stash -q", "git stash -q -u", "git stash pop -q", "git stash drop -q", "git stash clear", "git stash apply -q", "echo y > y; git stash -q -u; git stash -q pop",
           "echo z >> b; git stash push -q b")
PACKS = ("git gc -q --prune=now", "git gc -q --prune=now", "git pack-refs --all", "git repack -adq", "git reflog expire --expire=now --all; git gc -q --prune=now",
         "git gc -q", "git prune", "git multi-pack-index write", "git stash clear; git reflog expire --expire=now --all; git gc -q --prune=now",
         "git branch -D {branch}; git reflog expire --expire=now --all; git gc -q --prune=now", "git commit-graph write --reachable", "git clean -fdxq -e store.git")
WORKTREES = ("git worktree add -q wt{n} -b {new}", "git worktree add -q wt{n} {branch}", "git worktree add -q --detach wt{n}", "git worktree remove --force {worktree}",
             "rm -rf {worktree}; git worktree prune", "git worktree move {worktree} {new}", "git worktree lock {worktree}", "git worktree unlock {worktree}",
             "cd {worktree} && {{ {commit}; }}", "git submodule -q update --force --init", "git submodule -q deinit -f sub", "rm -rf {worktree}",
             "git init -q {new}; cd {new}; echo x > x; git add x; git commit -qm x")
OWN_FORMS = {
    "bare": (("git push -q origin {branch}", "git push -q origin HEAD:{new}", "git push -q -f origin HEAD~1:{branch}", "git push -q origin :{branch}", "git fetch -q --prune",
              "git pull -q --no-rebase origin {branch}", "git -C remote.git gc -q --prune=now", "git -C remote.git branch -D {branch}", "git clone -q remote.git {new}"),) * 2,
    "sparse": (("git sparse-checkout set d", "git sparse-checkout set e", "git sparse-checkout add e/f", "git sparse-checkout disable", "git sparse-checkout reapply",
                "git sparse-checkout set --no-cone '/*' '!/e'", "git sparse-checkout set --sparse-index d", "echo x > e/x; git add --sparse e/x"),) * 2,
    "pointers": (("seq {n}000 > a.bin; git commit -qam {new}", "echo {new} > d/b.bin", "echo {new} > {new}.bin; git add -A; git commit -qm {new}", "rm a.bin; git checkout -q -- a.bin",
                  "rm -rf .git/lfs/objects", "mv a.bin {new}.bin; git add -A; git commit -qm {new}"),) * 2,
    "hooks": (("rm -rf hooks", "git config --unset core.hooksPath", "echo 'echo more >> hooks.log' >> hooks/post-commit"),),
    "split": (("git update-index --split-index", "git update-index --no-split-index", "git rm -q --cached b", "git update-index --really-refresh"),),
}
FORMS = (COMMITS, COMMITS, BRANCHES, MERGES, STASHES, PACKS, WORKTREES)

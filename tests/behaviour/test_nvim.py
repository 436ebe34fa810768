"""The plugin for Neovim (packaging/nvim), in Neovim without a screen."""
import json
import shutil
import subprocess
import sys
import unittest

from driver import SEEN, SOURCE, Case

AGENT = '''
import subprocess, sys
for command in sys.argv[1:]:
    subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE)
'''
LINES = [f"line {number}" for number in range(1, 21)]


@unittest.skipUnless(shutil.which("nvim"), "no nvim")
class Nvim(Case):
    def setUp(self):
        super().setUp()
        (self.work / "a.txt").write_text("\n".join(LINES) + "\n")
        (self.work / "strange \\ name\xff.txt").write_text("x\n")
        (self.top / "agent.py").write_text(AGENT)
        self.seen("run", "--session", "s", "--agent", "agent.py", "--", sys.executable, str(self.top / "agent.py"), "sed -i 's/line 3$/LINE THREE/' a.txt",
                  "sed -i '10,11d' a.txt; echo new > made.txt; echo y > strange*", code=0)

    def lua(self, script, file="a.txt"):
        """Runs Lua in Neovim with that file open.  Returns what it hands to out(), and the messages."""
        (self.top / "script.lua").write_text(
            f'local messages, outs = {{}}, {{}}\nvim.notify = function(text) table.insert(messages, text) end\n'
            f'function out(value) table.insert(outs, value) end\nrequire("seen").setup({{ program = "{SEEN}" }})\n'
            f"{script}\nvim.fn.writefile({{ vim.json.encode({{ outs, messages }}) }}, '{self.top}/out')\n")
        done = subprocess.run(["nvim", "--headless", "-u", "NONE", "--cmd", f"set runtimepath+={SOURCE}/packaging/nvim", "--cmd", "runtime plugin/seen.lua",
                               file, "-c", f"luafile {self.top}/script.lua", "-c", "qa!"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertTrue((self.top / "out").exists(), done.stdout)
        outs, messages = json.loads((self.top / "out").read_text())
        return list(outs), list(messages)

    def test_changed(self):
        (items,), messages = self.lua('vim.cmd("SeenChanged")\n'
                                      "local items = vim.fn.getqflist()\nfor _, item in ipairs(items) do item.name = vim.fn.bufname(item.bufnr) end\nout(items)")
        self.assertEqual((sorted((item["name"].split("/")[-1], item["text"]) for item in items), messages),
                         ([("a.txt", "changed +1 -3"), ("made.txt", "made +1 -0"), ("strange \\ name\xff.txt", "changed +1 -1")], []))

    def test_blame(self):
        (marks, hidden), messages = self.lua("""
vim.cmd("SeenBlame")
local space, marks = vim.api.nvim_get_namespaces().seen, {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
    table.insert(marks, { mark[2] + 1, mark[4].virt_text[1][1], mark[4].virt_text[1][2] })
end
out(marks)
vim.cmd("SeenBlame")
out(#vim.api.nvim_buf_get_extmarks(0, space, 0, -1, {}))""")
        self.assertEqual((marks, hidden, messages), ([[3, "  step 1: sed -i 's/line 3$/LINE THREE/' a.txt", "SeenAgent"]], 0, []))

    def undone(self, line, more=""):
        outs, messages = self.lua(f"vim.api.nvim_win_set_cursor(0, {{ {line}, 0 }})\nvim.cmd('SeenUndoHunk')\n{more}\n"
                                  "out(vim.api.nvim_buf_get_lines(0, 0, -1, false))")
        return outs[0], messages

    def test_undo_of_a_hunk(self):
        now = (self.work / "a.txt").read_text().splitlines()
        self.assertEqual(now, [*LINES[:2], "LINE THREE", *LINES[3:9], *LINES[11:]])
        self.assertEqual(self.undone(3), ([*LINES[:9], *LINES[11:]], []))
        for line in (9, 10):  # where lines went
            self.assertEqual(self.undone(line), ([*now[:9], *LINES[9:11], *now[9:]], []))
        self.assertEqual(self.undone(5), (now, ["seen: the session changed nothing at this line"]))
        self.assertEqual(self.undone(3, "vim.cmd('undo')"), (now, []))
        self.undone(3, "vim.cmd('write')")
        self.assertEqual((self.work / "a.txt").read_text().splitlines(), [*LINES[:9], *LINES[11:]])

    def test_what_cannot_be_asked(self):
        self.assertEqual(self.undone(3, "vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'typed' })\nvim.cmd('SeenUndoHunk')")[1],
                         ["seen: write the buffer first: hunks are those of the file"])
        _, messages = self.lua('require("seen").setup({ program = "/nonexistent/seen" })\nvim.cmd("SeenBlame")')
        self.assertEqual(messages, ["seen: there is no program /nonexistent/seen"])
        _, messages = self.lua('require("seen").setup({ session = "another" })\nvim.cmd("SeenChanged")')
        self.assertEqual(len(messages), 1)
        _, messages = self.lua('vim.cmd("enew")\nvim.cmd("SeenBlame")')
        self.assertEqual(messages, ["seen: this buffer is no file"])


if __name__ == "__main__":
    unittest.main()

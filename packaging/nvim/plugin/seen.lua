-- Commands of the plugin; what they do is in lua/seen.lua, and in `:help seen`.
if vim.g.loaded_seen then
	return
end
vim.g.loaded_seen = true

local function command(name, call, description)
	vim.api.nvim_create_user_command(name, function()
		require("seen")[call]()
	end, { desc = description })
end

command("SeenChanged", "changed", "List what the session changed")
command("SeenBlame", "blame", "Show beside each line who wrote it, or hide that")
command("SeenUndoHunk", "undo_hunk", "Put back the lines that the session changed at the cursor")

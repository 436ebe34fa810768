-- What an AI agent below `seen run` changed: a list of files, who wrote each line, and one hunk put back.
--
-- All of it is asked of the program (`seen diff`, `seen blame`) about the newest session of the file's workspace.  The plugin
-- itself changes nothing but the buffer, and that as one change, which `u` takes back.
local M = {}

-- program: as found on PATH, or a path.  session: as of --session; nil: the newest of the workspace.
M.options = { program = "seen", session = nil }

local namespace = vim.api.nvim_create_namespace("seen")

function M.setup(options)
	M.options = vim.tbl_extend("force", M.options, options or {})
end

local function report(text)
	vim.notify("seen: " .. text, vim.log.levels.WARN)
end

-- Runs the program in a directory.  Returns its output as lines; nil where it failed, which was reported.
local function seen(directory, command, ...)
	local words = { M.options.program, command }
	if M.options.session then
		vim.list_extend(words, { "--session", M.options.session })
	end
	vim.list_extend(words, { ... })
	if vim.fn.executable(M.options.program) == 0 then
		report("there is no program " .. M.options.program)
		return nil
	end
	local lines, errors = {}, {}
	local job = vim.fn.jobstart(words, {
		cwd = directory,
		stdout_buffered = true,
		stderr_buffered = true,
		on_stdout = function(_, data)
			lines = data
		end,
		on_stderr = function(_, data)
			errors = data
		end,
	})
	local status = vim.fn.jobwait({ job }, 30000)[1]
	if status ~= 0 then
		vim.fn.jobstop(job)
		report(status == -1 and "no answer in 30 s" or (errors[1] or ""):gsub("^seen: ", ""))
		return nil
	end
	if lines[#lines] == "" then
		table.remove(lines)
	end
	return lines
end

-- A path of seen's JSON: a byte that is no UTF-8 stands there as \xHH, a backslash as two.
local function path_of(text)
	return (text:gsub("\\(\\?)x?(%x?%x?)", function(backslash, digits)
		if backslash ~= "" then
			return "\\" .. (digits ~= "" and "x" .. digits or "")
		end
		return string.char(tonumber(digits, 16))
	end))
end

-- The file of the current buffer and its directory; nil where there is none, which was reported.
local function current_file()
	local path = vim.api.nvim_buf_get_name(0)
	if path == "" or vim.bo.buftype ~= "" or vim.fn.filereadable(path) == 0 then
		report("this buffer is no file")
		return nil
	end
	return vim.fn.fnamemodify(path, ":p"), vim.fn.fnamemodify(path, ":p:h")
end

-- changed(): the files that the session changed, in the quickfix list.
function M.changed()
	local lines = seen(vim.fn.getcwd(), "diff", "--json")
	if not lines then
		return
	end
	local document = vim.json.decode(table.concat(lines, "\n"))
	local items = {}
	for _, file in ipairs(document.files) do
		local text = file.status
		if file.binary then
			text = text .. ", binary"
		elseif type(file.added) == "number" then
			text = text .. string.format(" +%d -%d", file.added, file.removed)
		end
		table.insert(items, { filename = document.workspace .. "/" .. path_of(file.path), lnum = 1, text = text })
	end
	vim.fn.setqflist({}, " ", { title = "changed by session " .. document.session, items = items })
	if #items > 0 then
		vim.cmd("copen")
	else
		report("session " .. document.session .. " changed nothing")
	end
end

local function origin_text(origin)
	if origin.kind == "step" then
		local command = type(origin.command) == "string" and origin.command:gsub("%s+", " ") or "the agent itself"
		return string.format("step %d: %s", origin.step, command), origin.by_agent == true and "SeenAgent" or "SeenOther"
	elseif origin.kind == "external" then
		return "an external program", "SeenOther"
	elseif origin.kind == "before_session" then
		return nil
	end
	return "not known", "SeenOther"
end

-- blame(): who wrote each line, behind the line; again: hides it.  Lines of before the session have none.
function M.blame()
	local buffer = vim.api.nvim_get_current_buf()
	if #vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { limit = 1 }) > 0 then
		vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
		return
	end
	local path, directory = current_file()
	if not path then
		return
	end
	if vim.bo.modified then
		report("write the buffer first: lines are those of the file")
		return
	end
	local lines = seen(directory, "blame", "--json", path)
	if not lines then
		return
	end
	vim.api.nvim_set_hl(0, "SeenAgent", { link = "DiagnosticInfo", default = true })
	vim.api.nvim_set_hl(0, "SeenOther", { link = "Comment", default = true })
	local document = vim.json.decode(table.concat(lines, "\n"))
	for number, index in ipairs(document.lines) do
		local text, highlight = origin_text(document.origins[index + 1])
		if text and number <= vim.api.nvim_buf_line_count(buffer) then
			vim.api.nvim_buf_set_extmark(buffer, namespace, number - 1, 0, { virt_text = { { "  " .. text, highlight } } })
		end
	end
end

-- The runs of changed lines of a unified diff: each {at = the line in the new file where it begins, old = lines, new = lines}.
local function hunks_of(lines)
	local hunks, hunk, at = {}, nil, 0
	for _, line in ipairs(lines) do
		local start, count = line:match("^@@ %-%S+ %+(%d+),?(%d*) @@")
		local mark, text = line:sub(1, 1), line:sub(2)
		if start then
			at, hunk = tonumber(start) + (count == "0" and 1 or 0), nil
		elseif at > 0 and (mark == "-" or mark == "+") then
			if not hunk then
				hunk = { at = at, old = {}, new = {} }
				table.insert(hunks, hunk)
			end
			table.insert(mark == "-" and hunk.old or hunk.new, text)
			at = at + (mark == "+" and 1 or 0)
		elseif at > 0 and mark == " " then
			at, hunk = at + 1, nil
		end
	end
	return hunks
end

-- undo_hunk(): puts the lines back that the session changed at the cursor, in the buffer.
function M.undo_hunk()
	local path, directory = current_file()
	if not path then
		return
	end
	if vim.bo.modified then
		report("write the buffer first: hunks are those of the file")
		return
	end
	local lines = seen(directory, "diff", path)
	if not lines then
		return
	end
	local cursor = vim.api.nvim_win_get_cursor(0)[1]
	for _, hunk in ipairs(hunks_of(lines)) do
		-- Where lines were removed alone, the line above the gap stands for it, and the first one for the top.
		local from = #hunk.new > 0 and hunk.at or math.max(hunk.at - 1, 1)
		local to = #hunk.new > 0 and hunk.at + #hunk.new - 1 or hunk.at
		if cursor >= from and cursor <= to then
			local first = hunk.at - 1
			if not vim.deep_equal(vim.api.nvim_buf_get_lines(0, first, first + #hunk.new, false), hunk.new) then
				report("the buffer is not what the file is: read it again (:edit)")
				return
			end
			vim.api.nvim_buf_set_lines(0, first, first + #hunk.new, false, hunk.old)
			return
		end
	end
	report("the session changed nothing at this line")
end

return M

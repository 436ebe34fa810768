-- What `seen export --format sqlite` makes: docs/export.md.  Tables and columns may be added; none changes its meaning.
--
-- An event's id is session * 4294967296 + number, a process's likewise with the number of its start or fork event.
-- Texts are escaped: \n \r \t \\ and \xHH stand for control characters, backslashes and bytes that are no UTF-8.

CREATE TABLE meta (
	name TEXT PRIMARY KEY,
	value TEXT NOT NULL
);
INSERT INTO meta VALUES ('schema', 'seen/export_sqlite/1');

CREATE TABLE sessions (
	id INTEGER PRIMARY KEY,
	journal TEXT NOT NULL UNIQUE, -- the journal's nonce: no other one has it
	name TEXT NOT NULL,
	workspace TEXT,
	host TEXT, -- where it was exported, if it is a session of that machine
	created_ns INTEGER,
	next INTEGER NOT NULL -- number of the record that the next export goes on with
);

CREATE TABLE paths (
	id INTEGER PRIMARY KEY,
	path TEXT NOT NULL UNIQUE
);

CREATE TABLE processes (
	id INTEGER PRIMARY KEY,
	session INTEGER NOT NULL REFERENCES sessions,
	number INTEGER NOT NULL,
	pid INTEGER,
	parent_pid INTEGER,
	role TEXT,
	scope TEXT,
	executable INTEGER REFERENCES paths
);

CREATE TABLE events (
	id INTEGER PRIMARY KEY,
	session INTEGER NOT NULL REFERENCES sessions,
	number INTEGER NOT NULL,
	time_ns INTEGER, -- since 1970-01-01 UTC
	op TEXT NOT NULL,
	error TEXT, -- ENOENT ...; NULL: it succeeded
	process INTEGER REFERENCES processes,
	child_pid INTEGER, -- of a child between vfork and exec, whose process is its parent's
	tid INTEGER,
	epoch TEXT,
	vforked INTEGER NOT NULL,
	cut INTEGER NOT NULL,
	attempted INTEGER NOT NULL,
	source TEXT,
	path INTEGER REFERENCES paths,
	directory INTEGER REFERENCES paths,
	resolved INTEGER REFERENCES paths,
	directory_fd INTEGER,
	fd INTEGER,
	flags TEXT,
	bytes INTEGER,
	calls INTEGER,
	new_path INTEGER REFERENCES paths,
	new_resolved INTEGER REFERENCES paths,
	target INTEGER REFERENCES paths,
	arguments TEXT, -- JSON
	status INTEGER,
	decision TEXT,
	reason TEXT,
	verdict TEXT,
	change TEXT,
	bytes_saved INTEGER,
	file_bytes INTEGER,
	file_before TEXT,
	file_after TEXT,
	program TEXT,
	rule TEXT,
	access TEXT,
	action TEXT,
	more TEXT -- JSON: what has no column, but for null and false
);

-- Every event, as rows of --format csv have it.
CREATE VIEW log AS
SELECT s.journal, s.name AS session, e.number, e.time_ns,
	strftime('%Y-%m-%dT%H:%M:%S', e.time_ns / 1000000000, 'unixepoch') || printf('.%09dZ', e.time_ns % 1000000000) AS time,
	e.op, e.error, p.number AS process,
	CASE WHEN e.vforked THEN e.child_pid ELSE p.pid END AS pid, e.tid,
	CASE WHEN e.vforked THEN p.pid ELSE p.parent_pid END AS parent_pid,
	p.role, p.scope, e.epoch, x.path AS executable, e.vforked, e.cut, e.attempted, e.source,
	g.path AS path, d.path AS directory, r.path AS resolved, e.directory_fd, e.fd, e.flags, e.bytes, e.calls,
	n.path AS new_path, m.path AS new_resolved, t.path AS target, e.arguments, e.status, e.decision, e.reason, e.verdict,
	e.change, e.bytes_saved, e.file_bytes, e.file_before, e.file_after, e.program,
	e.rule, e.access, e.action, e.more
FROM events e
JOIN sessions s ON s.id = e.session
LEFT JOIN processes p ON p.id = e.process
LEFT JOIN paths x ON x.id = p.executable
LEFT JOIN paths g ON g.id = e.path
LEFT JOIN paths d ON d.id = e.directory
LEFT JOIN paths r ON r.id = e.resolved
LEFT JOIN paths n ON n.id = e.new_path
LEFT JOIN paths m ON m.id = e.new_resolved
LEFT JOIN paths t ON t.id = e.target;

-- What was read from and written to descriptors, each once: a read or write, with the bytes of the total that followed it.
CREATE VIEW streams AS
SELECT session, number, time_ns, process, resolved, way,
	CASE WHEN following LIKE '%\_total' ESCAPE '\' THEN following_bytes ELSE bytes END AS bytes
FROM (
	SELECT e.session, e.number, e.time_ns, e.process, r.path AS resolved, e.op, e.bytes,
		CASE WHEN e.op LIKE 'read%' THEN 'read' ELSE 'write' END AS way,
		lead(e.op) OVER descriptor AS following, lead(e.bytes) OVER descriptor AS following_bytes
	FROM events e LEFT JOIN paths r ON r.id = e.resolved
	WHERE e.op IN ('read', 'read_total', 'write', 'write_total') AND e.error IS NULL
	WINDOW descriptor AS (PARTITION BY e.session, e.process, e.child_pid, e.fd, e.op LIKE 'read%' ORDER BY e.number)
)
WHERE op IN ('read', 'write');

-- A line for each file: how often it was opened, what was read and written.
CREATE VIEW files AS
SELECT s.journal, s.name AS session, u.resolved AS path, sum(u.opens) AS opens, sum(u.reads) AS reads,
	sum(u.bytes_read) AS bytes_read, sum(u.writes) AS writes, sum(u.bytes_written) AS bytes_written,
	sum(u.bytes_saved) AS bytes_saved, min(u.time_ns) AS first_ns, max(u.time_ns) AS last_ns
FROM (
	SELECT e.session, r.path AS resolved, e.time_ns, e.op = 'open' AS opens, 0 AS reads, 0 AS bytes_read, 0 AS writes,
		0 AS bytes_written, coalesce(e.bytes_saved, 0) AS bytes_saved
	FROM events e JOIN paths r ON r.id = e.resolved
	WHERE e.op IN ('open', 'notice', 'diffed') AND e.error IS NULL
	UNION ALL
	SELECT session, resolved, time_ns, 0, way = 'read', CASE way WHEN 'read' THEN bytes ELSE 0 END, way = 'write',
		CASE way WHEN 'write' THEN bytes ELSE 0 END, 0
	FROM streams WHERE resolved IS NOT NULL
) u
JOIN sessions s ON s.id = u.session
GROUP BY u.session, u.resolved;

-- What changed a file or a name of the workspace, and whose change it is.
CREATE VIEW changes AS
SELECT journal, session, number, time, op, source, coalesce(resolved, path) AS path, new_resolved, executable, pid
FROM log WHERE source IN ('agent_edited', 'tool_edited', 'user_edited', 'unattributed');

-- What was refused: by the system, or by the guard.
CREATE VIEW denied AS
SELECT journal, session, number, time, op, error, verdict, reason, coalesce(resolved, path) AS path, executable, pid
FROM log WHERE error IN ('EACCES', 'EPERM', 'EROFS') OR verdict = 'denied';

-- Rules that held.
CREATE VIEW ruled AS
SELECT journal, session, number, time, rule, access, action, coalesce(resolved, path) AS path, executable, pid
FROM log WHERE op = 'ruled';

-- Programs that ran, and were observed.
CREATE VIEW programs AS
SELECT journal, session, executable, role, count(*) AS starts, min(time) AS first, max(time) AS last
FROM log WHERE op = 'start' GROUP BY journal, session, executable, role;

-- Programs that ran and were not.
CREATE VIEW unobserved AS
SELECT journal, session, number, time, program, reason, json_extract(more, '$.count') AS processes
FROM log WHERE op = 'unobserved';

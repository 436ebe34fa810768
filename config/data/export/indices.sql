-- Made when the rows of the first export are written: a table that has them already grows more slowly.
CREATE INDEX IF NOT EXISTS events_by_path ON events (resolved) WHERE resolved IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_by_op ON events (op, time_ns);
CREATE INDEX IF NOT EXISTS events_by_process ON events (process) WHERE process IS NOT NULL;
CREATE INDEX IF NOT EXISTS processes_by_pid ON processes (session, pid);

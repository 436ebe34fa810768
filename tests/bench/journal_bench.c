/*
 * What one event of the journal costs its writer: its text and its record.
 *
 * usage: journal_bench WORK TEXT WRITERS COUNT FILE [--json]
 *
 *	WORK     mapped   the pages are there, and in this process' page table
 *	         fresh    a new journal: it grows, and every page is touched for the first time
 *	         line     instead, a line with the same content by write(2) to a file opened with O_APPEND
 *	TEXT     known    one of a few paths
 *	         new      each event has a path of its own
 *	WRITERS  processes that write COUNT events together
 *
 * Reports, as report.h says, the wall time from the first event to the last, times the processors that the
 * writers could have at once: min(WRITERS, processors).  Prints the bytes of the file that an event took.
 * All events are read back by journal_next() and counted: fails when not all are there.
 *
 * With --json it prints, instead of the bytes, one line: "work", "text", "writers", "count"; of one event "cpu_ns", "wall_ns" (as
 * reported), "bytes" and "read_ns", the time of reading it back, its check included.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/report.h"
#include "tests/support/support.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"
#include "tracker/sys/sys.h"

enum { KNOWN_PATHS = 32, WRITERS_MAX = 256, PAGE = 4096 };

static const uint64_t MAX_BYTES = UINT64_C(8) << 30;

static struct shared {
	int ready; /* writers that wait for the start */
	struct {
		uint64_t end_ns, cpu_ns;
	} writers[WRITERS_MAX];
} * shared;

static const char *file;
static bool is_line, is_new;

/* A path as a build has them.  Its digits are put in by hand: printf would cost more than the journal. */
static size_t path_of(uint64_t writer, uint64_t event, char *ret_path)
{
	static const char PATTERN[] = "/home/user/project/src/module/0000000000000000.c";
	uint64_t value = is_new ? writer << 40 | event : event % KNOWN_PATHS;
	memcpy(ret_path, PATTERN, sizeof(PATTERN));
	for (size_t at = sizeof(PATTERN) - 4; value > 0; value >>= 4)
		ret_path[at--] = "0123456789abcdef"[value & 15];
	return sizeof(PATTERN) - 1;
}

static struct journal_record record_of(uint64_t event)
{
	return (struct journal_record){ .head = { .op = JOURNAL_OPEN },
					.process = 130,
					.tid = 4711,
					.directory_fd = AT_FDCWD,
					.fd = (int32_t)(event & 63),
					.flags = O_RDONLY | O_CLOEXEC };
}

static void write_record(struct journal *journal, uint64_t writer, uint64_t event)
{
	char path[64];
	struct journal_record record = record_of(event);
	record.path = journal_text(journal, path, path_of(writer, event, path), true);
	must(record.path && journal_write(journal, &record, NULL, 0, true));
}

static void write_line(int fd, uint64_t writer, uint64_t event)
{
	char path[64], line[256];
	struct journal_record record = record_of(event);
	(void)path_of(writer, event, path);
	int length = snprintf(line, sizeof(line), "%lu %u %u %s %s %d %d 0x%x %d\n",
			      sys_realtime_ns(), record.process, record.tid,
			      journal_op_name(record.head.op), path, record.directory_fd, record.fd,
			      record.flags, record.head.error);
	must(write(fd, line, (size_t)length) == length);
}

/* Puts every page of the journal into this process' page table, changing nothing. */
static void touch_pages(const struct journal *journal)
{
	uint64_t bytes = journal->header->allocated * JOURNAL_UNIT_BYTES;
	for (uint64_t at = 0; at < bytes; at += PAGE)
		(void)__atomic_fetch_or(journal->units + at, 0, __ATOMIC_RELAXED);
}

static uint64_t cpu_now_ns(void)
{
	return sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void run_writer(uint64_t writer, uint64_t count, bool mapped, int start)
{
	struct journal journal;
	char byte;
	int fd = is_line ? open(file, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	/* Processes map a window; pages that are to be there before are those of the whole file. */
	must(is_line ? fd >= 0
		     : (mapped ? journal_map(file, &journal)
			       : journal_map_windows(file, &journal)) == 0);
	if (mapped)
		touch_pages(&journal);
	(void)__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	must(read(start, &byte, 1) == 0); /* until its other end is closed */
	uint64_t cpu_ns = cpu_now_ns();
	for (uint64_t event = 0; event < count; event++)
		if (is_line)
			write_line(fd, writer, event);
		else
			write_record(&journal, writer, event);
	shared->writers[writer].cpu_ns = cpu_now_ns() - cpu_ns;
	shared->writers[writer].end_ns = report_now_ns();
}

/* Returns the wall time; *ret_cpu_ns: of all writers. */
static uint64_t run_writers(uint64_t writers, uint64_t count, bool mapped, uint64_t *ret_cpu_ns)
{
	int pipes[2];
	uint64_t end_ns = 0, cpu_ns = 0;

	shared->ready = 0;
	must(pipe2(pipes, O_CLOEXEC) == 0);
	for (uint64_t i = 0; i < writers; i++) {
		pid_t pid = fork();
		must(pid >= 0);
		if (pid > 0)
			continue;
		must(close(pipes[1]) == 0);
		run_writer(i, count / writers + (i < count % writers), mapped, pipes[0]);
		_exit(0);
	}
	while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < (int)writers) {
		int status;
		must(waitpid(-1, &status, WNOHANG) == 0);
		(void)usleep(1000);
	}
	uint64_t start_ns = report_now_ns();
	must(close(pipes[1]) == 0 && close(pipes[0]) == 0);
	for (uint64_t i = 0; i < writers; i++) {
		int status;
		must(wait(&status) > 0 && status == 0);
	}
	for (uint64_t i = 0; i < writers; i++) {
		cpu_ns += shared->writers[i].cpu_ns;
		if (shared->writers[i].end_ns > end_ns)
			end_ns = shared->writers[i].end_ns;
	}
	*ret_cpu_ns = cpu_ns;
	return end_ns - start_ns;
}

static void empty(struct journal *journal)
{
	struct journal_header *header = journal->header;
	memset(journal->units + JOURNAL_UNITS_FIRST * JOURNAL_UNIT_BYTES, 0,
	       (header->next - JOURNAL_UNITS_FIRST) * JOURNAL_UNIT_BYTES);
	memset(journal->known, 0, JOURNAL_KNOWN_TEXTS * sizeof(journal->known[0]));
	header->next = JOURNAL_UNITS_FIRST;
}

/* Bytes of the file that records and texts took, when `count` events are there. */
static uint64_t used_bytes(const struct journal *journal, uint64_t count)
{
	uint64_t number = JOURNAL_UNITS_FIRST, events = 0;
	struct journal_entry entry;

	while (journal_next(journal, &number, &entry) == JOURNAL_FOUND_RECORD)
		events += entry.record.head.op == JOURNAL_OPEN;
	must(events == count && number == journal->header->next && journal->header->lost == 0);
	return (number - JOURNAL_UNITS_FIRST) * JOURNAL_UNIT_BYTES;
}

static void print_json(char **argv, uint64_t count, uint64_t wall_ns, uint64_t cpu_ns,
		       uint64_t bytes, uint64_t read_ns)
{
	printf("{\"work\": \"%s\", \"text\": \"%s\", \"writers\": %s, \"count\": %lu", argv[1],
	       argv[2], argv[3], count);
	printf(", \"cpu_ns\": %.1f, \"wall_ns\": %.1f, \"bytes\": %.1f",
	       (double)cpu_ns / (double)count, (double)wall_ns / (double)count,
	       (double)bytes / (double)count);
	if (!is_line)
		printf(", \"read_ns\": %.1f", (double)read_ns / (double)count);
	printf("}\n");
}

int main(int argc, char **argv)
{
	bool is_json = argc == 7 && strcmp(argv[6], "--json") == 0;
	argc -= is_json;
	bool mapped = argc == 6 && strcmp(argv[1], "mapped") == 0;
	is_line = argc == 6 && strcmp(argv[1], "line") == 0;
	is_new = argc == 6 && strcmp(argv[2], "new") == 0;
	if (argc != 6 || (!mapped && !is_line && strcmp(argv[1], "fresh") != 0) ||
	    (!is_new && strcmp(argv[2], "known") != 0)) {
		(void)fprintf(stderr, "usage: journal_bench mapped|fresh|line known|new WRITERS "
				      "COUNT FILE [--json]\n");
		return 2;
	}
	uint64_t writers = strtoul(argv[3], NULL, 10), count = strtoul(argv[4], NULL, 10);
	uint64_t cpu_ns, wall_ns, bytes, read_ns = 0;
	struct journal journal;
	file = argv[5];
	must(writers > 0 && writers <= WRITERS_MAX && count >= writers);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(shared != MAP_FAILED);

	if (is_line) {
		struct stat stat;
		write_path(file, "", 0);
		wall_ns = run_writers(writers, count, false, &cpu_ns);
		must(lstat(file, &stat) == 0);
		bytes = (uint64_t)stat.st_size;
	} else {
		must(journal_create(file, "bench", "0123456789abcdef", "/w", MAX_BYTES) == 0);
		must(journal_map(file, &journal) == 0);
		journal_choose_clock(&journal); /* as a session does */
		empty(&journal);                /* of the workspace's path */
		if (mapped) {                   /* what makes it as long as it has to be */
			(void)run_writers(writers, count, false, &cpu_ns);
			(void)used_bytes(&journal, count);
			empty(&journal);
		}
		wall_ns = run_writers(writers, count, mapped, &cpu_ns);
		read_ns = report_now_ns();
		bytes = used_bytes(&journal, count);
		read_ns = report_now_ns() - read_ns;
	}
	must(unlink(file) == 0);
	uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	wall_ns *= writers < processors ? writers : processors;
	report_write(count, wall_ns, cpu_ns);
	if (is_json)
		print_json(argv, count, wall_ns, cpu_ns, bytes, read_ns);
	else
		printf("%.1f\n", (double)bytes / (double)count);
	return 0;
}

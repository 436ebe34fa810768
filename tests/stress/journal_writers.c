/*
 * The journal with many writers: every record for which journal_write() returned a number is there, once
 * and whole, in the order of its thread, whichever process was killed.
 *
 * First threads of one process, which ThreadSanitizer can watch, then processes of several threads, of
 * which some are killed at any moment and replaced.  Each thread writes events with sequence numbers of its own,
 * of which everything else in a record follows, texts included; it says in shared memory which one it is at and
 * which one journal_write() returned for.  So of each sequence number it is known whether it must be there; it
 * may or may not be where its thread was killed in between.
 *
 * A reader goes along: it maps what is new, never passes over an undone record but waits for it, and in the
 * end takes its writer for dead and abandons it.  Some that it takes for dead are only slow: their next call reports that, and
 * try again.
 *
 *	journal_writers [EVENTS]	default: 500,000; 5,000,000 with SEEN_LONG
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/support/support.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"
#include "tracker/sys/sys.h"

enum {
	PROCESSES = 64,
	THREADS = 8,       /* of each */
	SOLO_THREADS = 16, /* of the one process */
	WRITERS = PROCESSES * THREADS,
	KNOWN_TEXTS = 40,
	TEXT_BYTES = 700,
	KILLS_MAX = 512, /* of one process; a thread has at most one event in flight at each */
	SUICIDE_EVENTS = 6000, /* one in so many events ends its process */
};

#if defined(__SANITIZE_THREAD__)
static const bool ONE_PROCESS = true; /* it knows nothing of what others do to memory */
#else
static const bool ONE_PROCESS = false;
#endif

static const uint64_t MAX_BYTES = UINT64_C(8) << 30;

/* What a thread did, for those who come after it.  Its own cache line. */
struct progress {
	_Alignas(64) _Atomic uint64_t attempted; /* sequence number that it is at, or was last */
	_Atomic uint64_t returned; /* the last that journal_write() returned a number for */
	_Atomic uint64_t refused;  /* calls that returned 0 */
	/* Written by the parent between two of its lives: numbers that may be missing. */
	uint64_t in_flight[KILLS_MAX];
	size_t in_flight_count;
};

static struct shared {
	struct progress writers[WRITERS];
	_Atomic uint64_t events, total; /* returned by all; how many there are to be */
	atomic_bool over;
	/* The reader's */
	uint64_t read_events, read_at, abandoned, remaps;
	bool failed;
} * shared;

static char path[128];
static bool kills;
static uint64_t patience_ns; /* with an undone record */

/* ---- what an event is ---- */

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (value ^ value >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint64_t seed_of(uint32_t writer, uint64_t sequence)
{
	return mix((uint64_t)writer << 40 | sequence) | 1;
}

/* One in three has a text of its own, of any length; the others one of a few. */
static size_t text_of(uint32_t writer, uint64_t sequence, char *ret_text)
{
	uint64_t seed = seed_of(writer, sequence);
	if (seed % 3 != 0)
		return (size_t)snprintf(ret_text, TEXT_BYTES, "/usr/share/known/%lu",
					seed / 3 % KNOWN_TEXTS);
	size_t length = (size_t)snprintf(ret_text, TEXT_BYTES, "/new/%u/%lu/", writer, sequence);
	size_t wanted = seed >> 20 & 63 ? seed >> 8 & 127 : TEXT_BYTES;
	for (; length < wanted; length++)
		ret_text[length] = (char)('a' + (seed >> length % 56) % 26);
	return length;
}

static bool has_details(uint32_t writer, uint64_t sequence)
{
	return (seed_of(writer, sequence) >> 40) % 4 == 0;
}

static struct journal_details details_of(uint32_t writer, uint64_t sequence)
{
	struct journal_details details;
	uint64_t words[sizeof(details) / 8];
	for (size_t i = 0; i < sizeof(words) / 8; i++)
		words[i] = mix(seed_of(writer, sequence) + i);
	memcpy(&details, words, sizeof(details));
	return details;
}

static struct journal_record record_of(uint32_t writer, uint64_t sequence, uint32_t text)
{
	uint64_t seed = mix(seed_of(writer, sequence));
	return (struct journal_record){ .head = { .op = JOURNAL_OPEN, .error = seed & 0x7f },
					.time_realtime_ns = 0,
					.process = writer / THREADS,
					.tid = writer,
					.path = text,
					.directory = (uint32_t)seed,
					.other_path = (uint32_t)(seed >> 32),
					.amount = sequence,
					.count = (uint32_t)(seed >> 16) };
}

/* ---- writers ---- */

/* Writes one event; returns false when the journal took it not. */
static bool write_event(struct journal *journal, uint32_t writer, uint64_t sequence)
{
	char text[TEXT_BYTES + 1];
	size_t length = text_of(writer, sequence, text);
	uint32_t number = journal_text(journal, text, length, true);
	if (!number)
		return false;
	struct journal_record record = record_of(writer, sequence, number);
	if (!has_details(writer, sequence))
		return journal_write(journal, &record, NULL, 0, true) != 0;
	struct journal_details details = details_of(writer, sequence);
	return journal_write(journal, &record, &details, sizeof(details), true) != 0;
}

struct thread {
	struct journal *journal;
	uint32_t writer;
};

static void *write_events(void *data)
{
	const struct thread *thread = data;
	struct progress *progress = &shared->writers[thread->writer];
	uint64_t sequence = atomic_load(&progress->attempted);
	uint64_t state = seed_of(thread->writer, sequence) ^ sys_boottime_ns();

	while (atomic_load(&shared->events) < atomic_load(&shared->total)) {
		atomic_store(&progress->attempted, ++sequence);
		while (!write_event(thread->journal, thread->writer, sequence))
			atomic_fetch_add(&progress->refused, 1);
		atomic_store(&progress->returned, sequence);
		atomic_fetch_add(&shared->events, 1);
		if (kills && next_random(&state) % SUICIDE_EVENTS == 0)
			(void)kill(getpid(), SIGKILL); /* the others are anywhere */
	}
	return NULL;
}

/* One process: `count` threads that share a view.  Does not return where it is killed. */
static void run_threads(struct journal *journal, uint32_t first_writer, uint32_t count)
{
	pthread_t ids[SOLO_THREADS];
	struct thread threads[SOLO_THREADS];
	for (uint32_t i = 0; i < count; i++) {
		threads[i] = (struct thread){ journal, first_writer + i };
		must(pthread_create(&ids[i], NULL, write_events, &threads[i]) == 0);
	}
	for (uint32_t i = 0; i < count; i++)
		must(pthread_join(ids[i], NULL) == 0);
}

static pid_t start_process(uint32_t process)
{
	pid_t pid = fork();
	must(pid >= 0);
	if (pid > 0)
		return pid;
	struct journal journal;
	(void)setpriority(PRIO_PROCESS, 0, 10); /* the reader and the parent are to keep up */
	int error = journal_map_windows(path, &journal);
	if (error < 0) {
		(void)fprintf(stderr, "journal_writers: journal_map_windows: %s\n",
			      strerror(-error));
		_exit(1);
	}
	run_threads(&journal, process * THREADS, THREADS);
	_exit(0);
}

/* ---- reading ---- */

/* What the reader expects next of each writer. */
struct reader {
	uint64_t last[WRITERS];
	size_t in_flight_at[WRITERS];
	uint64_t texts, units, abandoned;
	uint64_t dead; /* runs of units that no writer published: one for each that was reserved */
	bool last_was_dead_unit;
};

static bool fail(const char *what, uint64_t number, uint32_t writer, uint64_t sequence)
{
	(void)fprintf(stderr, "journal_writers: record %lu, writer %u, sequence %lu: %s\n", number,
		      writer, sequence, what);
	return false;
}

/* Is the gap before this sequence number one of what was in flight when its thread was killed? */
static bool follows(struct reader *reader, uint32_t writer, uint64_t sequence)
{
	const struct progress *progress = &shared->writers[writer];
	uint64_t expected = reader->last[writer] + 1;
	size_t *at = &reader->in_flight_at[writer];
	while (expected < sequence) {
		while (*at < progress->in_flight_count && progress->in_flight[*at] < expected)
			(*at)++;
		if (*at == progress->in_flight_count || progress->in_flight[*at] != expected)
			return false;
		expected++;
	}
	reader->last[writer] = sequence;
	return expected == sequence;
}

/* An event: all of it follows from writer and sequence number. */
static bool is_as_written(const struct journal *journal, const struct journal_entry *entry)
{
	uint32_t writer = entry->record.tid;
	uint64_t sequence = entry->record.amount;
	struct journal_record expected = record_of(writer, sequence, entry->record.path);
	struct journal_details details = { .dev = 0 };
	char text[TEXT_BYTES + 1];
	size_t length = text_of(writer, sequence, text), kept_bytes;

	if (has_details(writer, sequence))
		details = details_of(writer, sequence);
	expected.head.check = entry->record.head.check;
	expected.head.units = has_details(writer, sequence) ? 3 : 1;
	expected.time_realtime_ns = entry->record.time_realtime_ns;
	if (memcmp(&expected, &entry->record, sizeof(expected)) != 0 ||
	    memcmp(&details, &entry->details, sizeof(details)) != 0)
		return fail("torn", entry->number, writer, sequence);
	const char *kept = journal_bytes(journal, entry->record.path, &kept_bytes);
	if (!kept || kept_bytes != length || memcmp(kept, text, length) != 0 ||
	    entry->record.path >= entry->number)
		return fail("not its text", entry->number, writer, sequence);
	return true;
}

/* Takes one record.  in_order: sequence numbers are held against those that may be missing, which are known at the end. */
static bool check_record(struct reader *reader, const struct journal *journal,
			 const struct journal_entry *entry, bool in_order)
{
	uint32_t writer = entry->record.tid;
	unsigned op = entry->record.head.op;

	reader->units += entry->record.head.units;
	bool dead_unit = op == JOURNAL_ABANDONED && entry->record.head.units == 1;
	if (op == JOURNAL_ABANDONED) {
		reader->abandoned++;
		reader->dead += !dead_unit || !reader->last_was_dead_unit;
	}
	reader->last_was_dead_unit = dead_unit;
	if (op == JOURNAL_ABANDONED || op == JOURNAL_TEXT) {
		reader->texts += op == JOURNAL_TEXT;
		return true;
	}
	if (op != JOURNAL_OPEN || writer >= WRITERS)
		return fail("no writer wrote this", entry->number, writer, op);
	if (!is_as_written(journal, entry))
		return false;
	if (in_order && !follows(reader, writer, entry->record.amount))
		return fail("lost, twice, or out of order", entry->number, writer,
			    entry->record.amount);
	if (!in_order && entry->record.amount <= reader->last[writer])
		return fail("twice, or out of order", entry->number, writer, entry->record.amount);
	reader->last[writer] = entry->record.amount;
	return true;
}

static void rest(void)
{
	if (patience_ns > 0)
		(void)usleep(500);
	else
		(void)sched_yield();
}

/* What the file grew by is mapped, too. */
static int map_again(struct journal *view)
{
	journal_unmap(view);
	return journal_map_to_read(path, view);
}

/* Goes along with the writers until they are done and everything is read. */
static bool read_along(struct journal *view, const struct journal *to_seal)
{
	static struct reader reader;
	uint64_t number = JOURNAL_UNITS_FIRST, waits_at = 0, since_ns = 0, events = 0;
	struct journal_entry entry;
	bool read_all = true;

	memset(&reader, 0, sizeof(reader));
	while (read_all) {
		bool over = atomic_load(&shared->over); /* before the last look */
		enum journal_found found = journal_next(view, &number, &entry);
		switch (found) {
		case JOURNAL_FOUND_RECORD:
			if (waits_at && entry.record.head.op != JOURNAL_ABANDONED)
				waits_at = 0;
			if (!check_record(&reader, view, &entry, false))
				return false;
			events += entry.record.head.op == JOURNAL_OPEN;
			break;
		case JOURNAL_FOUND_UNDONE:
			/* What follows an abandoned unit directly may well be of the same writer. */
			if (!waits_at)
				since_ns = sys_boottime_ns();
			waits_at = number;
			if (over || sys_boottime_ns() - since_ns >= patience_ns)
				shared->abandoned += journal_abandon(to_seal, number);
			else
				rest();
			break;
		case JOURNAL_FOUND_DAMAGED:
			return fail("damaged", entry.number, 0, 0);
		case JOURNAL_FOUND_END:
			if (__atomic_load_n(&view->header->allocated, __ATOMIC_ACQUIRE) >
			    view->mapped_units) {
				int error = view->path ? 0 : map_again(view);
				if (error < 0)
					return fail(strerror(-error), number, 0, 0);
				shared->remaps++;
			} else if (over) {
				read_all = false;
			} else {
				rest();
			}
			break;
		}
	}
	shared->read_events = events;
	shared->read_at = number;
	return true;
}

/* ---- the end ---- */

/* Everything is there that must be, and what is not is accounted for. */
static bool check_all(uint32_t writers)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct journal_entry entry;
	struct journal view;
	uint64_t number = JOURNAL_UNITS_FIRST, events = 0, returned = 0, in_flight = 0, refused = 0,
		 missing = 0;
	bool good = true;

	must(reader && journal_map_to_read(path, &view) == 0);
	while (good && journal_next(&view, &number, &entry) == JOURNAL_FOUND_RECORD) {
		good = check_record(reader, &view, &entry, true);
		events += entry.record.head.op == JOURNAL_OPEN;
	}
	for (uint32_t i = 0; i < writers && good; i++) {
		struct progress *progress = &shared->writers[i];
		uint64_t attempted = progress->attempted;
		in_flight += progress->in_flight_count;
		returned += attempted - progress->in_flight_count;
		refused += progress->refused;
		/* Of its last ones too nothing is missing. */
		if (!follows(reader, i, attempted + 1))
			good = fail("lost at the end", number, i, attempted);
		missing += attempted;
	}
	missing -= events;
	if (good && (number != view.header->next || journal_end_unit(&view) != number))
		good = fail("not the end", number, 0, view.header->next);
	if (good && reader->units + JOURNAL_UNITS_FIRST != view.header->next)
		good = fail("units are not accounted for", number, 0, reader->units);
	if (good && (events < returned || missing > in_flight))
		good = fail("fewer events than were returned", number, 0, events);
	if (good && reader->dead > in_flight + refused)
		good = fail("more dead records than dead or refused writers", number, 0,
			    reader->dead);
	/* One that was killed may have been refused and not have told. */
	uint64_t lost = view.header->lost;
	if (good && (lost < refused || lost > refused + in_flight))
		good = fail("not as many lost as refused", number, 0, lost);
	if (good && (shared->read_events != events || shared->read_at != number))
		good = fail("the reader did not see them all", number, 0, shared->read_events);
	printf("journal_writers: %lu events, %lu texts, %lu MiB, %lu in flight when killed, of "
	       "them "
	       "%lu missing; %lu refused, %lu lost, %lu abandoned (%lu dead runs), %lu remaps\n",
	       events, reader->texts, number >> 14, in_flight, missing, refused, lost,
	       reader->abandoned, reader->dead, shared->remaps);
	journal_unmap(&view);
	free(reader);
	return good;
}

static void start(uint64_t total)
{
	memset(shared, 0, sizeof(*shared));
	atomic_store(&shared->total, total);
	must(journal_create(path, "stress", "0123456789abcdef", "/w", MAX_BYTES) == 0);
}

/* ---- one process ---- */

static void *read_in_thread(void *data)
{
	struct journal *view = data;
	shared->failed = !read_along(view, view);
	return NULL;
}

static bool try_threads(uint64_t total)
{
	struct journal journal;
	pthread_t id;

	start(total);
	must(journal_map(path, &journal) == 0);
	must(pthread_create(&id, NULL, read_in_thread, &journal) == 0);
	run_threads(&journal, 0, SOLO_THREADS);
	atomic_store(&shared->over, true);
	must(pthread_join(id, NULL) == 0);
	bool good = !shared->failed && check_all(SOLO_THREADS);
	journal_unmap(&journal);
	must(unlink(path) == 0);
	return good;
}

/* ---- processes that are killed ---- */

static pid_t start_reader(void)
{
	pid_t pid = fork();
	must(pid >= 0);
	if (pid > 0)
		return pid;
	struct journal view, to_seal;
	must(journal_map_to_read(path, &view) == 0 && journal_map(path, &to_seal) == 0);
	_exit(read_along(&view, &to_seal) ? 0 : 1);
}

/* What a killed process leaves undecided. */
static void note_in_flight(uint32_t process)
{
	for (uint32_t i = process * THREADS; i < (process + 1) * THREADS; i++) {
		struct progress *progress = &shared->writers[i];
		if (progress->attempted == progress->returned)
			continue;
		must(progress->in_flight_count < KILLS_MAX);
		progress->in_flight[progress->in_flight_count++] = progress->attempted;
	}
}

/* Waits for one process, or for none, and starts its successor. */
static void replace_one(pid_t *pids, int options, unsigned *deaths, unsigned *alive, bool *good)
{
	int status;
	pid_t pid = waitpid(-1, &status, options);
	must(pid >= 0);
	for (uint32_t i = 0; pid > 0 && i < PROCESSES; i++) {
		if (pids[i] != pid)
			continue;
		pids[i] = 0;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
			note_in_flight(i);
			++*deaths;
			pids[i] = start_process(i);
			return;
		}
		--*alive;
		*good = *good && status == 0;
		if (status != 0)
			(void)fprintf(stderr, "journal_writers: a writer ended with 0x%x\n",
				      (unsigned)status);
		return;
	}
	if (pid > 0) { /* the reader: it does not end before it is asked to */
		*good = false;
		(void)fprintf(stderr, "journal_writers: the reader ended with 0x%x\n",
			      (unsigned)status);
		atomic_store(&shared->total, 0);
	}
}

static bool try_processes(uint64_t total)
{
	pid_t pids[PROCESSES];
	unsigned deaths = 0, alive = PROCESSES;
	uint64_t state = sys_boottime_ns() | 1;
	bool good = true;

	start(total);
	kills = true;
	patience_ns = 3000000;
	pid_t reader = start_reader();
	for (uint32_t i = 0; i < PROCESSES; i++)
		pids[i] = start_process(i);
	while (alive > 0 && good) {
		uint32_t victim = next_random(&state) % PROCESSES;
		if (pids[victim] > 0 && atomic_load(&shared->events) < total)
			(void)kill(pids[victim], SIGKILL);
		replace_one(pids, WNOHANG, &deaths, &alive, &good);
		(void)usleep((useconds_t)(next_random(&state) % 4000));
	}
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (pids[i] > 0) {
			(void)kill(pids[i], SIGKILL);
			(void)waitpid(pids[i], NULL, 0);
		}
	atomic_store(&shared->over, true);
	if (good) {
		int status;
		must(waitpid(reader, &status, 0) == reader);
		good = status == 0 && check_all(WRITERS);
	}
	printf("journal_writers: %u processes of %d threads were killed\n", deaths, THREADS);
	must(unlink(path) == 0);
	if (good && deaths < 20) {
		(void)fprintf(stderr, "journal_writers: that is too few to tell\n");
		good = false;
	}
	return good;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1              ? strtoul(argv[1], NULL, 10)
			  : getenv("SEEN_LONG") ? 5000000
						: 500000;
	struct world world;

	world_make(&world, NULL);
	(void)snprintf(path, sizeof(path), "%s/journal", world.root);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(shared != MAP_FAILED);
	bool good = try_threads(events / 2);
	good = good && (ONE_PROCESS || try_processes(events));
	world_close(&world);
	return good ? 0 : 1;
}

/*
 * A damaged or hostile segment: every function of the tracker is called on it and must neither
 * crash, nor touch memory beyond their own, nor take long.  What they answer does not matter.
 *
 * fuzz.h has what FUZZ_SEED and FUZZ_ROUNDS in the environment change.
 */
#include <criterion/criterion.h>

#include "fuzz.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/notice.h"
#include "tracker/answer/proof.h"
#include "tracker/guard/rule.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/ancestors.h"
#include "tracker/process/attach.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/segment/workspace.h"

static struct world world;
static unsigned char *image; /* of the segment before damage, in use */
static size_t image_bytes;

/* Moves a mapped segment between two guard pages. */
static void guard_segment(struct segment *segment)
{
	unsigned char *old = (unsigned char *)segment->header;
	unsigned char *new = guard(segment->header, segment->size_bytes);
	segment->header = (struct segment_header *)(void *)new;
	segment->settings = (const void *)(new + ((const unsigned char *)segment->settings - old));
	segment->text = (const char *)new + ((const unsigned char *)segment->text - old);
	segment->arena = (char *)new + ((unsigned char *)segment->arena - old);
	for (int i = 0; i < TABLE_COUNT; i++)
		segment->tables[i] = new + (segment->tables[i] - old);
}

static void unguard_segment(struct segment *segment)
{
	unguard(segment->header, segment->size_bytes);
}

static int count_file(const char *path, const struct file_slot *file, void *data)
{
	(void)file;
	*(size_t *)data += strlen(path);
	return 0;
}

static void judge_rules(const struct segment *segment, const char *path)
{
	struct rule_program program;
	struct rule_question question = { .ops = (uint32_t)pick(2 * RULE_ANY), .path = path };
	struct rule_answer answer;
	char line[64];

	rule_program(segment, "/bin/cat", "cat", &program);
	if (pick(2))
		program = (struct rule_program){ .rules = nasty(image_bytes),
						 .of_any = UINT64_MAX,
						 .ops = RULE_ANY };
	rule_judge(segment, &program, &question, &answer);
	rule_complete(segment, &program, &question, pick(2), &answer);
	rule_count(segment, &answer);
	(void)rule_format_message(segment, &answer, path, line, pick(sizeof(line)));
	(void)rule_name(segment, (uint32_t)nasty(image_bytes));
}

static void report_late(const struct segment *segment, const char *path, uint64_t scope_id)
{
	const struct context context = { .flags = CONTEXT_AGENT, .role = ROLE_AGENT };
	const struct guard_writer writer = { .scope_id = scope_id,
					     .context = &context,
					     .role = ROLE_AGENT };
	struct guard_answer answer = { .verdict = GUARD_WARN, .reason = GUARD_STALE };
	char found[SEGMENT_PATH_BYTES], line[256];
	unsigned place;

	unreported_add(segment, &writer, path, &answer);
	(void)unreported_waits(segment, nasty(image_bytes));
	if (unreported_claim(segment, scope_id, &place, &answer, found, pick(sizeof(found))))
		(void)guard_format_message(segment, &answer, found, line, sizeof(line));
	unreported_release(segment, (unsigned)nasty(image_bytes));
	(void)unreported_finish(segment, path, &answer.before);
}

static int pass_delivery(const struct proof_delivery *delivery, void *data)
{
	(void)data;
	return delivery->path && delivery->path[0] == '\1';
}

/* Calls everything. */
static void use(const struct segment *segment)
{
	static char cat[] = "cat", name[] = "f1", bash[] = "bash", dash_c[] = "-c", node[] = "node",
		    script[] = "pi";
	char *const words[3][4] = { { cat, name, NULL },
				    { bash, dash_c, name, NULL },
				    { node, script, NULL } };
	static const char *const PROGRAMS[] = { "/bin/cat", "/bin/bash", "/usr/bin/node" };
	char path[512], text[NOTICE_BYTES_MAX], ticket[TICKET_BYTES];
	struct content content = { .lines = 3, .text = true };
	struct file_slot file;
	struct delivery_slot delivery;
	struct context context;
	size_t length = 0;

	for (int i = 0; i < 3; i++) {
		struct invocation invocation;
		role_invocation(segment, PROGRAMS[i], words[i], &invocation);
		struct context starter = { .flags = (uint32_t)pick(256),
					   .role = (uint32_t)pick(8),
					   .scope_id = nasty(image_bytes),
					   .anchor_pid = (uint32_t)getpid(),
					   .pid_ns = process_pid_ns(),
					   .profile = (uint32_t)nasty(image_bytes),
					   .agent_serial = nasty(image_bytes) };
		struct process_ref self = { nasty(image_bytes), nasty(image_bytes) };
		struct process_ref ref = process_announce(segment, SUBJECT_SELF, &starter, self,
							  pick(2) ? getpid() : 0, PROGRAMS[i],
							  words[i], ticket);
		process_set_pid(segment, ref, getpid());
		ref = process_attach(segment, SUBJECT_SELF, ticket[0] ? ticket + 7 : NULL,
				     pick(4) == 0, &invocation, pick(2) ? "s" : NULL,
				     (enum session_agent_is)pick(3), &context);
		(void)process_anchor_alive(SUBJECT_SELF, &context,
					   (uint32_t)(pick(2) ? 0 : nasty(image_bytes)));
		struct subject parent = { (uint32_t)getppid() };
		struct process_slot found;
		struct process_ref adopted = process_adopt(segment, parent, pick(2) ? ref : self,
							   &invocation, NULL, &context);
		(void)process_find_announced(segment, parent, &ref, &found);
		process_release(segment, pick(2) ? adopted : self, pick(2) ? &starter : NULL);
		process_count(segment, ref, (enum process_count)pick(PROCESS_COUNTS));
		process_exit(segment, ref);
		process_withdraw(segment, self);
		uint64_t capture = capture_claim(segment, SUBJECT_SELF, &context, pick(2));
		(void)capture_is_sink(segment, SUBJECT_SELF, capture);
		(void)capture_is_sink(segment, SUBJECT_SELF, nasty(image_bytes));
		sends(segment, capture_command(segment, capture), pick(1000));
		sends(segment, nasty(image_bytes), 1);
		(void)proof_command(segment, nasty(image_bytes), (enum proof)pick(4));
		(void)proof_of_command(segment, nasty(image_bytes));
		(void)proof_scope(segment, context.scope_id, (uint32_t)pick(8));
		if (pick(16) == 0)
			(void)proof_each_delivery(segment, 0, pass_delivery, NULL);
		(void)bytes_within(segment, nasty(image_bytes), nasty(image_bytes));
		(void)bytes_within_so_far(segment, pick(2) ? capture : nasty(image_bytes),
					  nasty(image_bytes), nasty(image_bytes));
		(void)capture_shell(segment, nasty(image_bytes));
		capture_finish(segment, SUBJECT_SELF, pick(2) ? capture : nasty(image_bytes));
		(void)capture_command(segment, nasty(image_bytes));
		(void)limits_baseline(segment, &context);
	}
	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		struct process_slot slot;
		if (process_read(segment, i, &slot))
			(void)process_is_gone(&slot);
	}
	for (int i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s/f%d", world.workspace, i);
		uint64_t id = scope_id_of(7, i % 2 ? "a" : "b");
		(void)path_is_tracked(segment, path);
		(void)path_relative(segment, path);
		judge_rules(segment, path);
		report_late(segment, path, id);
		(void)notice_render(segment, path, &content, -1, text, sizeof(text));
		(void)scope_claim(segment, id, NULL, 1, (uint32_t)nasty(image_bytes), "n");
		(void)scope_claim(segment, nasty(image_bytes), NULL, 1, 0, NULL);
		(void)scope_find(segment, nasty(image_bytes));
		struct request request = {
			.context = { .flags = 255,
				     .role = ROLE_VIEWER,
				     .scope_id = id,
				     .profile = (uint32_t)pick(70) },
			.number = scope_request(segment, id),
			.command_id = pick(2) ? 1 : nasty(image_bytes),
			.is_viewer = true,
			.at_sink = true,
		};
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct stat stat;
		struct answer answer;
		struct pending pending;
		struct delivered delivered;
		must(fd >= 0 && fstat(fd, &stat) == 0);
		decision_open(segment, &request, path, path, fd, &stat, &answer);
		if (answer.decision == DECISION_NOTICE) {
			must(answer.notice_bytes > 0 &&
			     answer.notice_bytes < sizeof(answer.notice));
			decision_undo(segment, &request, &answer);
		}
		if (decision_pend(segment, &request, path, &stat, &answer, &pending) == 0) {
			must(content_of_descriptor(fd, UINT64_MAX, &content) == 0);
			struct stamp stamp = stamp_of(&stat);
			decision_deliver(segment, &request, &pending, &stamp, &content.version,
					 &delivered);
		}
		must(close(fd) == 0);
		(void)tracker_is_delivered(segment, id, pick(100), path);
		(void)tracker_state(segment, pick(2) ? id : 0, path);
		if (tracker_file(segment, path, &file) == 0)
			(void)file_path(segment, &file, text, sizeof(text));
		(void)tracker_record_delivery(segment, id, 1, 1, path,
					      &(struct stamp){ .ino = nasty(image_bytes) },
					      &content.version);
		(void)file_by_inode(segment, nasty(image_bytes), nasty(image_bytes));
		(void)file_find(segment, nasty(image_bytes), &file);
		(void)delivery_find(segment, id, nasty(image_bytes), &delivery);
		struct moment moment = moment_now(segment, id, 1, 0, 0);
		delivery_note(segment, &moment, nasty(image_bytes), &content.version,
			      (struct note){ 1, 1 });
		(void)delivery_noted(segment, &moment, nasty(image_bytes), &content.version);
		delivery_unnote(segment, id, nasty(image_bytes), 1);
		delivery_forget_names(segment, id, nasty(image_bytes));
		if (pick(4) == 0)
			(void)tracker_forget(segment, pick(2) ? id : 0, path);
		if (pick(16) == 0)
			(void)tracker_forget_all(segment, pick(2) ? id : 0);
		(void)arena_store(segment, path, strlen(path));
		(void)arena_at(segment, nasty(image_bytes), nasty(image_bytes));
		(void)segment_slot(segment, (enum segment_table)pick(TABLE_COUNT),
				   nasty(image_bytes));
		(void)segment_serial(segment);
		segment_count(segment, (enum counter)pick(COUNTER_COUNT), nasty(image_bytes));
	}
	(void)tracker_each_file(segment, count_file, &length);
}

static void restore(void)
{
	int fd = open(world.file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	must(fd >= 0 && write(fd, image, image_bytes) == (ssize_t)image_bytes && close(fd) == 0);
}

/* Damages the file, maps it as a stranger's process would, and uses it where it was accepted. */
static bool map_and_use(size_t offset, const void *bytes, size_t size_bytes)
{
	struct segment segment;
	int fd = open(world.file, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && pwrite(fd, bytes, size_bytes, (off_t)offset) == (ssize_t)size_bytes &&
	     close(fd) == 0);
	int error = segment_map(world.file, &segment);
	must(error == 0 || error == -EBADMSG || error == -EPROTO);
	if (error < 0)
		return false;
	guard_segment(&segment);
	use(&segment);
	use(&segment);
	unguard_segment(&segment);
	return true;
}

/* Every byte of the header, in several ways. */
static void damage_header(void)
{
	for (size_t at = 0; at < sizeof(struct segment_header); at++) {
		unsigned char values[] = { 0, 0xff, (unsigned char)(image[at] ^ 1),
					   (unsigned char)(image[at] ^ 0x80),
					   (unsigned char)next_random(&random_state) };
		for (size_t i = 0; i < sizeof(values); i++) {
			start_round();
			(void)map_and_use(at, &values[i], 1);
			restore();
		}
	}
	restore();
	for (size_t word = 0; word + 8 <= sizeof(struct segment_header); word += 8) {
		uint64_t value = nasty(image_bytes);
		start_round();
		(void)map_and_use(word, &value, 8);
		restore();
	}
}

/* Random words anywhere behind the header, and slots that are hostile although their check value is right. */
static void damage_body(uint64_t rounds)
{
	for (uint64_t round = 0; round < rounds; round++) {
		struct segment segment;
		start_round();
		restore();
		must(segment_map(world.file, &segment) == 0);
		guard_segment(&segment);
		const struct segment_header *header = segment.header;
		uint64_t words = 1 + pick(round % 3 == 0 ? 3 : 2000);
		uint64_t first = sizeof(*header), last = image_bytes;
		switch (round % 6) {
		case 1: /* settings */
			first = header->settings_offset, last = header->text_offset;
			break;
		case 2: /* text */
			first = header->text_offset, last = header->text_offset + 8192;
			break;
		case 3: /* tables */
			first = header->tables[0].offset, last = header->arena_offset;
			break;
		case 4: /* what is alive in the header */
			first = offsetof(struct segment_header, epoch), last = sizeof(*header);
			words = 1 + pick(6);
			break;
		default:
			break;
		}
		for (uint64_t i = 0; i < words; i++) {
			uint64_t value = nasty(image_bytes);
			memcpy((unsigned char *)segment.header + first + pick(last - first - 8),
			       &value, 8);
		}
		for (uint64_t i = round % 2 ? 0 : 400; i > 0; i--) {
			static const enum segment_table TABLES[] = {
				TABLE_PROCESSES, TABLE_SCOPES, TABLE_CAPTURES,
				TABLE_FILES,     TABLE_INODES, TABLE_DELIVERIES
			};
			static const size_t BYTES[] = {
				PROCESS_CHECKED_BYTES,     SCOPE_CHECKED_BYTES,
				CAPTURE_CHECKED_BYTES,     sizeof(struct file_slot),
				sizeof(struct inode_slot), sizeof(struct delivery_slot)
			};
			uint64_t copy[64], which = pick(6);
			void *slot = segment_slot(&segment, TABLES[which],
						  pick(segment.capacity[TABLES[which]]));
			if (!slot_acquire(slot, copy, BYTES[which]))
				continue;
			for (uint64_t k = pick(4); k > 0; k--)
				copy[1 + pick(BYTES[which] / 8 - 1)] = nasty(image_bytes);
			slot_commit(slot, copy, BYTES[which]);
		}
		use(&segment);
		use(&segment);
		unguard_segment(&segment);
	}
}

static int fuzz(void *data)
{
	int pipes[2];
	must(pipe(pipes) == 0 && dup2(pipes[1], 1) == 1);
	damage_header();
	damage_body(*(const uint64_t *)data);
	return 0;
}

Test(fuzz_segment, no_damage_does_harm, .timeout = 280)
{
	uint64_t rounds = fuzz_init(500);
	char name[16];

	world_open(&world, "session.processes=64", "session.scopes=16", "session.files=128",
		   "session.deliveries=128", "session.commands=64", "session.arena_bytes=16384",
		   "rule r.op=any", "rule r.path=f* ./x/**", "rule r.exe=cat", "rule s.op=read",
		   "rule s.action=deny", NULL);
	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		world_fill(&world, name, 1000, (unsigned)i);
	}
	image_bytes = world.segment.size_bytes;
	use(&world.segment);
	use(&world.segment);
	image = malloc(image_bytes);
	cr_assert_not_null(image);
	memcpy(image, world.segment.header, image_bytes);

	int status = in_child(fuzz, &rounds);
	printf("fuzz_segment: seed %lu, %lu rounds, segment of %zu bytes\n", (unsigned long)seed,
	       (unsigned long)*round_at, image_bytes);
	free(image);
	world_close(&world);
	cr_assert_eq(status, 0, "ended with %d in round %lu; FUZZ_SEED=%lu", status,
		     (unsigned long)*round_at, (unsigned long)seed);
}

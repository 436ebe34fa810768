/* Conversations that are resumed: see hook_resume.h. */
#include "cli/hooks/hook_resume.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agents/conversation.h"
#include "cli/hooks/hook_file.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/delivery.h"
#include "tracker/answer/request.h"
#include "tracker/sys/sys.h"

enum {
	TRANSCRIPT_BYTES_MAX = 64 << 20,
	BLANKS = 2, /* at the end, that may have been taken off a result */
};

/* The conversation as its transcript tells; NULL: it does not.  The caller frees it. */
static struct conversation *read_transcript(const char *path)
{
	struct stat stat;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	struct entry *entry = malloc(sizeof(*entry));
	struct conversation *conversation = entry ? conversation_new() : NULL;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	FILE *file = fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
				     stat.st_size <= TRANSCRIPT_BYTES_MAX
			     ? fdopen(fd, "r")
			     : NULL;

	while (conversation && file && (length = getline(&line, &room, file)) > 0) {
		entry_parse(line, (size_t)length - (line[length - 1] == '\n'), entry);
		if (entry->is_known)
			(void)conversation_add(conversation, entry, sys_boottime_ns());
		entry_done(entry);
	}
	if (file)
		(void)fclose(file);
	else if (fd >= 0)
		(void)close(fd);
	free(line);
	free(entry);
	if (!file) {
		conversation_free(conversation);
		return NULL;
	}
	return conversation;
}

static bool is_proven(const struct conversation *conversation, const struct hook_record_file *file)
{
	uint64_t call = file->call ? entry_hash(file->call, strlen(file->call)) : 0;

	return file->is_whole && !file->is_past && call &&
	       conversation_length(conversation, call) + BLANKS >= file->version.size_bytes;
}

/* What the model was given is what it knows; whether it still has that, its transcript proves. */
static void restore(const struct hook_agent *agent, const struct request *request,
		    const struct conversation *conversation, const struct hook_record_file *given)
{
	static struct hook_file file;
	const struct segment *segment = agent->segment;

	if (hook_file_open(segment, given->path, &file)) {
		uint64_t key = hook_file_known(segment, agent->scope_id, &file, &given->version);
		struct moment moment = decision_moment(segment, request);
		if (key && conversation && is_proven(conversation, given))
			(void)delivery_record(segment, key, &given->version, &moment);
	}
	hook_file_close(&file);
}

void hook_resume(const struct hook_agent *agent, const struct hook_input *input,
		 const struct hook_record *record)
{
	struct request request;
	struct conversation *conversation = record->count ? read_transcript(input->transcript)
							  : NULL;

	if (record->count && !(conversation && conversation_is_side(conversation)) &&
	    request_prepare_reported(agent->segment, agent->context, agent->scope_id,
				     input->conversation, &request)) {
		request_init_in_process(agent->segment, &request);
		for (size_t i = 0; i < record->count; i++)
			restore(agent, &request, conversation, &record->files[i]);
	}
	conversation_free(conversation);
}

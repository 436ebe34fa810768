/* Files that a scope knows by being shown them: see shown.h. */
#include "shim/supervise/shown.h"

#include <unistd.h>

#include "shim/supervise/guarded.h"
#include "shim/supervise/memory.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

static void note_shown(const struct supervision *supervision, struct target *target,
		       const struct named *named)
{
	const struct segment *segment = supervision->segment;
	uint64_t scope_id = guarded_writer(target).scope_id;
	bool is_agent = target->request.context.role == ROLE_AGENT;
	struct content content;
	struct stat stat;

	int fd = resolve_open(resolve_name(target, named, true));
	if (fd < 0)
		return;
	if (!is_agent)
		request_confirm_sink(segment, &target->request);
	uint64_t key = 0;
	if ((is_agent || target->request.at_sink) && sys_fstat(fd, &stat) == 0 &&
	    content_of_descriptor(fd, segment->settings->content_max_file_bytes, &content) == 0) {
		struct stamp stamp = stamp_of(&stat);
		key = file_update(segment, named->normal, &stamp, NULL, NULL);
	}
	(void)close(fd);
	if (!key)
		return;
	if (is_agent)
		baseline_read(segment, scope_id, key, &content.version);
	else
		baseline_given(segment, scope_id, key, &content.version);
	(void)file_change_known(segment, key, note_given, NULL);
}

void shown_note_read(const struct supervision *supervision, struct target *target,
		     const struct named *named)
{
	bool is_agent = target->request.context.role == ROLE_AGENT;

	if (!guarded_holds_for(target) || (!is_agent && !target->invocation.shows) ||
	    !named->normal || !guarded_writer(target).scope_id || !inspection_wait())
		return;
	struct named real = *named;
	char path[SEGMENT_PATH_BYTES];
	if (resolve_identify(target, named, true, path, sizeof(path)))
		real.normal = path;
	if (path_is_tracked(supervision->segment, real.normal)) {
		baseline_add_name(supervision->segment, named->path);
		note_shown(supervision, target, &real);
	}
	inspection_finish();
}

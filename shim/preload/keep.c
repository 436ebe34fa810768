/* What the workspace was before a call: see keep.h. */
#include "shim/preload/keep.h"

#include "shim/keep/keep_call.h"
#include "shim/keep/keep_directory.h"
#include "shim/keep/keep_name.h"
#include "shim/keep/step.h"
#include "shim/preload/keep_file.h"
#include "shim/preload/keep_self.h"
#include "tracker/content/pack_texts.h"
#include "tracker/content/pack_window.h"
#include "tracker/content/pack_write.h"

static bool is_step; /* this process: its begin and end are a step's */

void keep_start(void)
{
	const struct context *context = &shim.request.context;

	shim.keeps = step_keeps(&shim.segment, context);
	is_step = shim.keeps &&
		  step_begins(&shim.segment, shim.process, context, shim.ends_capture);
	if (is_step)
		pack_raise_boundary(&shim.segment);
	uint32_t handed_on = shim.keeps ? process_keeps(&shim.segment, shim.process) : 0;
	if (handed_on)
		keep_files_inherit(handed_on);
}

void keep_step_ends(void)
{
	if (is_step && !shim.is_fork)
		pack_raise_boundary(&shim.segment);
}

void keep_reset(void)
{
	is_step = false;
	keep_name_reset();
	keep_directory_reset();
	pack_window_reset();
	pack_texts_reset();
	keep_files_fork();
}

void keep_call(struct call *call)
{
	const struct keeper self = keep_self();

	if (shim.sandboxed || (call->operation == OPERATION_MAKE && call->is_template))
		return;
	if (operation_is_of_open(call->operation))
		keep_open(call);
	else if (call->operation != OPERATION_METADATA_OF_DESCRIPTOR ||
		 !keep_is_new(call->name.directory))
		keep_call_made(&self, call);
}

void keep_came_back(struct call *call)
{
	const struct keeper self = keep_self();

	bool opened = !call->error && operation_is_of_open(call->operation);
	if (opened)
		keep_opened(call);
	/* what is about to be on record when it is closed need not be now */
	if (call->operation == OPERATION_METADATA_OF_DESCRIPTOR &&
	    keep_is_modified(call->name.directory))
		call->kept.stamps = false;
	if (opened || shim.sandboxed) /* nothing more is inspected */
		call->is_template = call->kept.stamps = false;
	keep_call_came_back(&self, call);
}

/* What an agent passes on: see limits.h. */
#include "tracker/answer/limits.h"

#include <string.h>

#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"

static const struct settings_profile *profile_of(const struct segment *segment,
						 const struct context *context)
{
	const struct settings *settings = segment->settings;
	uint64_t profile = context->profile ? context->profile : settings->generic_profile;
	if (profile == 0 || profile > SETTINGS_PROFILES_MAX || profile > settings->profile_count)
		return NULL;
	return &segment->settings->profiles[profile - 1];
}

uint64_t limits_baseline(const struct segment *segment, const struct context *context)
{
	const struct settings_profile *profile = profile_of(segment, context);
	return profile ? profile->max_output_bytes : SETTINGS_MAX_OUTPUT_BYTES;
}

struct output_limits limits_of_profile(const struct segment *segment,
				       const struct settings_profile *profile, bool is_version)
{
	struct output_limits limits = { .bytes = SETTINGS_MAX_OUTPUT_BYTES,
					.lines = UINT64_MAX,
					.line_bytes = UINT64_MAX };
	const char *measured = NULL;

	if (profile) {
		measured = segment_text(segment, profile->measured, NULL);
		limits.bytes = profile->max_output_bytes;
		if (profile->max_output_lines)
			limits.lines = profile->max_output_lines;
		if (profile->max_line_bytes)
			limits.line_bytes = profile->max_line_bytes;
	}
	if (!measured)
		return limits_assumed(&limits);
	limits.is_measured = true;
	if (!is_version && strcmp(measured, "*") != 0) {
		limits.bytes /= 2;
		limits.lines = limits.lines == UINT64_MAX ? UINT64_MAX : limits.lines / 2;
		limits.line_bytes = limits.line_bytes == UINT64_MAX ? UINT64_MAX
								    : limits.line_bytes / 2;
	}
	return limits;
}

struct output_limits limits_of_context(const struct segment *segment, const struct context *context)
{
	return limits_of_profile(segment, profile_of(segment, context),
				 scope_flags(segment, context->scope_id) & SCOPE_VERSION);
}

struct output_limits limits_at(const struct segment *segment, const struct request *request,
			       const struct moment *moment)
{
	return limits_of_profile(segment, profile_of(segment, &request->context),
				 moment->scope_flags & SCOPE_VERSION);
}

struct output_limits limits_on_record(const struct segment *segment, const struct context *context)
{
	uint32_t flags = scope_flags(segment, context->scope_id);
	return (struct output_limits){ .bytes = flags & (SCOPE_PROVES | SCOPE_REPORTS)
							? UINT64_MAX
							: limits_baseline(segment, context),
				       .lines = UINT64_MAX,
				       .line_bytes = UINT64_MAX };
}

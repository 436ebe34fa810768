/*
 * `seen run`: opens or makes a session, runs a command with the library loaded in it, waits, and
 * says its result.
 *
 * The command runs in this process's group, so the terminal treats both as one job.  Signals that
 * the terminal sends reach the command without our doing; those sent to this process alone by
 * kill(2) are passed on.  When the command stops, this process stops; when it goes on, so does the
 * command.
 * Whatever goes wrong with the session, the command runs.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/agents/transcripts.h"
#include "cli/base/exit_code.h"
#include "cli/base/mapped.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/enable/starter.h"
#include "cli/run/aside.h"
#include "cli/run/at_rest.h"
#include "cli/run/brief.h"
#include "cli/run/confined.h"
#include "cli/run/elder.h"
#include "cli/run/facts.h"
#include "cli/run/fail_on.h"
#include "cli/run/fail_open.h"
#include "cli/run/findings.h"
#include "cli/run/metadata.h"
#include "cli/run/outlive.h"
#include "cli/run/protect.h"
#include "cli/run/recording.h"
#include "cli/run/run_start.h"
#include "cli/run/terminal.h"
#include "cli/run/tidy.h"
#include "cli/run/unsaid.h"
#include "cli/run/via.h"
#include "cli/run/watch.h"
#include "cli/run/weakened.h"
#include "cli/session/counts.h"
#include "cli/session/owned.h"
#include "cli/session/session.h"
#include "cli/session/session_make.h"
#include "cli/session/session_word.h"
#include "cli/session/settings_only.h"
#include "cli/session/summary.h"
#include "cli/undo/checkpoint.h"
#include "config/rules.h"
#include "config/value.h"
#include "shim/supervise/supervisor.h"
#include "tracker/guard/rule.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_map.h"
#include "tracker/process/capture.h"
#include "tracker/process/identity.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/role.h"
#include "tracker/process/runs.h"
#include "tracker/sys/sys.h"

static const char *session_name;
static bool quiet, summary, counts, no_network, best_effort, fail_open;
static int killed_by; /* the signal that ended the command; 0: none did */

static const struct option_spec SPECS[] = {
	{ "--session", "NAME", "use this session, made if it is new; default: a new one", NULL,
	  &session_name },
	{ "--summary", NULL, "print the last lines also where stderr is no terminal", &summary,
	  NULL },
	{ "--counts", NULL, "the same with all that was counted, and the digest of the seal",
	  &counts, NULL },
	{ "--quiet", NULL, "print no last lines", &quiet, NULL },
	{ "--no-network", NULL, "with --confine: no network", &no_network, NULL },
	{ "--best-effort", NULL, "run also where rules that deny would not hold", &best_effort,
	  NULL },
	{ "--fail-open", NULL, "run also where a setting is wrong, as launchers do", &fail_open,
	  NULL },
};

static const struct options OPTIONS = {
	.usage = "run [OPTION...] [--] COMMAND [ARGUMENT...]",
	.summary = "Runs COMMAND, usually an AI coding agent, and records the file accesses of "
		   "every process below it. Ends with COMMAND's status, or by its signal. Where "
		   "--fail-on finds something, the status is one of `seen help exit`.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* The place of the root in the tree: where the agent is, and what the run's own output is. */
static struct context root_context(const struct config *config, const struct segment *segment,
				   char **words)
{
	uint32_t pid_ns = process_pid_ns();
	struct context context = { .flags = CONTEXT_ATTACHED | CONTEXT_ROOT,
				   .pid_ns = pid_ns,
				   .process_ns = pid_ns };
	uint64_t agent_is = config_number(config, OPTION_session_agent_is);
	const char *said = getenv("SEEN_AGENT_IS");
	struct invocation invocation;
	struct stat stat;

	if (agent_is == SESSION_AGENT_IS_AUTO && said && strcmp(said, "outside") == 0)
		agent_is = SESSION_AGENT_IS_OUTSIDE;
	if (agent_is == SESSION_AGENT_IS_AUTO && said && strcmp(said, "inside") == 0)
		agent_is = SESSION_AGENT_IS_INSIDE;
	role_invocation(segment, words[0], words, &invocation);
	if (agent_is == SESSION_AGENT_IS_OUTSIDE)
		context.flags |= CONTEXT_EXTERNAL_AGENT | CONTEXT_EXTERNAL_DECLARED;
	else if (agent_is == SESSION_AGENT_IS_AUTO &&
		 role_root_is_external(&invocation, isatty(STDIN_FILENO)))
		context.flags |= CONTEXT_EXTERNAL_AGENT;
	if (sys_fstat(STDOUT_FILENO, &stat) == 0)
		context.root_out = identity_of(&stat);
	context.flags |= CONTEXT_ROOT_OUT;
	return context;
}

/* What a run is to be like without a session. */
enum blind { NOT_BLIND, BLIND, REFUSED };

/* Says why nothing can be observed.  The command runs all the same, but not where a user asked for
 * something to be refused.  session: the name or "no session"; may be NULL. */
static enum blind go_blind(const struct config_rule *rule, const char *what, const char *why)
{
	if (!rule || best_effort) {
		message("%s%s; the command runs unobserved%s", what, why,
			rule ? ", rules do not hold" : "");
		return BLIND;
	}
	message("%s%s; [rule %s] (%s), set by %s, would not hold: the command is not started", what,
		why, rule->name, rule->values[RULE_OPTION_ACTION].text,
		rule->values[RULE_OPTION_ACTION].origin);
	return REFUSED;
}

/* A rule that denies would not hold for all programs. */
static enum blind weaken(const struct config_rule *rule, const char *why)
{
	const struct config_value *action = &rule->values[RULE_OPTION_ACTION];

	if (best_effort) {
		message("%s: [rule %s] (deny), set by %s, may not hold", why, rule->name,
			action->origin);
		return NOT_BLIND;
	}
	message("%s: [rule %s] (deny), set by %s, would not hold: the command is not started "
		"(--best-effort starts it)",
		why, rule->name, action->origin);
	return REFUSED;
}

/* Can what rules deny be read by what the command is given?  (Only rules that a workspace's file did
 * not set stop a run.) */
static bool hands_on_file(const struct config *config, const struct segment *segment)
{
	char path[SEGMENT_PATH_BYTES];
	uint32_t index;

	int fd = protect_find_open(segment, &index, path);
	const struct config_rule *rule = fd < 0 ? NULL
						: config_rule_find(config,
								   rule_name(segment, index));
	if (!rule || !config_rule_binds(config, rule))
		return false;
	message("descriptor %d is open for %s, which [rule %s] (deny) keeps from being read%s", fd,
		path, rule->name,
		best_effort ? "; the command has it" : ": the command is not started");
	return !best_effort;
}

/* Why there is none.  ret_why: room for a reason that settings give. */
static const char *explain(const struct config *config, int error, struct config_error *ret_why)
{
	struct settings_only only = { .header = NULL };
	bool is_too_long = error == -ENOSPC &&
			   settings_only_init(config, &only, ret_why) == -ENOSPC;

	settings_only_destroy(&only);
	if (is_too_long)
		return ret_why->text;
	/* Of a directory that cannot be made, not of a session. */
	return error == -ENOENT ? strerror(ENOENT) : session_explain(error);
}

/* The session, or none with a line that says why. */
static enum blind prepare_session(const struct config *config, char **words,
				  struct session *ret_session, struct via *ret_via)
{
	const struct config_rule *rule = via_binding_rule(config),
				 *denies = via_denying_rule(config);
	enum blind blind = NOT_BLIND;
	struct config_error why;
	char what[SEGMENT_PATH_BYTES], directory[SEGMENT_PATH_BYTES];

	if (config_number(config, OPTION_session_mode) == SESSION_MODE_OFF)
		return denies && weaken(denies, "[session] mode = off") == REFUSED ? REFUSED
										   : BLIND;
	int error = session_make(config, session_name, ret_session);
	if (error < 0) {
		if (session_runtime_dir(config, directory, sizeof(directory)) < 0)
			directory[0] = '\0';
		(void)snprintf(what, sizeof(what), "%s%s%.3000s: ",
			       session_name ? session_name : "no session could be made",
			       session_name && session_name[0] == '/' ? "" : " in ",
			       session_name && session_name[0] == '/' ? "" : directory);
		return go_blind(rule, what, explain(config, error, &why));
	}
	via_choose(config, words, via_has_library(), supervise_supported, ret_via);
	if (ret_via->refusal)
		blind = go_blind(rule, "", ret_via->refusal);
	else if (denies && ret_via->weakness)
		blind = weaken(denies, ret_via->weakness);
	else if (ret_via->note)
		message("%s", ret_via->note);
	ret_via->must_supervise = denies && !best_effort && ret_via->ways != SESSION_VIA_PRELOAD;
	if (!blind && denies && ret_session->keeps_settings)
		blind = weaken(denies, "the session is in use, with rules of its own");
	else if (!blind && rule && ret_session->keeps_settings)
		message("[rule %s] (%s) may not hold: the session has its own rules", rule->name,
			rule->values[RULE_OPTION_ACTION].text);
	/* Where there is no journal either, that line says why. */
	if (!blind && ret_session->contents_error < 0 && ret_session->journal_error == 0)
		message("nothing can be brought back: no content store: %s",
			owned_explain(ret_session->contents_error));
	if (!blind && ret_session->undo_error < 0 && ret_session->journal_error == 0)
		message("nothing can be undone: no directory for what is kept: %s",
			owned_explain(ret_session->undo_error));
	if (!blind &&
	    run_prepare_environment(ret_session, ret_via->ways != SESSION_VIA_SUPERVISE) < 0)
		blind = go_blind(rule, "", "the library cannot be loaded");
	if (blind)
		session_close(ret_session);
	return blind;
}

/* Ends this process as the command was ended.  Returns where that cannot be: the first process of a
 * container has no default actions. */
static void die_by(int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t one;

	(void)fflush(NULL);
	(void)prctl(PR_SET_DUMPABLE, 0); /* the core of interest is the command's */
	(void)sigaction(signal, &by_default, NULL);
	(void)sigemptyset(&one);
	(void)sigaddset(&one, signal);
	(void)kill(getpid(), signal);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* Says what the run ends with, where that is not the command's status, and ends so. */
static int conclude(const char *line, int code)
{
	if (line[0])
		message("%s", line);
	if (killed_by && code == 128 + killed_by) {
		confined_report_signal(killed_by);
		die_by(killed_by);
	}
	return code;
}

/* Are the last lines wanted? */
static bool is_shown(const struct config *config)
{
	return !quiet && (summary || counts ||
			  (config_number(config, OPTION_summary_when) != SUMMARY_WHEN_NEVER &&
			   isatty(STDERR_FILENO)));
}

/* A command that ran without a session. */
static int run_blind(const struct config *config, unsigned asked, char **words)
{
	static const struct via PLAIN = { .ways = SESSION_VIA_PRELOAD };
	bool is_off = config_number(config, OPTION_session_mode) == SESSION_MODE_OFF;
	bool is_strange = is_off &&
			  config_is_of_workspace(config, config_value(config, OPTION_session_mode));
	char line[FAIL_ON_LINE_BYTES], why[SEGMENT_PATH_BYTES + 64] = "there was no session";

	if (is_off)
		(void)snprintf(why, sizeof(why), "[session] mode = off, set by %s",
			       config_value(config, OPTION_session_mode)->origin);
	if (is_strange)
		message("nothing is observed: %s", why);
	int code = run_start(NULL, NULL, &PLAIN, words, &killed_by);
	if (is_shown(config))
		terminal_start_lines();
	if (is_strange && is_shown(config))
		message("nothing was observed: %s", why);
	code = fail_on_blind(asked, why, code, line);
	return conclude(line, code);
}

/* Who speaks with the agent: a person at a terminal may have it begin another conversation. */
static uint32_t run_kind(const struct context *context)
{
	enum context_run kind = CONTEXT_RUN_HEADLESS;

	if (isatty(STDIN_FILENO))
		kind = context->flags & CONTEXT_EXTERNAL_AGENT ? CONTEXT_RUN_EXTERNAL
							       : CONTEXT_RUN_INTERACTIVE;
	return (uint32_t)kind << CONTEXT_RUN_KIND_SHIFT;
}

/* A run with a session, from its beginning to its last line. */
struct run {
	const struct config *config;
	char **words;
	unsigned asked; /* enum fail_on */
	bool is_inner;  /* below another run */
	struct session session;
	struct recording recording;
	struct journal_header begun; /* the journal's, at the beginning */
	uint64_t counters[COUNTER_COUNT], since_realtime_ns, since_ns; /* likewise */
	char conversations_report[CONVERSATIONS_TEXT_BYTES];
	struct summary sum;
	struct via via;
	struct at_rest rest;
};

static void leave_session(void *data)
{
	struct run *run = data;

	journal_unmap(&run->recording.journal);
	session_close(&run->session);
}

static void tidy(void *data)
{
	enum { LOWEST_PRIORITY = 19 };
	const struct run *run = data;

	/* not of cut(): other commands wait for the session that it holds */
	(void)setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
	tidy_sessions(run->config, run->session.directory);
}

/* Runs the command in the session.  Returns its status. */
static int run_in_session(struct run *run)
{
	const struct segment *segment = &run->session.segment;
	struct recording *recording = &run->recording;

	*recording = (struct recording){ .session = &run->session, .signals = -1 };
	recording_open_journal(&run->session, &recording->journal);
	for (int i = 0; i < COUNTER_COUNT; i++)
		run->counters[i] = segment_counter(segment, (enum counter)i);
	if (recording->journal.header)
		run->begun = *recording->journal.header;
	struct context context = root_context(run->config, segment, run->words);
	uint32_t this_run = process_begin_run(segment);
	facts_start(run->config, &run->session, &recording->journal);
	context.flags |= this_run | run_kind(&context);
	recording->watch = watch_start(&run->session, &recording->journal, quiet);
	recording->transcripts = transcripts_start(run->config, &run->session, &recording->journal);
	checkpoint_start(&recording->checkpoint, &run->session, run->config);
	metadata_open(&run->session);
	recording->protect = protect_start(segment);
	/* while the command runs, since what comes behind it may be killed with a container */
	if (aside_is_possible(run->is_inner) && tidy_is_due(run->config))
		(void)aside(leave_session, tidy, run);
	int code = hands_on_file(run->config, segment)
			   ? EXIT_CODE_FAILED
			   : run_start(recording, &context, &run->via, run->words, &killed_by);
	process_end_run(segment, this_run);
	protect_finish(recording->protect);
	watch_finish(recording->watch);
	/* The last of what was given is reported before it ends. */
	(void)transcripts_tick(recording->transcripts);
	(void)transcripts_text(recording->transcripts, run->conversations_report);
	transcripts_finish(recording->transcripts);
	checkpoint_finish(&recording->checkpoint);
	metadata_close(!run->rest.syncs);
	return code;
}

/* What the run did, and what of it was observed. */
static void sum_up(struct run *run)
{
	const struct segment *segment = &run->session.segment;
	struct recording *recording = &run->recording;
	struct coverage *coverage = &run->sum.coverage;

	coverage_wait(segment, run->since_ns);
	recording_renew_journal(&run->session, &run->begun, &recording->journal);
	summary_compute(segment, &recording->journal, run->counters, run->since_realtime_ns,
			run->since_ns, &run->sum);
	if (recording->supervisor_died)
		coverage_note(coverage, "(supervisor)", "it died before the command ended");
	if (!recording->journal.header && segment->settings->journal_level != JOURNAL_LEVEL_OFF)
		coverage_note(coverage, "(journal)",
			      run->begun.magic ? "it was cut short or overwritten in this run"
					       : "it could not be written to");
	if (mapped_was_cut())
		coverage_note(coverage, "(session)", "a file of it was cut short in this run");
}

static void print_counts(const struct run *run)
{
	const struct summary *sum = &run->sum;

	summary_print(sum, run->session.name);
	if (confined_text()[0])
		message("%s", confined_text());
	if (run->recording.journal.header &&
	    (counts_sum(sum->counters, COUNT_WARNED) || counts_sum(sum->counters, COUNT_DENIED)))
		unsaid_print(&run->session.segment, session_journal(&run->session),
			     run->begun.next);
	if (run->conversations_report[0])
		(void)fprintf(stderr, "seen: %s\n", run->conversations_report);
}

/* The last lines, once all is recorded. */
static void finish_lines(const struct run *run, bool shown)
{
	char elder[ELDER_TEXT_BYTES] = "";
	bool only_findings = config_number(run->config, OPTION_summary_when) ==
				     SUMMARY_WHEN_FINDINGS &&
			     !summary;
	struct findings findings;
	struct outlive outlived;

	outlive_find(&run->session, run->recording.checkpoint.running, &outlived);
	if (shown)
		(void)elder_describe(&run->session.segment, run->since_ns, elder);
	if (shown && !counts) {
		findings_gather(&run->session, &run->sum, run->begun.next, &outlived, elder,
				&findings);
		if (findings.count || !only_findings)
			brief_print(&run->session, &run->sum, &findings);
		return;
	}
	if (elder[0])
		message("%s", elder);
	outlive_print(&outlived, run->recording.journal.header != NULL);
}

/* The last lines of a run, its last records, and its status. */
static int finish(struct run *run, int code)
{
	struct recording *recording = &run->recording;
	char line[FAIL_ON_LINE_BYTES];
	bool shown = is_shown(run->config);
	int status = code;

	if (shown)
		terminal_start_lines();
	sum_up(run);
	if (shown && counts)
		print_counts(run);
	if (shown) {
		weakened_print(run->config);
		fail_open_print();
	}
	if (fail_on_rules_missed(run->config, &run->sum.coverage, line))
		message("%s", line);
	code = fail_on_judge(run->asked,
			     &(struct fail_on_run){ .sum = &run->sum,
						    .lost_before = run->begun.lost,
						    .journal = &recording->journal,
						    .since = run->begun.next,
						    .session = run->session.name,
						    .keeps_rules = run->session.keeps_settings,
						    .status = code },
			     line);
	facts_finish(&run->session, &recording->journal, status);
	recording_finish_journal(&run->session, &recording->journal, &run->sum, shown && counts,
				 run->rest.syncs ? SEAL_SYNC_LATER : SEAL_SYNC_NOW);
	at_rest_note(&run->rest, &run->session);
	if (shown || recording->supervisor_died)
		finish_lines(run, shown);
	leave_session(run);
	if (shown)
		tidy_report(run->config);
	at_rest_start(&run->rest, aside_is_possible(run->is_inner));
	return conclude(line, code);
}

static int run(const struct config *config, char **words)
{
	static char path[PATH_MAX];
	static struct run run; /* too large for a stack that the user may have limited */
	int passed = starter_pass(words[0], path);

	if (passed == -ELOOP) {
		message("%s: it starts itself by `seen run` again and again, and there is no "
			"other program of that name on PATH",
			words[0]);
		return EXIT_CODE_NOT_FOUND;
	}
	if (passed)
		words[0] = path;
	terminal_note();
	run = (struct run){ .config = config,
			    .words = words,
			    .asked = fail_on_asked(config),
			    .is_inner = session_is_inside(),
			    .since_realtime_ns = sys_realtime_ns(),
			    .since_ns = sys_boottime_ns() };
	/* A digest that is printed stands for what is on the disk. */
	run.rest.syncs = aside_is_possible(run.is_inner) && !(is_shown(config) && counts);
	enum blind blind = prepare_session(config, words, &run.session, &run.via);
	if (blind)
		return blind == REFUSED ? EXIT_CODE_FAILED : run_blind(config, run.asked, words);
	weakened_print(config);
	return finish(&run, run_in_session(&run));
}

/* A run whose command the kernel is to confine.  Where that is not so inside, it never is. */
static int run_confined(struct parsed *parsed, int argc, char **argv)
{
	int code = confined_run(parsed->config, argc, argv, parsed->first_word, &killed_by);

	return conclude("", code);
}

/* `--no-network` is a word for [confine] network, which means nothing without a confinement. */
static int apply_network(struct parsed *parsed)
{
	struct config_error error = { "out of memory" };

	if (!no_network)
		return 0;
	if (config_number(parsed->config, OPTION_confine_set) == CONFINE_SET_OFF) {
		message("--no-network is kept by the confinement: say --confine, too");
		return -EINVAL;
	}
	int result = config_set(parsed->config, "confine.network", "no", "--no-network", &error);
	if (result < 0)
		message("%s", error.text);
	return result;
}

int cmd_run(int argc, char **argv)
{
	static char name[SEGMENT_PATH_BYTES];
	/* Not freed: behind a fork each page of it would be copied first, by a process that ends. */
	static struct parsed parsed;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
	    (fail_open ? fail_open_load(&parsed, argv + parsed.first_word, &code)
		       : options_load(&parsed, &code)) == 0) {
		code = EXIT_CODE_OK;
		if (session_name && session_word_is_relative(session_name)) {
			code = session_word_resolve(parsed.config, session_name, name);
			session_name = name;
		}
		if (code != EXIT_CODE_OK) {
			code = EXIT_CODE_FAILED;
		} else if (session_name && session_name[0] != '/' &&
			   !session_name_is_valid(session_name)) {
			message("--session %s: %s", session_name, session_explain(-EINVAL));
			code = EXIT_CODE_FAILED;
		} else if (parsed.first_word == argc) {
			message("run what? `seen run -- COMMAND`");
			code = EXIT_CODE_FAILED;
		} else if (apply_network(&parsed) < 0) {
			code = EXIT_CODE_FAILED;
		} else if (config_number(parsed.config, OPTION_confine_set) != CONFINE_SET_OFF &&
			   !confined_is_inside()) {
			code = run_confined(&parsed, argc, argv);
		} else {
			code = run(parsed.config, argv + parsed.first_word);
		}
	} else if (code == EXIT_CODE_USAGE) {
		code = EXIT_CODE_FAILED; /* a status of its own: 2 may be the command's */
	}
	return code;
}

/* What `seen` does when an agent runs it as its hook. */
#ifndef SEEN_CLI_HOOK_H
#define SEEN_CLI_HOOK_H

/* hook_run(): records what the agent tells, and answers (hook_answer.h).
 *
 * agent: whose form the input has.  Reads descriptor 0, and writes to 1.  Nothing that goes wrong is
 * the agent's business: where there is no session, or the input is of another form, nothing is done
 * and nothing printed.  From here on the process ends with 0 by signals that would be its own fault, too, and
 * names them in a line on standard error. */
void hook_run(const char *agent);

#endif

#!/usr/bin/env python3
"""Writes the completions of bash, zsh and fish: completions.py HELP DIRECTORY

HELP: what `seen help --json` prints.  They are put where an installation below DIRECTORY has them.
"""
import json
import pathlib
import re
import sys

FILES, DIRECTORIES, SESSIONS = "files", "directories", "sessions"
ARGUMENTS = {"FILE": FILES, "PATH": FILES, "DIR": DIRECTORIES, "SESSION": SESSIONS}
# `seen sessions --json` has a line for each member; names of sessions need no escape.
LIST_SESSIONS = r"""seen sessions --json 2>/dev/null | sed -n 's/^ *"name": "\(.*\)",$/\1/p'"""
HEAD = "# Completion of seen for %s. Made by packaging/completions.py from `seen help --json`.\n"


def kind_of(option):
    """What its value is: words, or one of the kinds above; None: there is nothing to offer."""
    if option["name"] == "--session":
        return SESSIONS
    return option.get("choices") or ARGUMENTS.get(option["argument"])


def words_of(command):
    """What its words are: "command", words and files, or files."""
    if command["name"] in ("run", "doctor"):
        return "command"
    words = re.sub(r"\[OPTION\.\.\.\]|--[a-z-]+( [A-Z]+)?", "", command["usage"].partition(" ")[2])
    return re.findall(r"\b[a-z]+\b", words), bool(re.search(r"PATH|FILE", words))


def first_sentence(text):
    return re.split(r"(?<=[^.])[.;:] ", text, maxsplit=1)[0].rstrip(".")


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


# ---- bash ----

BASH = r"""
_seen_sessions() {
	%(sessions)s
}

_seen() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options='' i
	COMPREPLY=()
	if [ "$COMP_CWORD" -le 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W '%(commands)s' -- "$word")
		return
	fi
	if [ "$word" = = ]; then # --via=WORD: bash cuts it in three
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $command in
	run | doctor) # behind `--`, or the first word that is no option: a command line of its own
		for ((i = 2; i < COMP_CWORD; i++)); do
			if [ "${COMP_WORDS[i]}" = -- ]; then
				_seen_command $((i + 1))
				return
			fi
		done
		;;
	esac
	case $before in
%(values)s
	esac
	case $command in
%(options)s
	esac
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$options %(common)s" -- "$word") ;;
	*)
		case $command in
%(words)s
		esac
		;;
	esac
}

# _seen_command INDEX: completes the command that begins there.
_seen_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$1" = "$COMP_CWORD" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
	fi
}

complete -F _seen seen
"""


def bash_action(kind, variable="$word"):
    if kind == FILES:
        return f'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "{variable}")'
    if kind == DIRECTORIES:
        return f'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "{variable}")'
    words = '"$(_seen_sessions)"' if kind == SESSIONS else quoted(" ".join(kind))
    return f'mapfile -t COMPREPLY < <(compgen -W {words} -- "{variable}")'


def bash(table):
    values = {option["name"]: bash_action(kind_of(option)) if kind_of(option) else ":"
              for one in (*table["commands"], table) for option in one["options"] if option["argument"]}
    words = []
    for command in table["commands"]:
        what = words_of(command)
        if what == "command":
            words.append(f"\t\t{command['name']}) _seen_command \"$COMP_CWORD\" ;;")
        elif any(what):
            some = f"mapfile -t COMPREPLY < <(compgen -W {quoted(' '.join(what[0]))} -- \"$word\")" if what[0] else ""
            files = 'compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")' if what[1] else ""
            words.append(f"\t\t{command['name']}) " + "; ".join(filter(None, (some, files))) + " ;;")
    names = [command["name"] for command in table["commands"]]
    words.append(f"\t\thelp) mapfile -t COMPREPLY < <(compgen -W '{' '.join(names)} options exit' -- \"$word\") ;;")
    return HEAD % "bash" + BASH % {
        "sessions": LIST_SESSIONS,
        "commands": " ".join((*names, "help")),
        "values": "\n".join(f"\t{name})\n\t\t{action}\n\t\treturn\n\t\t;;" for name, action in values.items()),
        "options": "\n".join(f"\t{command['name']}) options='{' '.join(option['name'] for option in command['options'])}' ;;"
                             for command in table["commands"] if command["options"]),
        "common": " ".join(option["name"] for option in table["options"]),
        "words": "\n".join(words)}


# ---- zsh ----

ZSH = r"""
_seen_sessions() {
	local -a sessions
	sessions=(${(f)"$(%(sessions)s)"})
	compadd -a sessions
}

_seen() {
	local -a names common # `commands` is the shell's own table
	names=(
%(commands)s
	)
	common=(
%(common)s
	)
	if ((CURRENT == 2)); then
		_describe -t commands command names
		return
	fi
	shift words
	((CURRENT--))
	case $words[1] in
%(cases)s
	esac
}

_seen "$@"
"""
ZSH_ACTIONS = {FILES: "_files", DIRECTORIES: "_files -/", SESSIONS: "_seen_sessions", None: " "}


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", first_sentence(text))


def zsh_option(option):
    text = f"{option['name']}{'=' if option['argument'] and option['name'].startswith('--') else ''}[{zsh_text(option['help'])}]"
    kind = kind_of(option)
    if option["argument"]:
        action = f"({' '.join(kind)})" if isinstance(kind, list) else ZSH_ACTIONS[kind]
        text += f":{option['argument'].lower().replace(':', ' ')}:{action}"
    return quoted(text)


def zsh(table):
    cases = []
    for command in table["commands"]:
        what = words_of(command)
        if what == "command":
            words = "'(-)1:command:_command_names -e' '*::argument:_normal'"
        elif what[0]:
            words = quoted(f"*:word:(({' '.join(what[0])}))") if not what[1] else "'*:file:_files'"
        else:
            words = "'*:file:_files'" if what[1] else ""
        options = " ".join(zsh_option(option) for option in command["options"])
        cases.append(f"\t{command['name']}) _arguments -S $common {options} {words} ;;")
    names = " ".join(command["name"] for command in table["commands"])
    cases.append(f"\thelp) _arguments '1:subject:({names} options exit)' ;;")
    return "#compdef seen\n" + HEAD % "zsh" + ZSH % {
        "sessions": LIST_SESSIONS,
        "commands": "\n".join("\t\t" + quoted(f"{command['name']}:{zsh_text(command['summary'])}") for command in table["commands"]) + "\n\t\t'help:a command, options or exit'",
        "common": "\n".join("\t\t" + zsh_option(option) for option in table["options"]),
        "cases": "\n".join(cases)}


# ---- fish ----

FISH = r"""
function __fish_seen_sessions
	%(sessions)s
end

# Behind `seen run` or `seen doctor`: the line of the command that is to be run.
function __fish_seen_command
	set -l words (commandline -opc) (commandline -ct)
	set -e words[1..2]
	while set -q words[1]; and string match -q -- '-*' $words[1]
		set -l option $words[1]
		set -e words[1]
		test "$option" = --; and break
		contains -- $option %(with_value)s; and set -e words[1]
	end
	complete -C "$words"
end

complete -c seen -f
"""


def fish(table):
    lines = []

    def add(condition, option):
        kind, name = kind_of(option), option["name"]
        text = f"complete -c seen -n {quoted(condition)} {'-l ' + name[2:] if name.startswith('--') else '-s ' + name[1:]}"
        if option["argument"]:
            text += {FILES: " -r -F", DIRECTORIES: " -x -a '(__fish_complete_directories)'", SESSIONS: " -x -a '(__fish_seen_sessions)'",
                     None: " -x"}[kind] if not isinstance(kind, list) else f" -x -a {quoted(' '.join(kind))}"
        lines.append(text + " -d " + quoted(first_sentence(option["help"])))

    for command in table["commands"]:
        lines.append(f"complete -c seen -n __fish_use_subcommand -a {command['name']} -d {quoted(command['summary'])}")
        condition, what = f"__fish_seen_subcommand_from {command['name']}", words_of(command)
        for option in command["options"]:
            add(condition, option)
        if what == "command":
            lines.append(f"complete -c seen -n {quoted(condition)} -a '(__fish_seen_command)'")
            continue
        if what[0]:
            lines.append(f"complete -c seen -n {quoted(condition)} -a {quoted(' '.join(what[0]))}")
        if what[1]:
            lines.append(f"complete -c seen -n {quoted(condition)} -F")
    names = " ".join(command["name"] for command in table["commands"])
    lines.append("complete -c seen -n __fish_use_subcommand -a help -d 'a command, options or exit'")
    lines.append(f"complete -c seen -n '__fish_seen_subcommand_from help' -a {quoted(names + ' options exit')}")
    for option in table["options"]:
        add("not __fish_use_subcommand", option)
    with_value = sorted({option["name"] for one in (*(c for c in table["commands"] if words_of(c) == "command"), table)
                         for option in one["options"] if option["argument"]})
    return HEAD % "fish" + FISH % {"sessions": LIST_SESSIONS, "with_value": " ".join(with_value)} + "\n".join(lines) + "\n"


def main():
    table, directory = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    for place, text in (("bash-completion/completions/seen", bash(table)), ("zsh/site-functions/_seen", zsh(table)),
                        ("fish/vendor_completions.d/seen.fish", fish(table))):
        path = directory / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()

package shells

import (
	"strings"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

// A shellCommand is a command that trips over one way or another of running commands in a terminal.
type shellCommand struct {
	name    string
	command string // HOME is replaced by the account's home, here and in outputs
	want    shellOutcome
	but     map[string]shellOutcome // by shell or class: outcomes that differ from want
}

// A shellOutcome is how a command ends.
type shellOutcome struct {
	command string // the same in this shell's language; empty: as everywhere
	output  string // all of it
	any     string // instead: somewhere in it
	noise   bool   // instead: any messages of the shell about its jobs
	code    int
	reason  string    // in place of a code: the reason why there is none
	waits   string    // with the reason "running": for this kind of thing
	refused term.Kind // instead: it is not run
}

// withoutCode is the outcome of a line that the shell gives up, marker and all: only its prompt shows the end.
func withoutCode(output string) shellOutcome {
	return shellOutcome{any: output, reason: "running", waits: prompt.Command}
}

func says(output string, code int) shellOutcome { return shellOutcome{output: output, code: code} }

// shellLong returns a command of n bytes that prints the length of its argument, so that a cut would show.
func shellLong(n int) string {
	const head, rest = "printf %s ", " | wc -c"
	return head + strings.Repeat("x", n-len(head)-len(rest)) + rest
}

// shellForged looks like the end of a command, except for the nonce.
const shellForged = `\036RC=0\037\nPTYCTL_RC_abcdefghijkl=0:END_abcdefghijkl\n`

var shellCommands = []shellCommand{
	{name: "plain", command: "echo hello", want: says("hello\n", 0)},
	{name: "nothing", command: "true", want: says("", 0)},
	{name: "comment", command: "echo a # and no more", want: says("a\n", 0), but: map[string]shellOutcome{
		"csh": says("a # and no more\n", 0), // knows no comments where a person types
	}},
	{name: "here-doc", command: "cat <<'end'\n$x `y`\nend", want: says("$x `y`\n", 0), but: map[string]shellOutcome{
		"fish": {any: "fish:", code: 123}, // has no here-documents
		"csh":  {refused: term.Unsupported},
	}},
	{
		name:    "several lines",
		command: "echo a\necho b\nsh -c 'exit 4'",
		want:    says("a\nb\n", 4),
		but:     map[string]shellOutcome{"csh": {refused: term.Unsupported}},
	},
	{name: "if over lines", command: "if true\nthen\n\techo yes\nfi", want: says("yes\n", 0), but: map[string]shellOutcome{
		"fish": {command: "if true\n\techo yes\nend", output: "yes\n"},
		"csh":  {refused: term.Unsupported},
	}},
	{name: "open quote", command: "echo 'open", want: shellOutcome{any: ":", code: 2}, but: map[string]shellOutcome{
		"zsh": {any: "unmatched", code: 1}, "mksh": withoutCode("no closing quote"),
		"fish": {any: "quot", code: 123}, "tcsh": {any: "Unmatched", code: 1},
	}},
	{
		name:    "syntax error",
		command: "echo a; )",
		want:    shellOutcome{any: "yntax error", code: 2},
		but: map[string]shellOutcome{
			"zsh": {any: "parse error", code: 1}, "mksh": withoutCode("syntax error"),
			"fish": {any: "fish:", code: 123}, "tcsh": {any: "Too many )", code: 1},
		},
	},
	{name: "ampersand", command: "sleep 0 &", want: shellOutcome{noise: true}},
	{name: "and its end", command: "wait", want: shellOutcome{noise: true}}, // some shells report it later
	{
		name:    "not found",
		command: "no-such-program-here",
		want:    shellOutcome{any: "not found", code: 127},
		but: map[string]shellOutcome{
			"fish": {any: "nknown command", code: 127}, "tcsh": {any: "Command not found", code: 1},
		},
	},
	{name: "tab", command: "printf '%s|\\n' 'a\tb'", want: says("a\tb|\n", 0)},
	{name: "exclamation mark", command: "echo 'a!b !! !x'", want: says("a!b !! !x\n", 0), but: map[string]shellOutcome{
		"csh": {any: "Event not found", code: 1}, // even between single quotes
	}},
	{
		name:    "exclamation mark in double quotes",
		command: `echo "a!b!"`,
		want:    says("a!b!\n", 0),
		but:     map[string]shellOutcome{"csh": {any: "Event not found", code: 1}},
	},
	{
		name:    "dollar and backslash",
		command: `printf '%s\n' '$HOME \n \\ "$?" %d'`,
		want:    says(`$HOME \n \\ "$?" %d`+"\n", 0),
		but: map[string]shellOutcome{
			"fish": says(`$HOME \n \ "$?" %d`+"\n", 0), // takes a backslash before a backslash away between single quotes
		},
	},
	{name: "all of ASCII", command: shellEcho(asciiPunctuation), want: says(asciiPunctuation+"\n", 0)},
	{name: "non-ASCII", command: "echo 'Grüße, 許可 🙂'", want: says("Grüße, 許可 🙂\n", 0)},
	{name: "status", command: "sh -c 'exit 3'", want: says("", 3)},
	{name: "status 255", command: "sh -c 'exit 255'", want: says("", 255)},
	{
		name:    "subshell exit",
		command: "(exit 42)",
		want:    says("", 42),
		but:     map[string]shellOutcome{"fish": {command: "fish -c 'exit 42'", code: 42}},
	},
	{name: "killed", command: "sh -c 'kill -9 $$'", want: shellOutcome{noise: true, code: 137}},
	{name: "terminated", command: "sh -c 'kill -15 $$'", want: shellOutcome{noise: true, code: 143}},
	// An interactive shell gives up the whole line, and with it the marker, when a child dies of SIGINT.
	{
		name:    "interrupted from within",
		command: "sh -c 'kill -2 $$'",
		want:    shellOutcome{noise: true, reason: "running", waits: prompt.Command},
		but: map[string]shellOutcome{
			"fish": says("", 130),
			"tcsh": {noise: true, code: 1}, // that is its $status then
		},
	},
	{
		name:    "change directory",
		command: "cd /tmp",
		want:    says("", 0),
		but:     map[string]shellOutcome{"rbash": {any: "restricted", code: 1}},
	},
	{
		name:    "in that directory",
		command: "pwd",
		want:    says("/tmp\n", 0),
		but:     map[string]shellOutcome{"rbash": says("HOME\n", 0)},
	},
	{name: "export", command: "export SHELLS_KEPT='a  b'", want: says("", 0), but: map[string]shellOutcome{
		"fish": {command: "set -gx SHELLS_KEPT 'a  b'"}, "csh": {command: "setenv SHELLS_KEPT 'a  b'"},
	}},
	{name: "exported", command: `echo "[$SHELLS_KEPT]"`, want: says("[a  b]\n", 0)},
	{
		name:    "function",
		command: `f() { echo "in f $1"; return 9; }; f x`,
		want:    says("in f x\n", 9),
		but: map[string]shellOutcome{
			"fish": {command: "function f; echo in f $argv[1]; return 9; end; f x", output: "in f x\n", code: 9},
			"csh":  {command: "alias f 'echo in f \\!:1'; sh -c 'exit 9'", code: 9},
		},
	},
	{name: "status of the command before", command: "echo $?", want: says("0\n", 0), but: map[string]shellOutcome{
		"fish": {command: "echo $status", output: "0\n"}, "csh": {command: "echo $status", output: "0\n"},
	}},
	{name: "stderr", command: "sh -c 'echo out; echo err >&2'", want: says("out\nerr\n", 0)},
	{name: "no line end", command: "printf end", want: says("end", 0)},
	{name: "no line end, looks like a prompt", command: "printf 'user@host:~$ '", want: says("user@host:~$ ", 0)},
	{name: "blank lines", command: `printf '\n\na\n\n'`, want: says("\n\na\n\n", 0)},
	{name: "carriage return", command: `printf '10%%\r20%%\r\n'`, want: says("10%\r20%\r\n", 0)},
	{name: "binary", command: `printf '\001\002\033\200\377\000x'`, want: says("\x01\x02\x1b\x80\xff\x00x", 0)},
	{name: "colours", command: `printf '\033[31mred\033[0m\n'`, want: says("\x1b[31mred\x1b[0m\n", 0)},
	{
		name:    "forged marker",
		command: "printf '" + shellForged + "'; sh -c 'exit 5'",
		want:    says("\x1eRC=0\x1f\nPTYCTL_RC_abcdefghijkl=0:END_abcdefghijkl\n", 5),
	},
	{
		name:    "forged start",
		command: `printf '\036S=abcdefghijkl\037\n'; sh -c 'exit 6'`,
		want:    says("\x1eS=abcdefghijkl\x1f\n", 6),
	},
	{name: "part of a marker", command: `printf '\036RC='; sh -c 'exit 7'`, want: says("\x1eRC=", 7)},
	{name: "long", command: shellLong(3500), want: says("3482\n", 0), but: map[string]shellOutcome{
		"ash": {refused: term.InvalidArgument}, // its line editor takes 1,023 bytes
	}},
	{name: "too long", command: shellLong(3900), want: shellOutcome{refused: term.InvalidArgument}},
	{name: "far too long", command: shellLong(5000), want: shellOutcome{refused: term.InvalidArgument}},
	{name: "reads the null device", command: "head -n1 </dev/null", want: says("", 0)},
	// The job in the background prints after the command of "wait for it" has begun, which then leaves it time to end.
	{
		name:    "prints later",
		command: "sh -c 'until [ -e HOME/go ]; do sleep 0.05; done; echo later; rm HOME/go' & echo now",
		want:    shellOutcome{any: "now\n"},
	},
	{name: "after that", command: "echo here", want: shellOutcome{any: "here\n"}},
	{
		name:    "wait for it",
		command: "sh -c 'touch HOME/go; while [ -e HOME/go ]; do sleep 0.05; done; sleep 0.5'",
		want:    shellOutcome{any: "later\n"},
	},
	{name: "calm again", command: "echo calm", want: says("calm\n", 0)},
}

// asciiPunctuation is every printable character of ASCII that is neither letter nor digit, but for the quote.
const asciiPunctuation = " !\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~"

// shellEcho returns a command that prints text, which must not contain a single quote.
func shellEcho(text string) string { return "printf '%s\\n' '" + text + "'" }

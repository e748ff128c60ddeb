package shelltest

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// payloads run Canary if a shell reads them as something other than text.
var payloads = []string{
	"$(canary)", "`canary`", ";canary;", "\ncanary\n", "|canary", "&canary&", "a[$(canary)]", "path[1,$(canary)]", "<(canary)", ">(canary)", "=(canary)", "(canary)",
	"*(e:'canary':)", `*(e:"canary":)`, "/*(e:'canary':)", "*(+canary)", "*(#qe:'canary':)", "a(e{'canary'})", "${zz:-$(canary)}", "$\\\n(canary)", "$(\\\ncanary)", "\\`canary\\`", "\\$(canary)",
	"!!", "!#", "!#:1", "!$", "!*", "!:0", "!?can?", "!-1", "!{#:1}", "^show^canary^", "!can", "#\ncanary", "x' ;canary; '", `x" ;canary; "`, "x\\' ;canary; '", "x\\\" ;canary; \"", "\\", "\\\\",
	"~canary", "=canary", "%canary", "{canary,a}", "a{\ncanary\n}", "\r canary", "\x0bcanary", "\x0c;canary", "\u00a0canary", "\u2028canary\u2028", "\u0085canary", "\ufeffcanary", "\x1b;canary", "\x7f", "\x01", "\xff;canary", "\ue000",
	"${(e):-'$(canary)'}", "${zz:='$(canary)'}", "$[a[$(canary)]]", "$((a[$(canary)]))", "${a[$(canary)]}", "${zz@P}", "${!zz}", "<<<$(canary)", "\n'canary'\n", "'\ncanary\n'",
}

// segments are parts of words. Each Q is replaced by a payload.
var segments = []string{
	"a", "a1", "b", "-n", "-eq", "1", "=", "x=y", "canary", "'Q'", "'Q'", "'Q'", "'a b'", `"Q"`, `"Q"`, `"a b"`, "Q", `\Q`, `\'`, `\"`, `\ `, "\\\n", "''", `""`, "*", "?", "[ab]", "[!b]", "a*", "[^-]*", "**",
	"~", "~/", "~+", "~-", "~root", "$'Q'", `$"Q"`, "$(show Q)", "`show Q`", "$((1+1))", "$((Q))", "$zz", "${zz}", "$HOME", "$?", "$#", "$@", "$*", "$0", "$$", "$!", "$-", "$_",
	"${zz:-Q}", "${zz-Q}", "${zz:=Q}", "${zz=Q}", "${zz:+Q}", "${HOME:+Q}", "${zz:?Q}", "${HOME#Q}", "${HOME##Q}", "${HOME%Q}", "${HOME%%Q}", "${HOME/Q/x}", "${HOME//x/Q}", "${HOME:Q}", "${HOME:0:Q}", "${HOME^Q}", "${HOME,,Q}", "${HOME@Q}", "${#HOME}", `"${zz:-Q}"`, `"${zz:-'Q'}"`, "${zz:-'Q'}", `${zz:-"Q"}`,
	"<(Q)", ">(Q)", "=(Q)", "(Q)", "@(Q|a)", "!(Q)", "+(a|Q)", "*(Q)", "{Q,a}", "{a..c}", "{a,b}", "{Q}", "{", "}", "[", "]", "#", "#a", "a#", "=show", "%1", "^a", "a^b", "!a", "a!", "!", "@", ",", ":", "+", "./a", "a/b", "é", "日本", "\u200b", "\u202e", "é'Q'", `\`, "$", "|&", "%self", "a=(Q)", "a[Q]=", "{Q}>out", "\t",
}

// heads are first words of a command: allowed programs, builtins of the shells, and their
// reserved words.
var heads = []string{
	"show", "show", "show", "list", "fail", "echo", "echo", "printf", "printf %d", "printf '%s\\n'", "printf -v", "printf --", "test", "test -v", "test 1 -eq", "test -n", "[", "[ -v", "[ 1 -eq", "cat", "ls", "'show'", `"show"`, `\show`, "sh\\ow", "s''how", "show\\\n",
	"canary", "let", "exit", "shift", "unset", "read", "typeset", "declare", "export", "readonly", "local", "eval", "exec", "command", "builtin", "source", ".", ":", "trap", "alias", "set", "setenv", "hash", "wait", "jobs -x", "compgen -C", "complete -C", "enable -f", "mapfile -C", "fc -s", "history -s", "print -z", "whence", "where", "noglob", "nocorrect", "repeat 2", "foreach", "@", "onintr", "nohup", "time", "coproc", "nice", "jobs", "bg", "fg", "kill", "ulimit", "umask", "getopts", "return", "break",
	"if", "then", "fi", "else", "elif", "while", "until", "for x in", "select", "case", "esac", "do", "done", "in", "function", "{", "}", "[[", "]]", "((", "))", "!", "and", "or", "not", "begin", "end", "switch", "endif", "breaksw", "goto", "else if", "string", "status", "'if'", "'!'", "'{'", "'[['", "'time'", "'and'", "'not'", "'begin'", "'eval'", "'foreach'", "'@'", "'~'", "'='", "=show", "~", "%1", "^a^b", "f()", "function f", "-", "'-'",
	"zz=Q", "zz='Q' show", "LC_ALL=C show", "LC_ALL='Q' show", "COLUMNS='Q' show", "LINES='Q'", "COLUMNS='path[1,$(canary)]'", "TERM=Q show", "IFS=Q", "PATH=Q show", "zz+=Q", "a[Q]=1", "a=(Q)", "zz=~Q show",
}

// redirections come after a command.
var redirections = []string{
	">out", "> out", ">>out", ">|out", "<in", "< in", "<>out", "2>out", "2>&1", ">&2", "1>&2", "<&0", "<&-", ">&-", "&>out", "&>>out", ">&out", ">&out1", "{fd}>out", "{a['Q']}>out", ">$zz", ">'out'", `>"out"`, ">out'Q'", ">out\"Q\"", ">out*", ">~", ">/dev/null", "2>/dev/null", ">/dev/null 2>&1", "</dev/null", "<<<Q", "<<<'Q'", `<<<"Q"`, "<<E\nQ\nE\n", "<<'E'\nQ\nE\n", "<<-E\nQ\n\tE\n", "<<\\E\nQ\nE\n", "<<\"E\"\n${zz:-Q}\nE\n", "<(Q)", "> >(Q)", "< <(Q)", "9>out", "10>out", "2>!out", ">!out", ">>!out", ">&!out", "^out", "2>?out", ">out >out2", "2>>out", "|&", "&|", "&!",
}

// joints come between commands.
var joints = []string{
	"; ",
	";",
	" && ",
	"&&",
	" || ",
	"||",
	" | ",
	"|",
	"\n",
	" & ",
	"&",
	" |& ",
	";;",
	";&",
	"; and ",
	"; or ",
	" ; not ",
	"&& !",
	"|| ! ",
	"| ! ",
	"\\\n;",
	" \\\n&& ",
	"; }",
	"{ ",
	"( ",
	" )",
	"$(",
	")",
	"`",
	"#",
	" #Q\n",
}

// The simple parts are those that an administrator types. They form lines that a policy
// may accept, so that the tests do not only compare refusals.
var (
	simpleSegments = []string{
		"a",
		"a1",
		"b",
		"'a b'",
		`"a b"`,
		`\ `,
		"-n",
		"--all",
		"x=y",
		"'Q'",
		"'Q'",
		`"a"`,
		"*",
		"a*",
		"[ab]1",
		"?1",
		"é",
		"a:b",
		"a,b",
		"a@b",
		"%d",
		"+x",
		"1",
		"=",
		"''",
		`'it'\''s'`,
		"a/b",
		"./a1",
		"{}",
		"~",
		"!",
		"#",
		"^",
		"a{b",
		"日本",
		"[",
		"]",
		"-",
	}
	simpleHeads = []string{
		"show",
		"show",
		"list",
		"fail",
		"echo",
		"printf",
		"test",
		"[",
		"cat",
		"ls",
		"'show'",
		`"list"`,
		"s'ho'w",
		"! show",
		"LC_ALL=C show",
		"zz='Q' show",
	}
	simpleJoints = []string{"; ", " && ", " || ", " | ", "\n", " |\n", " &&\n", ";", "|", "&&"}
	simpleRedirs = []string{
		">out",
		"> out",
		">>out",
		"<in",
		"2>out",
		"2>&1",
		">/dev/null",
		">'out 2'",
		"2>/dev/null",
		">&2",
		"</dev/null",
		">|out",
	}
)

// Lines generates hostile lines, and plain ones. It must not be used by two goroutines at
// a time.
type Lines struct {
	Rand  *rand.Rand
	Seeds []string // known lines, from which variations are generated
}

// Next returns the next line: about two fifths are plain, the others are hostile, or a
// known line with random changes.
func (l *Lines) Next() string {
	switch n := l.Rand.IntN(20); {
	case n < 8:
		return l.commands(simpleHeads, simpleSegments, simpleRedirs, simpleJoints, 6)
	case n < 13:
		return l.commands(heads, segments, redirections, joints, 3)
	case n < 16 && len(l.Seeds) > 0:
		return l.changed(l.one(l.Seeds))
	case n < 18: // a plain line with a few hostile changes
		return l.changed(l.commands(simpleHeads, simpleSegments, simpleRedirs, simpleJoints, 6))
	default:
		var b strings.Builder
		for range 2 + l.Rand.IntN(12) {
			b.WriteString(l.piece())
		}
		return b.String()
	}
}

// one returns a random element.
func (l *Lines) one(list []string) string { return list[l.Rand.IntN(len(list))] }

// fill replaces each Q of a part by a payload, or now and then by a segment with a
// payload.
func (l *Lines) fill(part string) string {
	for strings.Contains(part, "Q") {
		// A replacement must not contain another Q, or the loop would not end.
		with := l.one(payloads)
		if l.Rand.IntN(4) == 0 {
			with = strings.Replace(l.one(segments), "Q", l.one(payloads), 1)
		}
		part = strings.Replace(part, "Q", strings.ReplaceAll(with, "Q", "q"), 1)
	}
	return part
}

// piece returns a random part of a line.
func (l *Lines) piece() string {
	return l.fill(
		l.one(
			[][]string{heads, segments, redirections, joints, segments, payloads, {" "}, {" "}, {"'"}, {`"`}}[l.Rand.IntN(10)],
		),
	)
}

// commands returns a line of up to three commands of these parts. One word in plain has a
// further segment.
func (l *Lines) commands(heads, segments, redirections, joints []string, plain int) string {
	var b strings.Builder
	for i := range 1 + l.Rand.IntN(3) {
		if i > 0 {
			b.WriteString(l.fill(l.one(joints)))
		}
		b.WriteString(l.fill(l.one(heads)))
		for range l.Rand.IntN(4) {
			b.WriteString(l.one([]string{" ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n "}[:4+l.Rand.IntN(5)]))
			b.WriteString(l.fill(l.one(segments)))
			for l.Rand.IntN(plain) == 0 {
				b.WriteString(l.fill(l.one(segments)))
			}
		}
		if l.Rand.IntN(3) == 0 {
			b.WriteString(" " + l.fill(l.one(redirections)))
		}
	}
	if l.Rand.IntN(400) == 0 { // larger than the buffers of shells
		b.WriteString(
			" '" + strings.Repeat(l.one([]string{"x", "'\\''", "é", " canary ", `\`, ";"}), 1000+l.Rand.IntN(5000)) + "'",
		)
	}
	return b.String()
}

// changed returns a line with up to three random changes: pieces inserted, removed,
// replaced or doubled.
func (l *Lines) changed(line string) string {
	for range 1 + l.Rand.IntN(3) {
		text := []rune(line)
		from := l.Rand.IntN(len(text) + 1)
		to := min(from+l.Rand.IntN(4), len(text))
		switch l.Rand.IntN(6) {
		case 0:
			text = slices.Delete(text, from, to)
		case 1:
			text = slices.Insert(text, from, slices.Clone(text[from:to])...)
		case 2:
			with := []rune(
				l.one(
					[]string{
						"'",
						`"`,
						"\\",
						"`",
						"$",
						"\\\n",
						"!",
						" ",
						"\n",
						"#",
						"{",
						"}",
						"(",
						")",
						";",
						"*",
						"~",
						"=",
						"^",
						"%",
						"\u00a0",
						"&",
						"|",
						"<",
						">",
					},
				),
			)
			text = slices.Insert(text, from, with...)
		default:
			text = slices.Replace(text, from, to, []rune(l.piece())...)
		}
		line = string(text)
	}
	return line
}

// The words with which a line could do harm: paths outside of the working folder, and
// programs that are builtins of some shells.
var (
	otherPath = regexp.MustCompile(`/['"]*\*\*|/[^\s*(';"]`)
	ownPath   = regexp.MustCompile(`/dev/null|\./|\b[ab]/b|~/|=/|//|path|/x/`)
	builtin   = regexp.MustCompile(
		`\b(kill|rm|mv|dd|mkfs|reboot|halt|poweroff|shutdown|init|telinit|killall|umount|mount|chmod|chown|logout|ulimit|suspend)\b`,
	)
)

// Harmful reports whether a line names files outside of its folder, or a harmful program.
// A test must not run such a line.
func Harmful(line string) bool {
	return otherPath.MatchString(ownPath.ReplaceAllString(line, "")) || builtin.MatchString(line) ||
		strings.Contains(line, "..")
}

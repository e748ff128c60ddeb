package marker

import (
	"bytes"
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
)

// A shell under set -x prints each command before it runs it (xtrace; fish_trace in fish, echo in csh). Then the
// commands of the typed line come back in the output: behind the start marker the eval with the command that makes
// its text, and before the end the printf of the marker. A trace takes these lines out, and leaves those of the
// command. Shells quote the words in different ways, so text is compared without quotes and backslashes.
type trace struct {
	command string // that is run
	on      bool   // the start marker was traced
	prefix  string // the shell's prefix of a traced command (PS4)
	head    []headLine
}

// A headLine is one of the lines behind the start marker.
type headLine int

const (
	makesText headLine = iota // printf 'the command in octal'
	collects                  // string collect -N
	evals                     // eval 'the command'
)

// maxTrace is how much of a line is held back that may be a trace.
const maxTrace = 16 << 10

// longestPrefix is how long an unfinished line may be that begins with the prefix of a trace.
const longestPrefix = 1 << 10

// unquoted returns text without the characters with which shells quote.
func unquoted(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(quotes, r) {
			return -1
		}
		return r
	}, text)
}

const quotes = `\'"$` + "`"

// Runs names the command. Its trace in the output differs from the trace of the rest of the line.
func (sc *Scanner) Runs(command string) { sc.trace.command = command }

// learn looks for the trace of the printf that printed the start marker, in the bytes before the marker.
func (t *trace) learn(before []byte, m Marker) {
	line := bytes.TrimRight(bytes.TrimSuffix(before, []byte("\x1e")), "\r\n")
	line = line[bytes.LastIndexAny(line, "\r\n")+1:]
	at := bytes.LastIndex(line, []byte("printf "))
	if at < 0 {
		return
	}
	s := traceParser{endParser{p: line[at:]}}
	s.text(`printf \036S=%s\037\n ` + m.nonce)
	if s.verdict() != endFound || len(unquoted(string(line[at+s.n:]))) > 0 {
		return
	}
	t.on, t.prefix, t.head = true, string(line[:at]), []headLine{makesText, collects, evals}
}

// dropHead returns p, the output after the start marker, without the lines of the trace. more says that p may begin
// with such a line that is not finished.
func (t *trace) dropHead(p []byte) (rest []byte, more bool) {
	for len(t.head) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			more = len(p) < maxTrace
			if !more {
				t.head = nil
			}
			return p, more
		}
		kind, lines := t.isHead(string(bytes.TrimRight(p[:end], "\r")))
		if lines == 0 {
			t.head = nil
			break
		}
		for ; lines > 1; lines-- {
			i := bytes.IndexByte(p[end+1:], '\n')
			if i < 0 {
				return p, true
			}
			end += 1 + i
		}
		if kind == evals {
			t.correct(string(p[:end]))
		}
		t.head = slices.DeleteFunc(t.head, func(k headLine) bool { return k == kind })
		p = p[end+1:]
	}
	return p, false
}

// correct takes the prefix from the traced eval, which begins its line. The trace of the start marker follows a prompt if
// the terminal echoed the typed line before the shell printed that prompt.
func (t *trace) correct(eval string) {
	before, _, _ := strings.Cut(eval, "eval ")
	before = strings.TrimSuffix(before, "command ")
	if strings.HasSuffix(digits.ReplaceAllString(t.prefix, "0"), digits.ReplaceAllString(before, "0")) {
		t.prefix = before
	}
}

// isHead returns which line of the trace behind the start marker a line is, and of how many lines that is, as a shell
// may print the command's line ends as they are; 0: not a line of the trace.
func (t *trace) isHead(line string) (kind headLine, lines int) {
	plain := unquoted(line)
	before, made := strings.CutSuffix(plain, "printf "+unquoted(printfOctal(t.command)))
	_, text, evaluates := strings.Cut(plain, "eval ")
	switch {
	case made && !strings.HasSuffix(before, "eval "):
		kind, lines = makesText, 1
	case strings.HasSuffix(plain, "string collect -N"):
		kind, lines = collects, 1
	case evaluates:
		kind, lines = evals, 1
		if first, _, ok := strings.Cut(t.command, "\n"); ok && text == unquoted(strings.TrimRight(first, "\r")) {
			lines += strings.Count(t.command, "\n")
		}
	}
	if !slices.Contains(t.head, kind) {
		return kind, 0
	}
	return kind, lines
}

// drop returns body without the traces of the printf that prints the end of one of the markers. held is how many bytes
// at its end may begin one. It may change body.
func (t *trace) drop(body []byte, markers ...Marker) (kept []byte, held int) {
	word := []byte("printf ")
	for at := 0; ; {
		i := bytes.Index(body[at:], word)
		if i < 0 {
			break
		}
		at += i
		n, v := 0, endNone
		for _, m := range markers {
			if length, verdict := m.parseTrace(body[at:]); verdict > v {
				n, v = length, verdict
			}
		}
		switch v {
		case endFound:
			from := t.begin(body[:at])
			body = append(body[:from], body[at+n:]...)
			at = from
		case endPartial:
			return body, len(body) - t.begin(body[:at])
		default:
			at += len(word)
		}
	}
	if !t.on { // the command may switch the trace on
		tail := body[max(0, len(body)-longestPrefix):]
		line := bytes.LastIndexByte(tail, '\n') + 1
		if line == 0 && len(tail) < len(body) { // a search through all of a long line costs more than all else
			return body, 0
		}
		return body, opening(tail[line:])
	}
	line := max(bytes.LastIndexByte(body, '\n')+1, len(body)-len(t.prefix)-maxStatus-len(word))
	for i := line; i < len(body); i++ {
		if beginsLike(t.prefix+string(word), string(body[i:])) {
			return body, len(body) - i
		}
	}
	return body, 0
}

// parseTrace reads the trace of the printf that prints the end, and returns its length with the line end.
func (m Marker) parseTrace(p []byte) (n int, v endVerdict) {
	s := traceParser{endParser{p: p}}
	s.text("printf " + m.printfArgument() + " ")
	s.number()
	if m.ascii {
		s.text(" " + m.nonce + " ")
		s.number()
		s.text(" " + m.nonce)
	}
	s.skip()
	s.lineEnd()
	return s.n, s.verdict()
}

// usualPrefix is PS4 as shells have it by default.
var usualPrefix = lazyregexp.New(`(?:\+[^\s>]*> |\++ |-*> )$`)

// openPrefix matches an unfinished line that may begin a trace: its prefix, and a part of the command.
var openPrefix = lazyregexp.New(`^(?:\+[^\s>]*(?:> ?)?|\++ ?|-+|-*> ?)(?:p|pr|pri|prin|print|printf)?$`)

// opening returns how many bytes at the end of an unfinished line may begin a trace with an unknown prefix.
func opening(line []byte) int {
	const word, longest = "printf ", 256
	if len(line) <= longest && openPrefix.Match(line) {
		return len(line)
	}
	for n := min(len(word)-1, len(line)); n > 0; n-- {
		if string(line[len(line)-n:]) == word[:n] {
			return n
		}
	}
	return 0
}

// begin returns where the trace begins in before, the output up to the traced command. The prefix that the shell
// prints belongs to the trace; output of the last command without a line end does not.
func (t *trace) begin(before []byte) int {
	line := bytes.LastIndexByte(before, '\n') + 1
	text := string(before[line:])
	for i := range text {
		if t.on && t.prefix != "" && sameButDigits(text[i:], t.prefix) {
			return line + i
		}
	}
	if loc := usualPrefix.FindStringIndex(text); !t.on && loc != nil {
		return line + loc[0]
	}
	return len(before)
}

// sameButDigits reports whether two texts are the same except for their numbers, such as the time.
func sameButDigits(a, b string) bool {
	return digits.ReplaceAllString(a, "0") == digits.ReplaceAllString(b, "0")
}

// beginsLike reports whether text begins with start, ignoring numbers.
func beginsLike(text, start string) bool {
	return strings.HasPrefix(digits.ReplaceAllString(text, "0"), digits.ReplaceAllString(start, "0"))
}

var digits = lazyregexp.New(`\d+`)

// A traceParser is an endParser of text that a shell may have quoted.
type traceParser struct{ endParser }

// text matches text, whatever quotes are in either.
func (s *traceParser) text(text string) {
	for i := 0; i < len(text) && !s.stopped(); i++ {
		if strings.IndexByte(quotes, text[i]) >= 0 {
			continue
		}
		if s.skip(); !s.stopped() {
			s.literal(text[i : i+1])
		}
	}
}

// skip passes over quotes.
func (s *traceParser) skip() {
	for !s.stopped() && s.n < len(s.p) && strings.IndexByte(quotes, s.p[s.n]) >= 0 {
		s.n++
	}
}

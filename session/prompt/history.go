package prompt

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"ptyctl/internal/lazyregexp"
	"ptyctl/session/shell"
)

// maxPrompt is how long a line may be that is remembered as a prompt, in bytes.
const maxPrompt = 200

// A History remembers the input and the prompts of a terminal, as far as they tell prompts from other lines. Make it
// with NewHistory. Any number of goroutines may call its methods.
type History struct {
	mu        sync.Mutex  // guards the following
	login     shell.Shell // its class is empty until it is known
	nested    shell.Class // of the shell that has last shown a marker; empty: none has, or it is gone
	began     shell.Class // of the shell that has shown a marker at the prompt first; empty: none has
	typed     bool        // something was typed
	loggedIn  bool        // something was typed at a line that only the end of a login shows
	first     string      // the last line when something was typed for the first time: the login shell's prompt
	touches   int         // how often a caller has typed
	lines     int         // how often a caller has ended a line, or its reader
	touchedAt int64       // the end of the output when a caller has last typed; -1: never
	entered   int64       // the end of the output when a line was last entered; -1: never
	typing    typing      // the text that callers have typed
	marks     int         // the prompts that the shell had marked when a line was last entered
	learned   []string    // lines that are known to have been prompts, the last one last
	answers   []byte      // to queries, possibly still in the last line
	ready     bool        // a marker showed that the shell is ready, and nothing was typed since
}

// maxLearned is how many prompts are remembered: those of shells within shells.
const maxLearned = 8

// NewHistory makes the history of a terminal that just opened.
func NewHistory() *History { return &History{touchedAt: -1, entered: -1} }

// An Input is something that is typed, and the terminal as it was then.
type Input struct {
	Line      string // the last one
	End       int64  // of the output
	AltScreen bool   // a program has switched to the alternate screen
	Prompts   int    // that the shell has marked so far; see View
	Text      []byte // the typed bytes; nil: a key without bytes
}

// Touch remembers that a caller types.
func (h *History) Touch(in Input) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.touchedAt = in.End
	in.Line = h.bare(in.Line)
	if bytes.ContainsAny(in.Text, "\r\n") {
		h.entered, h.marks = in.End, in.Prompts
	}
	if !in.AltScreen {
		fresh := !h.typed && endsLikePrompt(in.Line)
		h.typing.add(string(in.Text), in.Line, fresh || h.isFirst(in.Line) || h.isKnown(in.Line))
	}
	if !h.typed || IsLogin(h.first) { // an answer to a login is no command yet
		h.first = in.Line
	}
	h.typed, h.ready = true, false
	h.loggedIn = h.loggedIn || isBeyondLogin(in.Line)
	h.touches++
	if bytes.ContainsAny(in.Text, enders) {
		h.lines++
	}
	if bytes.ContainsAny(in.Text, "\r\n\x03\x04\x15") { // the line is gone, with all that stood in it
		h.answers = nil
	}
}

// Sent remembers that the text typed last is the whole line of a command.
func (h *History) Sent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typing = typing{}
}

// Pressed remembers that a key was pressed on a command's behalf.
func (h *History) Pressed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typed, h.ready = true, false
}

// Typed reports whether anything was typed.
func (h *History) Typed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.typed
}

// Touches returns how often a caller has typed.
func (h *History) Touches() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.touches
}

// Untouched reports whether nothing was typed at the last line. The line begins at start, and the output ends at end.
// Input that was entered before some output does not count: its line end may not have come back.
func Untouched(h *History, start, end int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	entered := h.entered == h.touchedAt && end > h.entered && h.typing.line == "" && !h.typing.odd
	return h.touchedAt < start || entered
}

// Entered returns how often a caller has ended a line or a program, by a line end or by a key such as ctrl_d, and the
// end of the output when a line was last entered; -1: never.
func (h *History) Entered() (n int, end int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines, h.entered
}

// Learn remembers a line that is known to have been a prompt.
func (h *History) Learn(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.learn(line)
}

// learn requires h.mu.
func (h *History) learn(line string) {
	if strings.TrimSpace(line) == "" || len(line) > maxPrompt {
		return
	}
	h.learned = append(slices.DeleteFunc(h.learned, func(l string) bool { return l == line }), line)
	h.learned = h.learned[max(0, len(h.learned)-maxLearned):]
}

// IsLearned reports whether a line has the form of the prompt that was learned.
func (h *History) IsLearned(line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isLearned(line)
}

// isLearned requires h.mu. A line that may also ask for the rest of a command is known only until something is typed.
func (h *History) isLearned(line string) bool {
	return (!isContinuation(line) || h.ready) && h.isKnown(line)
}

// isKnown reports whether a line has the form of a prompt that was learned. Requires h.mu.
func (h *History) isKnown(line string) bool {
	return slices.ContainsFunc(h.learned, func(l string) bool { return line == l || SameStem(line, l) })
}

// Marked remembers that a marker came from a shell of that class, and that before was its prompt. The shell is then
// ready, even without a visible prompt, unless touches is no longer the number of the callers' inputs.
func (h *History) Marked(class shell.Class, before string, touches int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.learn(before)
	h.nested = class
	if before == h.first {
		h.began = class
	}
	if h.ready = h.touches == touches; h.ready {
		h.typing = typing{}
	}
}

// Nest remembers that a shell shows the prompt line within the login shell. The class is empty if it is not known;
// then a prompt in the default form of POSIX shells shows it.
func (h *History) Nest(class shell.Class, line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case class != "":
		h.nested = class
		h.learn(line)
	case posixPrompt.MatchString(line):
		h.nested = shell.Posix
	}
}

// posixPrompt is a prompt that no fish and no csh has unless it is made to.
var posixPrompt = lazyregexp.New(
	`^(?:[\w.-]+@[\w.-]+:[~/][^$#%>]*[$#]|\[[\w.-]+@[\w.-]+ [^\]]*\][$#]|-?(?:ba|da|k|mk|a)?sh-\d[\w.]*[#$]|[~/][^ $#>]* [$#]) ?$`,
)

// LeavesShell reports whether a command line ends the shell that reads it, and does nothing else.
func LeavesShell(command string) bool {
	words := strings.Fields(command)
	return len(words) > 0 && len(words) < 3 && (words[0] == "exit" || words[0] == "logout") &&
		!strings.ContainsAny(command, ";&|\n#")
}

// Refused remembers that the shell could not read a line with a marker: its class is not that of the last shell that
// showed a marker.
func (h *History) Refused() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nested, h.began = "", ""
}

// Ready reports whether a marker has shown that the shell is ready and no caller has typed since. It returns the
// prompt that is due then: the last line if it ends like a prompt, else the prompt before.
func (h *History) Ready(line string) (prompt string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ready {
		return "", false
	}
	if endsLikePrompt(line) {
		h.learn(line)
	}
	if n := len(h.learned); n > 0 {
		prompt = h.learned[n-1]
	}
	return prompt, true
}

// Reacting reports whether a caller has typed and nothing has come since: the last line may be about to go, for example
// a pager's after q.
func (h *History) Reacting(end int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.touchedAt >= 0 && end <= h.touchedAt
}

// Login returns the login shell. Its class is empty until SetLogin.
func (h *History) Login() shell.Shell {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.login
}

// SetLogin says which shell is the login shell.
func (h *History) SetLogin(sh shell.Shell) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.login = sh
}

// ShellAt returns the shell that will read the next typed line. It is the class asked for, if the caller gives one.
// It is the shell that a marker has shown, if line is not the login shell's prompt. Otherwise it is the login shell.
// The class is empty if it is unknown.
func (h *History) ShellAt(line string, asked shell.Class) shell.Shell {
	h.mu.Lock()
	defer h.mu.Unlock()
	nested := h.nested
	if nested == h.login.Class || h.login.Name != "" && h.isFirst(line) && SameSign(line, h.first) {
		nested = ""
	}
	if h.login.Name == "" && h.began != "" && line == h.first { // back where it began, from a shell of another class
		nested = h.began
	}
	switch {
	case asked != "" && asked != h.login.Class:
		return shell.Shell{Class: asked}
	case asked == "" && nested != "":
		return shell.Shell{Class: nested}
	}
	return h.login
}

// isFirst reports whether a line has the form of the prompt that the terminal began with. One that does not end as
// prompts do must be the very same. Requires h.mu.
func (h *History) isFirst(line string) bool {
	switch {
	case strings.TrimSpace(h.first) == "" || Waits(h.first, nil) != nil:
		return false
	case endsLikePrompt(h.first):
		return line == h.first || SameStem(line, h.first)
	}
	return line == h.first && Asks(line) == nil && !ellipsis.MatchString(strings.TrimRight(line, " "))
}

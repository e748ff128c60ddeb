package prompt

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	first     string      // the last line when something was typed for the first time: the login shell's prompt
	touches   int         // how often a caller has typed
	touchedAt int64       // the end of the output when a caller has last typed; -1: never
	entered   int64       // the end of the output when a line was last entered; -1: never
	half      bool        // what was typed last is not entered: the last line may hold it
	marks     int         // the prompts that the shell had marked when a line was last entered
	learned   string      // a line that is known to have been a prompt
	ready     bool        // a marker showed that the shell is ready, and nothing was typed since
}

// NewHistory makes the history of a terminal that just opened.
func NewHistory() *History { return &History{touchedAt: -1, entered: -1} }

// An Input is something that is typed, and the terminal as it was then.
type Input struct {
	Line    string // the last one
	End     int64  // of the output
	Prompts int    // that the shell has marked so far; see View
	Text    []byte // what is typed; nil: a key without bytes
}

// enders are the bytes after which a line editor's line is empty: line ends, and the keys that discard the line.
const enders = "\r\n\x03\x04\x15\x1c"

// Touch remembers that a caller types.
func (h *History) Touch(in Input) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.touchedAt = in.End
	if bytes.ContainsAny(in.Text, "\r\n") {
		h.entered, h.marks = in.End, in.Prompts
	}
	if n := len(in.Text); n > 0 {
		h.half = strings.IndexByte(enders, in.Text[n-1]) < 0
	}
	if !h.typed || IsLogin(h.first) { // what answers a login is no command yet
		h.first = in.Line
	}
	h.typed, h.ready = true, false
	h.touches++
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

// Learn remembers a line that is known to have been a prompt.
func (h *History) Learn(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.learn(line)
}

// learn requires h.mu.
func (h *History) learn(line string) {
	if strings.TrimSpace(line) != "" && len(line) <= maxPrompt {
		h.learned = line
	}
}

// IsLearned reports whether a line has the form of the prompt that was learned.
func (h *History) IsLearned(line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isLearned(line)
}

// isLearned requires h.mu. A line that may also ask for the rest of a command is known only until something is typed.
func (h *History) isLearned(line string) bool {
	if isContinuation(line) && !h.ready {
		return false
	}
	return h.learned != "" && (line == h.learned || SameStem(line, h.learned))
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
	h.ready = h.touches == touches
}

// Nest remembers that a shell shows the prompt line within the login shell. The class is empty if it is not known; then
// a prompt of the form that POSIX shells have by default tells it.
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
var posixPrompt = regexp.MustCompile(
	`^(?:[\w.-]+@[\w.-]+:[~/][^$#%>]*[$#]|\[[\w.-]+@[\w.-]+ [^\]]*\][$#]|-?(?:ba|da|k|mk|a)?sh-\d[\w.]*[#$]|[~/][^ $#>]* [$#]) ?$`,
)

// runsCommand is an option of a shell that is to run a command, and not to read any: -c, -lc.
var runsCommand = regexp.MustCompile(`^-[a-z]*c$`)

// StartedBy returns the class of the shell that a command line names, as "bash", "sudo -i zsh" and
// "docker exec -it web sh" do; empty: none, or one that runs a command.
func StartedBy(command string) shell.Class {
	words := strings.Fields(command)
	if slices.ContainsFunc(words, func(w string) bool { return runsCommand.MatchString(w) }) {
		return ""
	}
	for _, w := range slices.Backward(words) {
		if sh := shell.Named(w[strings.LastIndexByte(w, '/')+1:]); sh.Class != shell.Unknown {
			return sh.Class
		}
	}
	return ""
}

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
	return h.learned, true
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

// isFirst reports whether a line has the form of the prompt that the terminal began with. Requires h.mu.
func (h *History) isFirst(line string) bool {
	return endsLikePrompt(h.first) && Waits(h.first, nil) == nil && (line == h.first || SameStem(line, h.first))
}

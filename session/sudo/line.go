package sudo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptyctl/quote"
)

// Program is the first word of a line that the rules judge.
const Program = "sudo"

// A Command is one command for sudo.
type Command struct {
	typed  bool      // into a terminal, where sudo reads the password from the terminal itself
	nonce  [2]string // of the question
	prompt string    // with which sudo asks: it is in no argument, so that no echo and no trace of the line looks like it
	begins [2]string // of the announcement
	began  string    // printed on stderr when sudo has started the command; empty: nothing says so
	state
}

// New returns a command. If announced is set, a shell that sudo runs says on stderr that it has begun, and then runs
// the command: the rest of its standard input is the command's own. Accounts that may run single programs alone
// cannot run that shell.
func New(announced bool) *Command {
	c := &Command{nonce: nonce(), state: newState()}
	c.prompt = c.question("%")
	if announced {
		c.begins = nonce()
		c.began = c.begins[0] + "-" + c.begins[1] + "\n"
	}
	return c
}

// Typed returns a command for a terminal.
func Typed() *Command {
	c := New(false)
	c.typed = true
	return c
}

// nonce returns the halves of a word that no far side can guess.
func nonce() [2]string {
	text := rand.Text()
	return [2]string{"ptyctl-" + text[:10], text[10:20]}
}

// question returns the question with percent between the halves of the nonce. sudo(8) prints one % for two.
func (c *Command) question(percent string) string {
	return "[sudo] password " + c.nonce[0] + percent + c.nonce[1] + ": "
}

// IsQuestion reports whether a line of a terminal is sudo's question.
func (c *Command) IsQuestion(line string) bool {
	return strings.Contains(line, strings.TrimSpace(c.prompt))
}

// Words returns the words by which sudo runs a line for a shell: the words of the line if it is one program with plain
// arguments, so that a rule for that program also permits this; else those of a shell that runs the line. Options of
// sudo are no words of a command.
func Words(line string) []string {
	words := strings.Fields(line)
	if len(words) > 2 && words[0] == Program && words[1][0] != '-' { // as it would be typed
		words = words[1:]
	}
	if strings.ContainsAny(strings.TrimSpace(line), "\r\n") || len(words) == 0 || Check(words) != nil || shellsOwn(words[0]) ||
		slices.ContainsFunc(words, func(w string) bool { return !plain(w) }) {
		return []string{"sh", "-c", line}
	}
	return words
}

// plain reports whether every shell reads a word as it is.
func plain(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool {
		return !quote.Plain(string(r)) && !strings.ContainsRune(",@%=", r)
	}) < 0
}

// shellsOwn reports whether only a shell runs a command of that name (POSIX.1-2024, 2.9.1.4 and 2.4).
func shellsOwn(name string) bool {
	return strings.Contains(" : . alias bg break case cd command continue do done elif else esac eval exec exit export fc fg fi "+
		"for function getopts hash if in jobs read readonly return select set shift source then time times trap type "+
		"ulimit umask unalias unset until wait while ", " "+name+" ")
}

// Check returns why sudo would not take the words for a command.
func Check(words []string) error {
	switch {
	case len(words) == 0 || words[0] == "":
		return errors.New("the program's name is empty")
	case words[0][0] == '-':
		return fmt.Errorf("%q is an option of sudo, and its options are not the caller's; name a program first", words[0])
	case strings.Contains(words[0], "="):
		return fmt.Errorf("%q sets a variable of sudo; run env with it instead", words[0])
	}
	return nil
}

// ErrShell says that no form of the line is known for the far side's shell.
var ErrShell = errors.New("sudo is run in POSIX shells, fish and csh alone")

// Line returns the line to run. judged is the line with sudo and its words as the rules have allowed it, for a shell of
// the class.
func (c *Command) Line(class, judged string) (string, error) {
	if !quote.Known(class) {
		return "", ErrShell
	}
	rest, ok := strings.CutPrefix(judged, "'"+Program+"' ")
	if !ok {
		rest, ok = strings.CutPrefix(judged, Program+" ")
	}
	if !ok {
		return "", errors.New("the allowed line does not begin with sudo")
	}
	words := []string{Program, "-k", "-S", "-p", c.question("%%"), "--"}
	if c.typed {
		words = slices.Delete(words, 2, 3)
	}
	if c.began != "" {
		words = append(words, "sh", "-c", `printf '%s-%s\n' "$0" "$1" >&2; shift; exec "$@"`, c.begins[0], c.begins[1])
	}
	line, err := quote.Line(class, words)
	return line + " " + rest, err
}

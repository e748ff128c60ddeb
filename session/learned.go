package session

import (
	"regexp"
	"strings"
)

// maxStem is how much of a prompt's start identifies the far side: devices abbreviate long names in their
// configuration modes after about so much.
const maxStem = 16

// learn remembers a line that is known to have been a prompt.
func (s *Session) learn(line string) {
	if strings.TrimSpace(line) == "" || len(line) > 200 {
		return
	}
	s.mu.Lock()
	s.prompt = line
	s.mu.Unlock()
}

// learned returns the last line that is known to have been a prompt; empty: none.
func (s *Session) learned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt
}

// isLearned reports whether a line has the form of the prompt that was learned.
func (s *Session) isLearned(line string) bool {
	prompt := s.learned()
	return prompt != "" && (line == prompt || sameStem(line, prompt))
}

// promptTail is how prompts end.
var promptTail = regexp.MustCompile(`[$#%>\]❯➜»] ?$`)

// promptTails are the characters that prompts end in, but for the bracket.
const promptTails = "$#%>❯➜»"

// sameStem reports whether two lines are prompts of the same far side: they end like prompts and begin with the
// same name, as in r1>, r1# and r1(config)#, or user@host:~$ and user@host:/tmp$. A prompt with something typed
// after it, and text that ends in a percentage, are none.
func sameStem(a, b string) bool {
	if !promptTail.MatchString(a) || !promptTail.MatchString(b) || tails(a) != tails(b) {
		return false
	}
	if percent := func(s string) bool { return strings.HasSuffix(strings.TrimRight(s, " "), "%") }; percent(
		a,
	) != percent(
		b,
	) {
		return false
	}
	x, y := stem(a), stem(b)
	return x != "" && x == y
}

// tails counts the characters in line that prompts end in.
func tails(line string) (n int) {
	for _, c := range line {
		if strings.ContainsRune(promptTails, c) {
			n++
		}
	}
	return n
}

// stem is the start of a prompt up to the first character that changes with mode or directory.
func stem(line string) string {
	end := strings.IndexAny(line, "(:>#$% ~")
	if end < 0 {
		end = len(line)
	}
	return line[:min(end, maxStem)]
}

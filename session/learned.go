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

var promptTail = regexp.MustCompile(`[$#%>\]❯➜»] ?$`)

// sameStem reports whether two lines are prompts of the same far side: they end like prompts and begin with the
// same name, as in r1>, r1# and r1(config)#, or user@host:~$ and user@host:/tmp$.
func sameStem(a, b string) bool {
	if !promptTail.MatchString(a) || !promptTail.MatchString(b) {
		return false
	}
	x, y := stem(a), stem(b)
	return x != "" && x == y
}

// stem is the start of a prompt up to the first character that changes with mode or directory.
func stem(line string) string {
	end := strings.IndexAny(line, "(:>#$% ~")
	if end < 0 {
		end = len(line)
	}
	return line[:min(end, maxStem)]
}

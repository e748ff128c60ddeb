package prompt

import "strings"

// LoggedIn reports whether a login in the terminal is over: something was typed at a line that looks like a prompt and
// is no question, for a second factor say, or a shell has shown a marker.
func (h *History) LoggedIn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.nested != "" || h.loggedIn
}

// isBeyondLogin reports whether a line is one that only the end of a login shows.
func isBeyondLogin(line string) bool {
	return endsLikePrompt(line) && !IsLogin(line) && Asks(line) == nil
}

// Known reports whether a line is a prompt that was seen before, alone or with text that was typed and not entered, so
// that nothing but a shell has the terminal.
func (h *History) Known(line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if line = h.bare(line); len(line) > 4*maxPrompt { // too costly to judge, for how often the far side may want it
		return false
	}
	return strings.TrimSpace(line) != "" && (h.wasSeen(line) || h.halfTyped(line) && h.wasSeen(h.typing.at))
}

// BeganAtDevice reports whether the terminal began at a line that looks like a network device's prompt.
func (h *History) BeganAtDevice() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return isDevice(h.first)
}

package prompt

import "strings"

// LoggedIn reports whether a login in the terminal is over: something was typed at another line than one of its
// questions, or a shell has shown a marker.
func (h *History) LoggedIn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.nested != "" || h.typed && strings.TrimSpace(h.first) != "" && !IsLogin(h.first)
}

// Known reports whether a line is a prompt that was seen before, so that nothing but a shell has the terminal.
func (h *History) Known(line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if line = h.bare(line); len(line) > 4*maxPrompt { // too costly to judge, for how often the far side may want it
		return false
	}
	return strings.TrimSpace(line) != "" && h.wasSeen(line)
}

// BeganAtDevice reports whether the terminal began at a line that looks like a network device's prompt.
func (h *History) BeganAtDevice() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return isDevice(h.first)
}

package shelltest

// Minimize removes the parts of a line that are not needed for fails to return true. It
// calls fails at most tries times.
func Minimize(line string, tries int, fails func(string) bool) string {
	text := []rune(line)
	// Large pieces first: most lines need only a small part.
	for size := len(text) / 2; size > 0; {
		cut := false
		for from := 0; from+size <= len(text) && tries > 0; {
			shorter := append(append([]rune{}, text[:from]...), text[from+size:]...)
			if tries--; fails(string(shorter)) {
				text, cut = shorter, true
			} else {
				from += max(size/2, 1)
			}
		}
		if tries <= 0 {
			break
		}
		if !cut || size > 1 {
			size /= 2
		}
	}
	return string(text)
}

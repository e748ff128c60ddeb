package shelltest

// Minimize cuts from a line what it can do without for fails to hold. It asks at most tries times.
func Minimize(line string, tries int, fails func(string) bool) string {
	text := []rune(line)
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

package vt

// LastLine returns the unfinished last line of raw as a screen shows it; prompt patterns
// match this text. raw is the output since the last line feed, or more; a few KiB are enough.
// For a terminal of known width, or for the cursor, use Cleaner.Line.
//
// The result has blanks in place of tabs and of the gap before a right prompt.
func LastLine(raw []byte) string {
	var c Cleaner
	c.Append(nil, raw)
	text, _ := c.Line()
	return text
}

// Lines returns the lines of raw as a screen shows them. The last element is the unfinished
// line, or empty if raw ends with a line feed.
func Lines(raw []byte) []string {
	var c Cleaner
	c.line.expand = true
	var lines []string
	start := 0
	text := c.Append(nil, raw)
	for i, b := range text {
		if b == lf {
			lines = append(lines, string(text[start:i]))
			start = i + 1
		}
	}
	last, _ := c.Line()
	return append(lines, string(text[start:])+last)
}

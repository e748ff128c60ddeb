package vt

// LastLine returns the unfinished last line of raw as a person sees it: what prompt patterns are matched on. raw is
// the output since the last line feed, or more; a few KiB are enough. For a terminal of known width, and for the
// place of the cursor, use Cleaner.Line.
//
// Tabs are blanks here, and so is what a right prompt leaves free before it.
func LastLine(raw []byte) string {
	var c Cleaner
	c.Append(nil, raw)
	text, _ := c.Line()
	return text
}

// Lines returns the lines of raw as a person sees them, the unfinished last one included, which is empty if raw ends
// with a line feed.
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

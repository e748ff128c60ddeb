package output

import (
	"bytes"
	"regexp"

	"ptyctl/buffer"
	"ptyctl/vt"
)

// lookBack is how much of the unfinished line is looked at.
const lookBack = 16 << 10

// Waits reports whether the unfinished last line of b, as a person sees it, matches one of the patterns, and something
// of it came after the cursor from. The line ends at the end that st names.
func Waits(b *buffer.Buffer, st buffer.Stat, from int64, patterns []*regexp.Regexp) bool {
	if st.End <= from {
		return false
	}
	begin := max(st.End-lookBack, b.Begin(st.End))
	sl := b.At(begin, int(st.End-begin))
	cut := bytes.LastIndexByte(sl.Data, '\n') + 1
	sl.Data, sl.Start = sl.Data[cut:], sl.Start+int64(cut)
	line := vt.LastLine(sl.Data)
	for _, re := range patterns {
		if loc := re.FindIndex(sl.Data); loc != nil && sl.Start+int64(loc[1]) > from {
			return true
		}
		// The text that a shell draws behind its prompt cannot be seen: the pattern's $ means the end of the visible
		// part.
		if loc := re.FindStringIndex(line); loc != nil && loc[1] == len(line) {
			return true
		}
	}
	return false
}

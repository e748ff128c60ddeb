package mask

// units are the words that may follow a number of a duration, the longer before their beginnings.
var units = []string{
	"years", "year", "yrs", "yr", "months", "month", "weeks", "week", "wks", "wk", "days", "day", "hours", "hour", "hrs",
	"hr", "minutes", "minute", "mins", "min", "seconds", "second", "secs", "sec", "msec", "ms", "us", "y", "w", "d", "h",
	"m", "s",
}

// maxElements bounds the work for lines that no clock has written.
const maxElements = 10

// duration returns the end of the duration at i, or 0: 3 days, 4:30; 1 hour and 5 minutes; 3w2d 05:06; 125 day(s).
func duration(line []byte, i int) int {
	end := 0
	for at, elements := i, 0; ; elements++ {
		n := element(line, at)
		if n == 0 || elements == maxElements {
			return end
		}
		end = at + n
		at = end
		if at < len(line) && line[at] == ',' {
			at++
		}
		at = spaces(line, at)
		if foldPrefix(line, at, "and ") {
			at = spaces(line, at+4)
		}
	}
}

// element returns the length of one number with its unit, or of a time such as 4:30 or 05:06:07.
func element(line []byte, i int) int {
	d := digits(line, i)
	if d == i || d > i+9 {
		return 0
	}
	if d < len(line) && line[d] == ':' {
		end := digits(line, d+1)
		if end == d+3 && end < len(line) && line[end] == ':' && digits(line, end+1) == end+3 {
			end += 3
		}
		if end < d+3 || end > d+6 || !ends(line, end) {
			return 0
		}
		return end - i
	}
	if d+1 < len(line) && line[d] == '.' && isDigit(line[d+1]) {
		d = digits(line, d+1)
	}
	at := spaces(line, d)
	if at > d+1 || at >= len(line) || !isWord(line[at]) || isDigit(line[at]) {
		return 0
	}
	for _, u := range units {
		if !foldPrefix(line, at, u) {
			continue
		}
		end := at + len(u)
		if foldPrefix(line, end, "(s)") {
			end += 3
		}
		// 3w2d has no space between its elements.
		if ends(line, end) || at == d && len(u) == 1 && isDigit(line[end]) {
			return end - i
		}
	}
	return 0
}

// uptimeWord returns the length of uptime or up time.
func uptimeWord(line []byte, i int) int {
	for _, word := range []string{"uptime", "up time"} {
		if foldPrefix(line, i, word) {
			return len(word)
		}
	}
	return 0
}

// uptime finds a duration after the word up, at the begin of a line, after a time or in a column; or after uptime.
func (m *Mask) uptime(line []byte, i int) (from, to int, token string) {
	if word := uptimeWord(line, i); word > 0 {
		from = afterUptime(line, i+word)
		if from == 0 {
			return 0, 0, ""
		}
		if to = duration(line, from); to == 0 {
			if to = digits(line, from); to < len(line) && line[to] == '.' {
				to = digits(line, to+1)
			}
			// A number alone is one of seconds only if nothing but a mark is before it.
			if to == from || !ends(line, to) || isWord(line[max(0, spacesBefore(line, from)-1)]) {
				return 0, 0, ""
			}
		}
		return from, to, uptimeToken
	}
	if !foldPrefix(line, i, "up") || !ends(line, i+2) || i+2 == len(line) {
		return 0, 0, ""
	}
	before := spacesBefore(line, i)
	known := false // a time or the host precedes it
	if n := len(m.spans); n > 0 && m.spans[n-1].to == before {
		known = m.spans[n-1].token == timeToken || m.spans[n-1].token == hostToken
	}
	if before != 0 && !known && i-before < 2 {
		return 0, 0, ""
	}
	from = spaces(line, i+2)
	if to = duration(line, from); to == 0 || from == i+2 {
		return 0, 0, ""
	}
	return from, to, uptimeToken
}

// spacesBefore returns the begin of the spaces that end at i.
func spacesBefore(line []byte, i int) int {
	for i > 0 && (line[i-1] == ' ' || line[i-1] == '\t') {
		i--
	}
	return i
}

// afterUptime returns the begin of the value after the word uptime, or 0.
func afterUptime(line []byte, i int) int {
	for _, words := range []string{" for this control processor", "_seconds", " (seconds)", " in seconds"} {
		if foldPrefix(line, i, words) {
			i += len(words)
			break
		}
	}
	begin := i
	i = spaces(line, i)
	if foldPrefix(line, i, "is ") {
		return spaces(line, i+3)
	}
	for i < len(line) && (line[i] == ':' || line[i] == '=' || line[i] == '"' || line[i] == '\'') {
		i++
	}
	if i = spaces(line, i); i < len(line) && line[i] == '"' {
		i++
	}
	if i == begin || i >= len(line) || !isDigit(line[i]) {
		return 0
	}
	return i
}

// ago returns the length of a duration that is followed by ago, or 0.
func ago(line []byte, i int) int {
	if !isDigit(line[i]) {
		return 0
	}
	end := duration(line, i)
	word := spaces(line, end)
	if end == 0 || word == end || !foldPrefix(line, word, "ago") || !ends(line, word+len("ago")) {
		return 0
	}
	return end - i
}

// bootTime finds the seconds in the [12345.678901] that begins a line of dmesg.
func bootTime(line []byte, i int) (from, to int, token string) {
	if spacesBefore(line, i) != 0 {
		return 0, 0, ""
	}
	from = spaces(line, i+1)
	d := digits(line, from)
	if d == from || d >= len(line) || line[d] != '.' {
		return 0, 0, ""
	}
	to = digits(line, d+1)
	if to != d+7 || to >= len(line) || line[to] != ']' {
		return 0, 0, ""
	}
	return i + 1, to, uptimeToken
}

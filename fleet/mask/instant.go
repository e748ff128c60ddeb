package mask

import "bytes"

// instant returns the length of the time at i, with the date around it, or 0. The parts of a date may come in any
// order in which they are written; see parts.
func instant(line []byte, i int) int {
	if i > 0 && (line[i-1] == ':' || line[i-1] == '.') {
		return 0
	}
	if !isDigit(line[i]) && name(line, i, weekdays) == 0 && name(line, i, months) == 0 {
		return 0
	}
	var p parts
	end := i
	for at := i; ; {
		n := p.next(line, at)
		if n == 0 {
			break
		}
		end = at + n
		if at = separator(line, end, p); at == 0 {
			break
		}
	}
	if !p.clock {
		return 0
	}
	if !p.seconds && !p.half && !p.month && !p.weekday && !p.iso {
		if next := spaces(line, end); next == end || !foldPrefix(line, next, "up ") { // 4:30  up 3 days
			return 0
		}
	}
	return end - i
}

// fixedWords are words before a time that does not come from a clock, but from a release or a certificate. It is
// equal on similar hosts; where it differs, people look for that difference.
var fixedWords = [][]byte{
	[]byte("compil"), []byte("build"), []byte("built"), []byte("release"), []byte(" smp"), []byte("not before"),
	[]byte("not after"), []byte("notbefore"), []byte("notafter"), []byte("expir"), []byte("valid"),
}

// fixed reports whether one of these words is shortly before a time.
func fixed(before []byte) bool {
	const near = 60 // bytes
	text := bytes.ToLower(before[max(0, len(before)-near):])
	for _, word := range fixedWords {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}

// parts are those parts of a time that were found.
type parts struct {
	weekday, month, day, year, iso bool
	clock, seconds, half, zone     bool
}

// separator returns the begin of the next part after a separator at i, or 0.
func separator(line []byte, i int, p parts) int {
	if i >= len(line) {
		return 0
	}
	next := spaces(line, i)
	switch {
	case line[i] == 'T' && p.iso && !p.clock, line[i] == ':' && p.year && !p.clock:
		return i + 1
	case (line[i] == ',' || line[i] == '.') && !p.clock:
		return spaces(line, i+1)
	case next > i && next-i <= 2:
		if foldPrefix(line, next, "at ") && !p.clock {
			return next + 3
		}
		return next
	case p.clock && !p.zone: // a zone may follow at once
		return i
	}
	return 0
}

// next returns the length of the part at i that may follow those found, and notes it, or 0.
func (p *parts) next(line []byte, i int) int {
	if i >= len(line) {
		return 0
	}
	dated := p.month || p.iso
	// After a time of day, words such as Sun and May are only parts of a date if more of it follows.
	if n := name(line, i, weekdays); n > 0 && !p.weekday && (!p.clock || dateFollows(line, i+n, !dated)) {
		p.weekday = true
		return n
	}
	if n := name(line, i, months); n > 0 && !dated && (!p.clock || p.day || dateFollows(line, i+n, false)) {
		p.month = true
		return n
	}
	if n := isoDate(line, i); n > 0 && !dated && !p.day {
		p.iso, p.year = true, true
		return n
	}
	if n := slashDate(line, i); n > 0 && !dated && !p.day && !p.clock {
		p.month, p.day, p.year = true, true, true
		return n
	}
	if n, seconds := clock(line, i); n > 0 && !p.clock {
		p.clock, p.seconds = true, seconds
		if h := half(line, i+n); h > 0 {
			p.half = true
			return n + h
		}
		return n
	}
	if p.clock && !p.zone {
		if n := zone(line, i); n > 0 {
			p.zone = true
			return n
		}
	}
	n := digits(line, i) - i
	if n == 0 || !ends(line, i+n) || i+n < len(line) && line[i+n] == '-' {
		return 0
	}
	value := number(line[i : i+n])
	switch {
	case n <= 2 && !p.day && !p.iso && value >= 1 && value <= 31 && (p.month || beforeMonth(line, i+n)):
		p.day = true
		return n
	case n == 4 && !p.year && plausible(line[i:i+n]) && p.yearHere(line, i+n):
		p.year = true
		return n
	}
	return 0
}

// yearHere reports whether the number that ends at i can be the year: with the day before the time, before the month,
// or behind the time of a date that a number of something else does not follow.
func (p *parts) yearHere(line []byte, i int) bool {
	if !p.clock {
		return p.month && p.day || beforeMonth(line, i)
	}
	return p.month && p.seconds && (p.weekday || i == len(line) || zone(line, spaces(line, i)) > 0)
}

// dateFollows reports whether a day or a date follows after a space or a comma; also the name of a month, if named.
func dateFollows(line []byte, i int, named bool) bool {
	if i < len(line) && (line[i] == ',' || line[i] == '.') {
		i++
	}
	next := spaces(line, i)
	if next == i || next >= len(line) {
		return false
	}
	return isDigit(line[next]) || named && name(line, next, months) > 0
}

// beforeMonth reports whether the name of a month follows.
func beforeMonth(line []byte, i int) bool {
	if i < len(line) && line[i] == '.' {
		i++
	}
	next := spaces(line, i)
	return next > i && name(line, next, months) > 0
}

// plausible reports whether a number can be the year of a clock.
func plausible(year []byte) bool { n := number(year); return n >= 1970 && n < 2100 }

func number(text []byte) int {
	n := 0
	for _, c := range text {
		n = 10*n + int(c-'0')
	}
	return n
}

var (
	weekdays = []string{
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
		"mon", "tue", "wed", "thu", "fri", "sat", "sun",
	}
	months = []string{
		"january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec", "mai", "okt", "dez",
	}
	zones = []string{
		"UTC", "GMT", "CET", "CEST", "EET", "EEST", "WET", "WEST", "BST", "IST", "MSK", "EST", "EDT", "CST", "CDT", "MST",
		"MDT", "PST", "PDT", "AKST", "AKDT", "HST", "JST", "KST", "SGT", "HKT", "AEST", "AEDT", "ACST", "AWST", "NZST",
		"NZDT", "SAST", "BRT", "ART", "Z",
	}
)

// begins has the first two letters of the weekdays and months, as their numbers in the alphabet: most words are
// neither.
var begins = func() (begins [32][32]bool) {
	for _, list := range [][]string{weekdays, months} {
		for _, n := range list {
			begins[n[0]&0x1f][n[1]&0x1f] = true
		}
	}
	return begins
}()

// name returns the length of the name at i, which ends there as a word.
func name(line []byte, i int, list []string) int {
	if len(line)-i < 3 || line[i]|0x20 < 'a' || line[i]|0x20 > 'z' || line[i+1]|0x20 < 'a' || line[i+1]|0x20 > 'z' ||
		!begins[line[i]&0x1f][line[i+1]&0x1f] {
		return 0
	}
	for _, n := range list {
		if foldPrefix(line, i, n) && ends(line, i+len(n)) {
			return len(n)
		}
	}
	return 0
}

// isoDate returns the length of 2026-11-26 or 2026/11/26.
func isoDate(line []byte, i int) int {
	if len(line)-i < 10 || digits(line, i) != i+4 || digits(line, i+5) != i+7 || digits(line, i+8) != i+10 ||
		line[i+4] != line[i+7] || line[i+4] != '-' && line[i+4] != '/' || !plausible(line[i:i+4]) {
		return 0
	}
	return 10
}

// slashDate returns the length of 26/Nov/2026 or 26-Nov-2026, as in the logs of servers.
func slashDate(line []byte, i int) int {
	d := digits(line, i)
	if d == i || d > i+2 || len(line)-d < 9 || line[d] != '/' && line[d] != '-' || line[d+4] != line[d] ||
		name(line, d+1, months) != 3 || digits(line, d+5) != d+9 {
		return 0
	}
	return d + 9 - i
}

// clock returns the length of 4:30, 04:30:14 or 04:30:14.123456.
func clock(line []byte, i int) (n int, seconds bool) {
	h := digits(line, i)
	if h == i || h > i+2 || number(line[i:h]) > 23 || h >= len(line) || line[h] != ':' {
		return 0, false
	}
	m := digits(line, h+1)
	if m != h+3 || line[h+1] > '5' {
		return 0, false
	}
	end := m
	if m < len(line) && line[m] == ':' {
		if end = digits(line, m+1); end != m+3 || line[m+1] > '6' {
			return 0, false
		}
		seconds = true
		if end+1 < len(line) && (line[end] == '.' || line[end] == ',') && isDigit(line[end+1]) {
			end = digits(line, end+1)
		}
	}
	if end < len(line) && (line[end] == ':' || isWord(line[end]) && line[end] != 'Z' && half(line, end) == 0) {
		return 0, false
	}
	return end - i, seconds
}

// half returns the length of AM or PM, with the space before it.
func half(line []byte, i int) int {
	at := i
	if at < len(line) && line[at] == ' ' {
		at++
	}
	if (foldPrefix(line, at, "am") || foldPrefix(line, at, "pm")) && ends(line, at+2) {
		return at + 2 - i
	}
	return 0
}

// zone returns the length of the name of a zone, or of an offset such as +01:00.
func zone(line []byte, i int) int {
	if i >= len(line) {
		return 0
	}
	if c := line[i]; c == '+' || c == '-' {
		return offset(line, i)
	}
	if line[i] < 'A' || line[i] > 'Z' {
		return 0
	}
	for _, z := range zones {
		if end := i + len(z); end <= len(line) && string(line[i:end]) == z && ends(line, end) {
			return len(z)
		}
	}
	return 0
}

// offset returns the length of +0100 or +01:00, or of +01 at once after the time.
func offset(line []byte, i int) int {
	end := digits(line, i+1)
	minutes := end - 2
	switch {
	case end == i+3 && end+2 < len(line) && line[end] == ':' && digits(line, end+1) == end+3:
		minutes = end + 1
		end += 3
	case end == i+3 && isDigit(line[i-1]):
		if number(line[i+1:end]) <= 14 && ends(line, end) {
			return end - i
		}
		return 0
	case end != i+5:
		return 0
	}
	if number(line[i+1:i+3]) > 14 || number(line[minutes:minutes+2])%15 != 0 || !ends(line, end) {
		return 0
	}
	return end - i
}

package mask

import (
	"bytes"
	"slices"
)

// pid finds the number after pid, which begins a word or a part of one: PID 12, Main PID: 12, MainPID=12, "pid":12,
// ppid=12; and after Process: in systemctl status.
func pid(line []byte, i int) (from, to int, token string) {
	at := i
	switch {
	case foldPrefix(line, i, "pid"):
		at += 3
	case foldPrefix(line, i, "ppid"):
		at += 4
	case bytes.HasPrefix(line[i:], []byte("Process: ")):
		from = i + len("Process: ")
		if to = digits(line, from); to == from || !bytes.HasPrefix(line[to:], []byte(" Exec")) {
			return 0, 0, ""
		}
		return from, to, pidToken
	default:
		return 0, 0, ""
	}
	if at < len(line) && isWord(line[at]) {
		return 0, 0, ""
	}
	from = at
	for from < len(line) && bytes.IndexByte([]byte(" \t:=#\"'"), line[from]) >= 0 && from < at+8 {
		from++
	}
	to = digits(line, from)
	decimal := to+1 < len(line) && line[to] == '.' && isDigit(line[to+1])
	if from == at || to == from || to > from+10 || !ends(line, to) || decimal {
		return 0, 0, ""
	}
	return from, to, pidToken
}

// maxTag is the most bytes of the name of a program in a log.
const maxTag = 128

// tagPID finds the number in NAME[NUMBER]: at a name.
func tagPID(line []byte, i int) (from, to int, token string) {
	at := i
	for at < len(line) && at < i+maxTag && (isWord(line[at]) || bytes.IndexByte([]byte("-./@()"), line[at]) >= 0) {
		at++
	}
	if at == i || at >= len(line) || line[at] != '[' {
		return 0, 0, ""
	}
	to = digits(line, at+1)
	if to == at+1 || to > at+11 || to+1 >= len(line) || line[to] != ']' || line[to+1] != ':' {
		return 0, 0, ""
	}
	return at + 1, to, pidToken
}

// treePID finds the number after the lines of a tree, as systemctl status draws it: ├─812 /usr/sbin/sshd.
func treePID(line []byte, i int) (from, to int, token string) {
	if slices.ContainsFunc(line[:i], isWord) {
		return 0, 0, ""
	}
	for _, branch := range []string{"├─", "└─", "|-", "`-"} {
		if !bytes.HasPrefix(line[i:], []byte(branch)) {
			continue
		}
		from = spaces(line, i+len(branch))
		if to = digits(line, from); to > from && to <= from+10 && to < len(line) && line[to] == ' ' {
			return from, to, pidToken
		}
	}
	return 0, 0, ""
}

// load finds the numbers after load average: or load averages:.
func load(line []byte, i int) (from, to int, token string) {
	if !foldPrefix(line, i, "load average") {
		return 0, 0, ""
	}
	at := i + len("load average")
	if foldPrefix(line, at, "s") {
		at++
	}
	at = spaces(line, at)
	if at >= len(line) || line[at] != ':' {
		return 0, 0, ""
	}
	from = spaces(line, at+1)
	at = from
	for range 3 {
		end := digits(line, at)
		if end > at && end+1 < len(line) && (line[end] == '.' || line[end] == ',') && isDigit(line[end+1]) {
			end = digits(line, end+1)
		}
		if end == at {
			break
		}
		to = end
		if at = end; at < len(line) && line[at] == ',' {
			at++
		}
		at = spaces(line, at)
	}
	return from, to, loadToken
}

// loadLine returns the length of the line if it is that of /proc/loadavg: 0.00 0.01 0.05 1/123 4567.
func loadLine(line []byte) int {
	at := 0
	for range 3 {
		d := digits(line, at)
		if d == at || d+3 >= len(line) || line[d] != '.' || digits(line, d+1) != d+3 || line[d+3] != ' ' {
			return 0
		}
		at = d + 4
	}
	running := digits(line, at)
	if running == at || running >= len(line) || line[running] != '/' {
		return 0
	}
	all := digits(line, running+1)
	if all == running+1 || all >= len(line) || line[all] != ' ' {
		return 0
	}
	if last := digits(line, all+1); last == all+1 || last != len(line) {
		return 0
	}
	return len(line)
}

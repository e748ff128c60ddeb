package mask

import "bytes"

// A column of a table of processes.
type column struct {
	token string // "" if it stays
	dated bool   // it may have several words: Thu Nov 26 04:30:14 2026
}

// columnTokens are the columns of ps and top that are replaced.
var columnTokens = map[string]string{
	"PID": pidToken, "PPID": pidToken, "PGID": pidToken, "SID": pidToken, "LWP": pidToken, "TID": pidToken,
	"SPID": pidToken, "SESS": pidToken, "PGRP": pidToken,
	"START": timeToken, "STIME": timeToken, "STARTED": timeToken, "TIME": timeToken, "TIME+": timeToken,
	"ELAPSED": timeToken, "CPUTIME": timeToken,
}

// table follows the tables of ps and top: it notes a header, and adds the spans of a row. It returns the begin of the
// rest of the line, which is the command of a row.
func (m *Mask) table(line []byte) int {
	if columns := header(line); columns != nil {
		m.columns = columns
		return len(line)
	}
	if m.columns == nil {
		return 0
	}
	at, begin := 0, len(m.spans)
	for _, c := range m.columns {
		from := spaces(line, at)
		to := from
		for to < len(line) && line[to] != ' ' && line[to] != '\t' {
			to++
		}
		if c.dated {
			if n := instant(line, from); n > 0 {
				to = from + n
			}
		}
		if to == from || c.token == pidToken && digits(line, from) != to {
			m.columns, m.spans = nil, m.spans[:begin]
			return 0
		}
		if c.token != "" {
			before, after := " ", " "
			if at == 0 {
				before = ""
			}
			end := spaces(line, to)
			if end == len(line) {
				after = ""
			}
			// The spaces before it may be the end of the last span.
			if n := len(m.spans); n > begin && m.spans[n-1].to == from {
				before = ""
			} else {
				from = at
			}
			m.spans = append(m.spans, span{from, end, before + c.token + after})
			to = end
		}
		at = to
	}
	return at
}

// header returns the columns before the command of a header, or nil for another line. One of them must be the PID.
func header(line []byte) []column {
	line = bytes.TrimRight(line, " \t\r")
	switch string(line[bytes.LastIndexByte(line, ' ')+1:]) { // before the line is cut into fields
	case "CMD", "COMMAND", "ARGS":
	default:
		return nil
	}
	fields := bytes.Fields(line)
	if len(fields) < 2 || len(fields) > 40 {
		return nil
	}
	var columns []column
	hasPID := false
	for _, f := range fields[:len(fields)-1] {
		name := string(f)
		hasPID = hasPID || name == "PID"
		columns = append(columns, column{columnTokens[name], name == "STARTED"})
	}
	if !hasPID {
		return nil
	}
	return columns
}

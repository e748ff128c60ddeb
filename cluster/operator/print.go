package operator

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/tty"
)

// print writes the status for people. Names and versions are the nodes' words.
func (st *status) print(w io.Writer) error {
	width := tty.TableWidth
	if tty.IsTerminal(os.Stdout) {
		width, _ = tty.Size(os.Stdout)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "group %s, as server %s says\n", st.Group, tty.Printable(st.Server))
	table := func(what string, rows [][]string, drop ...string) {
		b.WriteString("\n")
		if len(rows) == 1 {
			fmt.Fprintf(&b, "no %s\n", what)
			return
		}
		for _, row := range rows {
			for i := range row {
				if row[i] = tty.Printable(row[i]); row[i] == "" {
					row[i] = "-"
				}
			}
		}
		tty.Table(&b, rows, width, drop...)
	}
	rows := [][]string{{"NODE", "STATE", "VERSION", "WIRE", "LABELS", "SESSIONS", "CONSOLES", "HEARD", "STARTED"}}
	for i := range st.Nodes {
		rows = append(rows, st.Nodes[i].row())
	}
	for _, m := range st.marks { // after the state
		rows[0] = slices.Insert(rows[0], 2, m.title)
		for i := range st.Nodes {
			rows[i+1] = slices.Insert(rows[i+1], 2, m.marks[st.Nodes[i].Name])
		}
	}
	table("nodes", rows, "STARTED", "WIRE", "LABELS")
	rows = [][]string{{"CONSOLE", "NODE", "SESSION", "SINCE", "RENEWED"}}
	for _, c := range st.Consoles {
		session := c.Session
		if c.Heir {
			session = "none: waits for its former owner"
		}
		rows = append(rows, []string{c.Device, c.Node, session, at(c.Since), ago(c.RenewedMS)})
	}
	table("console has an owner", rows, "SINCE")
	rows = [][]string{{"BUCKET", "STATE", "LEADER", "REPLICAS", "KEYS", "BYTES"}}
	for _, u := range st.Buckets {
		rows = append(rows, []string{u.Name, u.State, u.Leader, u.replicas(), fmt.Sprint(u.Messages), fmt.Sprint(u.Bytes)})
	}
	table("buckets", rows, "BYTES")
	if st.Anchors != nil {
		rows = [][]string{{"AUDIT LOG OF", "AT", "WHY", "FILE", "BYTES", "HEAD"}}
		for _, a := range st.Anchors {
			why := string(a.Why)
			if a.Doubt != "" {
				why = "not proven"
			}
			rows = append(rows, []string{a.Node, at(a.Stored), why, fmt.Sprint(a.File), fmt.Sprint(a.Bytes), a.Hash})
		}
		width = max(width, 2*tty.TableWidth) // a head that is cut is of no use
		table("audit logs", rows)
	}
	for _, text := range st.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n", tty.Printable(text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// row is the line of a node.
func (n *nodeStatus) row() []string {
	state := string(n.State)
	if n.Draining {
		state += ", draining"
	}
	if n.Version == "" { // nothing else is known
		return []string{n.Name, state, "", "", "", "", "", ago(n.HeardMS), ""}
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
		labels = append(labels, k+"="+n.Labels[k])
	}
	wire, sessions := fmt.Sprint(n.WireMin), fmt.Sprint(n.Sessions)
	if n.WireMax != n.WireMin {
		wire += fmt.Sprintf("-%d", n.WireMax)
	}
	if n.MaxSessions > 0 {
		sessions += fmt.Sprintf("/%d", n.MaxSessions)
	}
	return []string{
		n.Name, state, n.Version, wire, strings.Join(labels, " "), sessions, fmt.Sprint(n.Consoles), ago(n.HeardMS), at(n.Started),
	}
}

// replicas describes the copies besides the leader's.
func (u *bucketStatus) replicas() string {
	var all []string
	for _, r := range u.Replicas {
		text := r.Server
		switch {
		case r.Offline:
			text += " (offline)"
		case r.Lag > 0:
			text += fmt.Sprintf(" (%d behind)", r.Lag)
		case !r.Current:
			text += " (behind)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// ago formats how long ago something was.
func ago(ms int64) string { return fmt.Sprintf("%.1fs ago", float64(ms)/1000) }

// at formats a time.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

package fleethosts

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"ptyctl/fleet/nodes"
	"ptyctl/fleet/nodeset"
	"ptyctl/internal/tty"
)

// A Listing says which hosts an expression means; without one, it lists the names that may be used.
type Listing struct {
	Nodeset string        `json:"nodeset,omitempty"` // all hosts
	N       int           `json:"n"`
	Hosts   []nodes.Host  `json:"hosts"`
	Notes   []string      `json:"notes,omitempty"`
	Sources []nodes.Count `json:"sources"`
}

// New returns the listing of a selection; sel may be nil.
func New(book *nodes.Book, sel *nodes.Selection) Listing {
	l := Listing{Hosts: []nodes.Host{}, Sources: book.Sources()}
	if l.Sources == nil {
		l.Sources = []nodes.Count{}
	}
	if sel != nil {
		l.Hosts, l.Notes, l.N, l.Nodeset = sel.Hosts, sel.Notes, len(sel.Hosts), nodeset.Fold(sel.Labels())
	}
	return l
}

// Print writes a listing for people, in lines of width columns.
func (l Listing) Print(w io.Writer, width int) error {
	var b strings.Builder
	if l.N > 0 {
		rows := [][]string{{"HOST", "ADDRESS", "USER", "PORT", "FROM"}}
		for _, h := range l.Hosts {
			port := ""
			if h.Port > 0 {
				port = strconv.Itoa(h.Port)
			}
			rows = append(rows, []string{h.Label, h.Address, h.User, port, tty.Printable(h.From)})
		}
		tty.Table(&b, withoutEmpty(rows), width)
		fmt.Fprintf(&b, "%s: %s\n", tty.Count(l.N, "host"), l.Nodeset)
	}
	for _, note := range l.Notes {
		fmt.Fprintf(&b, "note: %s\n", tty.Printable(note))
	}
	if len(l.Sources) == 0 && l.N == 0 {
		b.WriteString("No source knows a host or a group.\n")
	}
	for _, s := range l.Sources {
		printSource(&b, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// withoutEmpty leaves out the columns without a value.
func withoutEmpty(rows [][]string) [][]string {
	keep := make([]bool, len(rows[0]))
	for _, row := range rows[1:] {
		for i, cell := range row {
			keep[i] = keep[i] || cell != ""
		}
	}
	kept := make([][]string, len(rows))
	for n, row := range rows {
		for i, cell := range row {
			if keep[i] {
				kept[n] = append(kept[n], cell)
			}
		}
	}
	return kept
}

// printSource writes the contents of a source, and its parts without effect.
func printSource(b *strings.Builder, s nodes.Count) {
	fmt.Fprintf(b, "source %s", s.Name)
	if s.Path != "" {
		fmt.Fprintf(b, " (%s)", tty.Printable(s.Path))
	}
	if s.Error != "" {
		fmt.Fprintf(b, ": not read: %s\n", tty.Printable(s.Error))
		return
	}
	var parts []string
	if s.Hosts > 0 {
		parts = append(parts, tty.Count(s.Hosts, "host"))
	}
	if n := len(s.Groups); n > 0 {
		const most = 20
		names := "@" + strings.Join(s.Groups[:min(n, most)], ", @")
		if n > most {
			names += fmt.Sprintf(" and %d more", n-most)
		}
		parts = append(parts, "groups "+names)
	}
	var ignored []string
	for _, i := range s.Ignored {
		ignored = append(ignored, fmt.Sprintf("%s (%d)", i.What, i.Count))
	}
	if len(ignored) > 0 {
		parts = append(parts, "ignored "+strings.Join(ignored, ", "))
	}
	fmt.Fprintf(b, ": %s\n", strings.Join(parts, "; "))
}

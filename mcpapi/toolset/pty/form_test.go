package pty

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi/toolset"
)

var update = flag.Bool("update", false, "write what the tests see into testdata, instead of comparing")

// compare compares got with a file of testdata. With -update it writes the file.
func compare(tb testing.TB, name, got string) {
	tb.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if got+"\n" != string(want) {
		tb.Errorf("%s differs; if that is intended, run go test -update; got:\n%s", path, got)
	}
}

// specified compares got with an example of the contract, which -update must not change.
func specified(tb testing.TB, name, got string) {
	tb.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", "spec-"+name+".txt"))
	if err != nil {
		tb.Fatal(err)
	}
	if got+"\n" != string(want) {
		tb.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// The results must equal the examples in the contract of the PTY MCP server byte for
// byte. One number differs: the contract counts "npm run dev\n" as 14 bytes, which is
// wrong by any count.
func TestSpecifiedForms(t *testing.T) {
	at := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at.In(time.FixedZone("", 3600)) // the zone must not show
	}
	server := view{
		id:      "pty_a1b2c3d4",
		title:   "Dev Server",
		command: "npm run dev",
		workdir: "/path/to/project",
		pid:     12345,
		status:  running,
		lines:   1523,
		created: at("2026-01-17T10:30:00Z"),
	}
	build := view{
		id:      "pty_b2c3d4e5",
		title:   "Build",
		command: "npm run build",
		workdir: "/path/to/project",
		pid:     12346,
		status:  exited,
		exit:    new(int),
		lines:   234,
		created: at("2026-01-17T10:25:00Z"),
	}

	specified(t, "spawned", server.spawned())
	specified(t, "list", (&listing{Entries: []string{server.entry(), build.entry()}}).Answer().Text)
	specified(t, "write", written(server.id, "npm run dev\n", nil))
	specified(t, "killed", server.ended(true, false))

	p := page{limit: 3, room: 1 << 20, total: 1523}
	for i, text := range []string{"First line", "Second line", "Third line"} {
		p.add(i+1, []byte(text))
	}
	specified(t, "read", p.output("pty_abc", running))
	p = page{limit: 3, room: 1 << 20, total: 1523, matches: 15, pattern: "error"}
	p.add(42, []byte("Error: Connection failed"))
	p.add(157, []byte("Error: Timeout"))
	p.add(289, []byte("Fatal error occurred"))
	specified(t, "search", p.output("pty_abc", running))
}

func TestKilledForms(t *testing.T) {
	v := view{id: "pty_a1b2c3d4"}
	for _, c := range []struct {
		ran, cleanup bool
		want         string
	}{
		{true, false, "Killed: pty_a1b2c3d4 (session retained for log access)"},
		{true, true, "Killed: pty_a1b2c3d4 (session removed)"},
		{false, false, "Already ended: pty_a1b2c3d4 (session retained for log access)"},
		{false, true, "Cleaned up: pty_a1b2c3d4 (session removed)"},
	} {
		if got := strings.Split(v.ended(c.ran, c.cleanup), "\n")[1]; got != c.want {
			t.Errorf("result of kill(ran %t, cleanup %t) = %q, want %q", c.ran, c.cleanup, got, c.want)
		}
	}
}

// The note after a page says how many lines it has, how many more there are, and the next
// offset.
func TestPages(t *testing.T) {
	for _, c := range []struct {
		name                 string
		offset, shown, total int
		matches              int
		pattern              string
		dropped              bool
		want                 string
	}{
		{name: "empty", want: "(No output available - buffer is empty)\nTotal lines: 0"},
		{name: "past the end", offset: 7, total: 3, want: "(No output beyond line 3)\nTotal lines: 3"},
		{name: "at the end", offset: 3, total: 3, want: "(No output beyond line 3)\nTotal lines: 3"},
		{name: "all", shown: 3, total: 3, want: "(End of buffer - total 3 lines)"},
		{name: "the first page", shown: 500, total: 1203, want: "(Buffer has more lines. Use offset=500 to read beyond line 500)"},
		{name: "the second page", offset: 500, shown: 500, total: 1203, want: "(Buffer has more lines. Use offset=1000 to read beyond line 1000)"},
		{name: "the last page", offset: 1000, shown: 203, total: 1203, want: "(End of buffer - total 1203 lines)"},
		{name: "the last line", offset: 1202, shown: 1, total: 1203, want: "(End of buffer - total 1203 lines)"},
		{name: "all but the last line", offset: 1000, shown: 202, total: 1203, want: "(Buffer has more lines. Use offset=1202 to read beyond line 1202)"},
		{name: "after a loss", shown: 3, total: 3, dropped: true, want: "(Older lines were dropped; line 1 is the oldest kept)\n(End of buffer - total 3 lines)"},
		{name: "no match", pattern: "x", total: 9, want: "No lines matched the pattern 'x'.\nTotal lines in buffer: 9"},
		{name: "no match in nothing", pattern: "x", want: "No lines matched the pattern 'x'.\nTotal lines in buffer: 0"},
		{name: "one match", pattern: "x", shown: 1, matches: 1, total: 9, want: "(1 match from 9 total lines)"},
		{name: "all matches", pattern: "x", shown: 4, matches: 4, total: 9, want: "(4 matches from 9 total lines)"},
		{name: "the first matches", pattern: "x", shown: 3, matches: 15, total: 99, want: "(3 of 15 matches shown. Use offset=3 to see more.)"},
		{name: "further matches", pattern: "x", offset: 3, shown: 3, matches: 15, total: 99, want: "(3 of 15 matches shown. Use offset=6 to see more.)"},
		{name: "the last matches", pattern: "x", offset: 12, shown: 3, matches: 15, total: 99, want: "(15 matches from 99 total lines)"},
		{name: "past the last match", pattern: "x", offset: 15, matches: 15, total: 99, want: "(No matches beyond the 15 there are)\nTotal lines in buffer: 99"},
	} {
		p := page{offset: c.offset, room: 1 << 20, pattern: c.pattern, total: c.total, matches: c.matches, dropped: c.dropped}
		for n := range c.shown {
			p.add(c.offset+n+1, []byte("text"))
		}
		lines := p.text()
		if c.shown > 0 {
			if len(lines) <= c.shown || lines[c.shown] != "" {
				t.Errorf("%s: lines = %q, want a blank one after %d", c.name, lines, c.shown)
				continue
			}
			lines = lines[c.shown+1:]
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s: note = %q, want %q", c.name, got, c.want)
		}
	}
}

// A page ends when the room is used up, but has at least one line.
func TestRoom(t *testing.T) {
	p := page{room: len("00001| abc\n00002| abc\n"), total: 9}
	for n := range 5 {
		p.add(n+1, []byte("abc"))
	}
	if got := strings.Join(p.text(), "|"); got != "00001| abc|00002| abc||(Buffer has more lines. Use offset=2 to read "+
		"beyond line 2)" {
		t.Errorf("page with room for two lines = %q, want two and the offset 2", got)
	}
	p = page{room: 3, total: 9}
	p.add(1, []byte("abc"))
	p.add(2, []byte("abc"))
	if got := strings.Join(p.text(), "|"); got != "00001| abc||(Buffer has more lines. Use offset=1 to read beyond "+
		"line 1)" {
		t.Errorf("page without room = %q, want one line and the offset 1", got)
	}
}

func TestLongLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("x", maxLine), strings.Repeat("x", maxLine)},
		{strings.Repeat("x", maxLine+1), strings.Repeat("x", maxLine) + "..."},
		{strings.Repeat("é", maxLine), strings.Repeat("é", maxLine)},
		{strings.Repeat("é", maxLine+1), strings.Repeat("é", maxLine) + "..."},
		{strings.Repeat("🙂", 2*maxLine), strings.Repeat("🙂", maxLine) + "..."},
		{"x" + strings.Repeat("🙂", 2*maxLine), "x" + strings.Repeat("🙂", maxLine-1) + "..."},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", maxLine) + "..."},
	} {
		p := page{room: 1 << 20}
		p.add(100000, []byte(c.text))
		if p.lines[0] != "100000| "+c.want {
			t.Errorf("line %.20q of %d bytes is shown as %.20q of %d, want %.20q of %d",
				c.text, len(c.text), p.lines[0], len(p.lines[0]), c.want, len(c.want))
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"npm run dev":            "npm run dev",
		`a "b" 'c' \d`:           `a "b" 'c' \d`,
		"grüße 漢字 🙂":             "grüße 漢字 🙂",
		"a\nb\r\n\tc":            `a\nb\r\n\tc`,
		"\x03\x1b[A\x00\x7f":     `\x03\x1b[A\x00\x7f`,
		"a\u202eb\u200bc\u0085d": `a\u202eb\u200bc\u0085d`,
		"a\xffb":                 "a\uFFFDb",
		"a\xffb\n":               "a\uFFFDb\\n",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

// Sessions of other nodes are listed as long as there is room, and all are counted. The list names a node with an
// invalid answer.
func TestListOfNodes(t *testing.T) {
	out := &listing{Entries: slices.Repeat([]string{"own"}, toolset.MaxGathered-1)}
	for node, answer := range map[string]string{"a": `{"entries":["far 1","far 2","far 3"]}`, "b": `"old"`} {
		out.add(toolset.Gathered{Node: node, Result: []byte(answer)})
	}
	const want = "own\nfar 1\n(2 more at other nodes are not shown)\n(Node b has not answered: its sessions are missing here)\n" +
		"Total: 102 session(s)\n</pty_list>"
	if got := out.Answer().Text; !strings.HasSuffix(got, want) {
		t.Errorf("pty_list = %s, want %s at its end", got, want)
	}
}

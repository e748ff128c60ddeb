package mask

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// names of the host that made the outputs in testdata.
var names = []string{"web1.example.net", "192.0.2.7", "2001:db8::7"}

// all masks each line of a text.
func all(own []string, text string) string {
	m := New(own)
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.Write(m.Line([]byte(strings.TrimSuffix(line, "\n"))))
		b.WriteByte('\n')
	}
	return b.String()
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// TestChanged compares outputs of uptime, date, ps, systemctl, logs and routers with golden files.
func TestChanged(t *testing.T) {
	for _, name := range []string{"changed", "ps", "routers"} {
		got := all(names, read(t, name))
		if *update {
			if err := os.WriteFile("testdata/"+name+".golden", []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		in, out := strings.Split(read(t, name), "\n"), strings.Split(got, "\n")
		for i, want := range strings.Split(read(t, name+".golden"), "\n") {
			if i >= len(out) || out[i] != want {
				t.Errorf("%s: Line(%q) = %q, want %q (go test -update writes it)", name, in[i], out[min(i, len(out)-1)], want)
			}
		}
	}
}

// TestUnchanged checks that nothing else is replaced: outputs of df and lspci, releases, ratios, counts.
func TestUnchanged(t *testing.T) {
	for line := range strings.Lines(read(t, "unchanged")) {
		if got := all(names, line); got != line {
			t.Errorf("Line(%q) = %q, want it as it is", line, got)
		}
	}
}

// TestSameOfAll checks that outputs which differ only in volatile parts are equal.
func TestSameOfAll(t *testing.T) {
	hosts := []struct {
		own  []string
		text string
	}{
		{[]string{"web1.example.net", "192.0.2.1"}, " 04:30:14 up 3 days,  4:30,  1 user,  load average: 0.00, 0.01, 0.05\n" +
			"Thu Nov 26 04:30:14 UTC 2026\nroot         812       1  0 04:30 ?        00:00:00 sshd\nweb1 192.0.2.1\n"},
		{[]string{"web22.example.net", "192.0.2.122"}, " 04:30:15 up 12 min,  1 user,  load average: 12.50, 0.01, 0.05\n" +
			"Thu Nov 26 04:30:16 UTC 2026\nroot         812       1  0 04:30 ?        00:00:00 sshd\nweb22 192.0.2.122\n"},
	}
	first, second := all(hosts[0].own, hosts[0].text), all(hosts[1].own, hosts[1].text)
	if first != second {
		t.Errorf("two hosts that differ in clock, name and uptime say\n%s\n%s\nwant the same", first, second)
	}
}

// TestDates masks the time of this machine in all forms of package time that have a clock.
func TestDates(t *testing.T) {
	for _, layout := range []string{
		time.ANSIC, time.UnixDate, "02 Jan 2006 15:04:05 -0700", "02-Jan-2006 15:04:05.000", time.RFC1123, time.RFC1123Z,
		time.RFC3339, time.RFC3339Nano, time.Stamp, time.StampMilli, time.StampNano, time.DateTime, time.TimeOnly,
		"Mon Jan  2 03:04:05 PM MST 2006", "Mon 02 Jan 2006 03:04:05 PM MST", "2006-01-02 15:04:05.000000000 -0700",
		"2006-01-02T15:04:05,000000000-07:00", "Jan 2, 2006 3:04:05 PM", "2 January 2006 15:04", "Mon, Jan 2 2006 15:04",
		"2006/01/02 15:04:05.000", "02/Jan/2006:15:04:05 -0700", "15:04:05.000 MST Mon Jan 2 2006", "3:04PM", "03:04:05pm",
	} {
		for i := range 400 {
			at := time.Date(2026, time.January, 1+i, i%24, (7*i)%60, (13*i)%60, i*1001001, time.UTC)
			text := at.Format(layout)
			if got := all(nil, text+"\n"); got != "<time>\n" {
				t.Fatalf("Line(%q) = %q, want <time>", text, got)
			}
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, name := range []string{"changed", "unchanged", "ps", "routers"} {
		for line := range strings.Lines(read(f, name)) {
			f.Add(strings.TrimSuffix(line, "\n"), false)
			f.Add(strings.TrimSuffix(line, "\n"), true)
		}
	}
	f.Fuzz(func(t *testing.T, line string, inTable bool) {
		m := New(names)
		if inTable {
			m.Line([]byte("USER PID START TIME COMMAND"))
		}
		m.Line([]byte(line))
		from := 0
		for _, s := range m.spans {
			if s.from < from || s.to <= s.from || s.to > len(line) {
				t.Fatalf("Line(%q) has the spans %+v, want them in order", line, m.spans)
			}
			part := line[s.from:s.to]
			if !strings.ContainsAny(part, "0123456789") && !strings.Contains(strings.ToLower(part), "web1") && part != "::7" && !inTable {
				t.Errorf("Line(%q) replaces %q by %s, want a number or a name of the host", line, part, s.token)
			}
			from = s.to
		}
	})
}

func ExampleMask_Line() {
	m := New([]string{"web1.example.net", "192.0.2.7"})
	for _, line := range []string{
		" 04:30:14 up 3 days,  4:30,  1 user,  load average: 0.00, 0.01, 0.05",
		"Nov 26 04:30:14 web1 sshd[812]: Accepted publickey from 192.0.2.9",
		"nginx 1.24.0 listens on 192.0.2.7:80",
	} {
		fmt.Printf("%s\n", m.Line([]byte(line)))
	}
	// Output:
	//  <time> up <uptime>,  1 user,  load average: <load>
	// <time> <host> sshd[<pid>]: Accepted publickey from 192.0.2.9
	// nginx 1.24.0 listens on <address>:80
}

func BenchmarkLine(b *testing.B) {
	lines := bytes.Split([]byte(read(b, "changed")+read(b, "unchanged")), []byte("\n"))
	size := 0
	for _, l := range lines {
		size += len(l) + 1
	}
	m := New(names)
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, l := range lines {
			m.Line(l)
		}
	}
}

// BenchmarkHostile has long lines of words that never seem to end. A byte of them must cost at most a few times as
// much as a byte of any other line.
func BenchmarkHostile(b *testing.B) {
	for _, unit := range []string{
		"1 d ", "1d", "a-", "a:", "1.", "1:", "[ ", "up ", "   ", "pid ", "Nov 26 ", "04:30:14 ", "├─", "00:11:", "1,",
	} {
		b.Run(unit, func(b *testing.B) {
			m, line := New(names), bytes.Repeat([]byte(unit), 1<<16/len(unit))
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				m.Line(line)
			}
		})
	}
}

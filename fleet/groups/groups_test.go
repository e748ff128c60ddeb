package groups

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"ptyctl/fleet/nodeset"
)

// say is the answer of one host in a test.
type say struct {
	label, stdout, stderr string
	exit                  int
	fail, reason          string // instead of exit
	running               bool
}

// collect makes a set of answers.
func collect(o Options, list []say) *Set {
	set := New(o)
	for _, h := range list {
		a := set.Answer(h.label)
		fmt.Fprint(a.Stdout, h.stdout)
		fmt.Fprint(a.Stderr, h.stderr)
		switch {
		case h.running:
		case h.fail != "":
			a.Fail(h.fail, h.reason)
		default:
			a.Exit(h.exit)
		}
	}
	return set
}

// hosts returns the same answer of each host of a nodeset.
func hosts(t testing.TB, nodes string, like say) []say {
	t.Helper()
	names, err := nodeset.Expand(nodes, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]say, len(names))
	for i, name := range names {
		list[i] = like
		list[i].label = name
	}
	return list
}

func TestText(t *testing.T) {
	long := strings.Repeat("a line of the configuration\n", 10)
	for _, tt := range []struct {
		name string
		list []say
		want string
	}{
		{"nothing", nil, ""},
		{"no output", hosts(t, "web[01-03]", say{}), "web[01-03] (3): exit 0, no output\n"},
		{"all the same", hosts(t, "web[01-03]", say{stdout: "a\n\nb\n"}), "web[01-03] (3): exit 0\n  a\n  \n  b\n"},
		{"another exit code", append(hosts(t, "a[1-2]", say{stdout: "x\n"}), say{label: "b", stdout: "x\n", exit: 3}),
			"a[1-2] (2): exit 0\n  x\nb: exit 3, same output\n"},
		{"a short text", append(hosts(t, "a[1-2]", say{stdout: "nginx 1.24\n"}), say{label: "b", stdout: "nginx 1.18\n"}),
			"a[1-2] (2): exit 0\n  nginx 1.24\nb: exit 0\n  nginx 1.18\n"},
		{"a difference", append(hosts(t, "a[1-2]", say{stdout: long + "one\n" + long}), say{label: "b", stdout: long + "two\n" + long}),
			"a[1-2] (2): exit 0\n" + indented(long+"one\n"+long) + "b: exit 0, stdout differs\n  @@ 10\n   a line of the configuration\n" +
				"  -one\n  +two\n   a line of the configuration\n"},
		{"stderr", append(hosts(t, "a[1-2]", say{stdout: "x\n"}), say{label: "b", stderr: "no file\n", exit: 1}),
			"a[1-2] (2): exit 0\n  x\nb: exit 1, no stdout\n stderr:\n  no file\n"},
		{"the same stdout", append(hosts(t, "a[1-2]", say{stdout: "x\n"}), say{label: "b", stdout: "x\n", stderr: "warning\n"}),
			"a[1-2] (2): exit 0\n  x\nb: exit 0, same stdout\n stderr:\n  warning\n"},
		{"both", hosts(t, "a[1-2]", say{stdout: "x\n", stderr: "y\n"}), "a[1-2] (2): exit 0\n  x\n stderr:\n  y\n"},
		{"line ends", append(hosts(t, "a[1-2]", say{stdout: "x\n"}), say{label: "b", stdout: "x\r\n"}, say{label: "c", stdout: "x"}),
			"a[1-2] (2): exit 0\n  x\nb: exit 0, stdout differs only at ends of lines\nc: exit 0, stdout differs only at ends of lines\n"},
		{"an empty line", append(hosts(t, "a[1-2]", say{stdout: "\n"}), say{label: "b"}),
			"a[1-2] (2): exit 0, stdout has only an empty line\nb: exit 0, no stdout\n"},
		{"failures", append(hosts(t, "a[1-2]", say{}), append(hosts(t, "c[1-3]", say{fail: "connect_timeout", reason: "no answer"}),
			say{label: "d", fail: "lost", reason: "connection lost", stdout: "half\nof it"}, say{label: "e", running: true})...),
			"a[1-2] (2): exit 0, no output\nfailed: connect_timeout: c[1-3] (3): no answer\n" +
				"failed: lost: d: connection lost; last line: of it\nrunning: e\n"},
		{"control characters", []say{{label: "a", stdout: "\x1b[31mred\x1b[0m\ttab\u202eabc\x00\xff\nok\r\n"}},
			"a: exit 0\n  \\x1b[31mred\\x1b[0m\ttab\\u202eabc\\x00\\xff\n  ok\n"},
		{"a forgery", []say{{label: "a", stdout: "x\nb: exit 0, no output\n stderr:\nnot run: c\n"}},
			"a: exit 0\n  x\n  b: exit 0, no output\n   stderr:\n  not run: c\n"},
	} {
		report := collect(Options{}, tt.list).Report(Limits{})
		if got := report.Text(); got != tt.want {
			t.Errorf("%s: Text() =\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if report.Hosts != len(tt.list) {
			t.Errorf("%s: the report has %d hosts, want %d", tt.name, report.Hosts, len(tt.list))
		}
	}
}

// indented returns a text as the report shows it.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
	return b.String()
}

func TestNotRun(t *testing.T) {
	set := collect(Options{}, []say{{label: "a1", exit: 1}})
	set.NotRun("a1 has failed", "a3", "a2", "a4")
	set.NotRun("its name is refused", "b")
	want := "a1: exit 1, no output\nnot run: a[2-4] (3): a1 has failed\nnot run: b: its name is refused\n"
	if got := set.Report(Limits{}).Text(); got != want {
		t.Errorf("Text() = %q, want %q", got, want)
	}
}

// TestUptime is the answer of 500 hosts that are alike.
func TestUptime(t *testing.T) {
	set := New(Options{Normalize: Volatile})
	for i := range 500 {
		a := set.Answer(fmt.Sprintf("web%03d.example.net", i+1), fmt.Sprintf("10.0.%d.%d", i/250, i%250+1))
		fmt.Fprintf(a.Stdout, " %02d:%02d:%02d up %d days, %2d:%02d,  1 user,  load average: %d.%02d, 0.%02d, 0.%02d\n",
			i%24, i%60, i*7%60, i+1, i%24, i%60, i%12, i%100, i*3%100, i*7%100)
		a.Exit(0)
	}
	text := set.Report(Limits{}).Text()
	want := "web[001-500].example.net (500): exit 0\n   <time> up <uptime>,  1 user,  load average: <load>\n"
	if text != want {
		t.Errorf("Text() of 500 hosts = %q, want %q", text, want)
	}
}

// TestBounds checks that a report of any answers is short, and has each host.
func TestBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 9 {
		var list []say
		n := 1 + random.IntN(200)
		for i := range n {
			h := say{label: fmt.Sprintf("h%d-%x.example.net", random.IntN(1e6), i), exit: random.IntN(3)}
			switch kinds := random.IntN(4); {
			case round%3 == 0: // no two are alike
				h.stdout, h.exit = strings.Repeat(fmt.Sprintf("%d of %d\n", i, n), random.IntN(1000)), i%250
			case kinds == 0:
				h.fail, h.reason = fmt.Sprint("code", i%20), strings.Repeat("why ", random.IntN(200))
				h.stdout = strings.Repeat("x", random.IntN(9000))
			case kinds == 1:
				h.stderr = strings.Repeat("e", random.IntN(5)*1000) + "\n"
			default:
				h.stdout = strings.Repeat("same\n", 5000)
			}
			list = append(list, h)
		}
		set := collect(Options{Keep: 1 + random.IntN(9000)}, list)
		for i := range random.IntN(9) {
			set.NotRun(fmt.Sprint("reason ", i), fmt.Sprint("n", i))
			n++
		}
		report := set.Report(Limits{})
		text := report.Text()
		if len(text) > 2000 || report.Hosts != n {
			t.Errorf("round %d: the report of %d hosts has %d bytes and %d hosts:\n%s\nwant at most 2000, and all", round, n,
				len(text), report.Hosts, text)
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		seen := make(map[string]int)
		each := func(names Names) {
			for _, label := range names.Labels() {
				seen[label]++
			}
		}
		for _, g := range report.Groups {
			each(g.Names)
		}
		each(report.Rest.Names)
		for _, f := range report.Failures {
			each(f.Names)
		}
		for _, names := range report.NotRun {
			each(names)
		}
		for label, times := range seen {
			if times != 1 {
				t.Errorf("round %d: %s is in the report %d times, want once", round, label, times)
			}
		}
		if len(seen) != n {
			t.Errorf("round %d: the report names %d hosts, want %d", round, len(seen), n)
		}
	}
}

// TestOrder checks that the order of arrival, and the sizes of the writes, change nothing.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var list []say
	for i := range 60 {
		list = append(list, say{
			label: fmt.Sprintf("web%d", i), exit: i % 2, stdout: strings.Repeat(fmt.Sprintf("line of kind %d at 04:30:%02d\n", i%7, i), 900),
			stderr: strings.Repeat("é", i%3),
		})
	}
	for i := range 5 {
		list = append(list, say{label: fmt.Sprintf("db%d", i), fail: "lost", reason: fmt.Sprintf("db%d: lost", i), stdout: "partly"})
	}
	var want string
	for round := range 8 {
		set := New(Options{Normalize: Volatile, Keep: 500})
		for _, h := range list {
			a := set.Answer(h.label)
			for text := h.stdout; text != ""; {
				n := 1 + random.IntN(min(len(text), 4000))
				fmt.Fprint(a.Stdout, text[:n])
				text = text[n:]
			}
			fmt.Fprint(a.Stderr, h.stderr)
			if h.fail != "" {
				a.Fail(h.fail, h.reason)
			} else {
				a.Exit(h.exit)
			}
		}
		got, err := json.Marshal(set.Report(Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			want = string(got)
		}
		if string(got) != want {
			t.Fatalf("round %d: the report is\n%s\nwant as in the first round\n%s", round, got, want)
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	if !strings.Contains(want, `"n":5,"reason":"\u003chost\u003e: lost"`) {
		t.Errorf("the report is %s, want one failure of five hosts", want)
	}
}

// TestFlood checks that the dropped part of a long output counts, and that its begin and its end are kept.
func TestFlood(t *testing.T) {
	set := New(Options{})
	block := strings.Repeat("0123456789abcde\n", 1<<16/16)
	for _, label := range []string{"a1", "a2", "b"} {
		a := set.Answer(label)
		fmt.Fprint(a.Stdout, "begin\n")
		for i := range 100 {
			fmt.Fprint(a.Stdout, block)
			if label == "b" && i == 50 {
				fmt.Fprint(a.Stdout, "the odd line...\n")
			}
		}
		fmt.Fprint(a.Stdout, "end\n")
		if kept := len(a.out.head) + cap(a.out.tail); kept > 6*DefaultKeep {
			t.Errorf("%d bytes are kept of a flood, want at most %d", kept, 6*DefaultKeep)
		}
		a.Exit(0)
	}
	report := set.Report(Limits{})
	if len(report.Groups) != 2 || report.Groups[0].Hosts != "a[1-2]" {
		t.Fatalf("the groups are %+v, want a[1-2] and b: they differ in one line of 6 MiB", report.Groups)
	}
	g := report.Groups[0].Stdout
	left := 100*len(block)/16 + 2 - strings.Count(g.Text, "\n")
	if !strings.HasPrefix(g.Text, "begin\n") || !strings.HasSuffix(g.Text, "\nend") || g.Bytes != int64(100*len(block)+10) ||
		!g.Cut || g.Lines != int64(100*len(block)/16+2) || !strings.Contains(g.Text, fmt.Sprintf("[%d lines left out]", left)) {
		t.Errorf("the flood is shown as %+v, want its begin and its end, and the number of lines between", g)
	}
}

func TestLater(t *testing.T) {
	set := New(Options{})
	a := set.Answer("a")
	a.Exit(0)
	a.Exit(1)
	a.Fail("x", "y")
	if n, err := fmt.Fprint(a.Stdout, "late"); n != 4 || err != nil {
		t.Errorf("a write after the end = %d, %v, want 4 and no error", n, err)
	}
	if got := set.Report(Limits{}).Text(); got != "a: exit 0, no output\n" {
		t.Errorf("Text() = %q after a second end, want that of the first", got)
	}
}

func TestConcurrent(t *testing.T) {
	set := New(Options{Normalize: Volatile})
	var hosts sync.WaitGroup
	for i := range 50 {
		hosts.Go(func() {
			a := set.Answer(fmt.Sprint("web", i))
			var streams sync.WaitGroup
			streams.Go(func() { fmt.Fprint(a.Stdout, strings.Repeat("x\n", 5000)) })
			streams.Go(func() { fmt.Fprint(a.Stderr, "y\n") })
			set.Report(Limits{})
			streams.Wait()
			a.Exit(0)
		})
	}
	hosts.Wait()
	if r := set.Report(Limits{}); len(r.Groups) != 1 || r.Groups[0].N != 50 {
		t.Errorf("the report is %s, want one group of 50 hosts", r.Text())
	}
}

func FuzzReport(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n", 0, 1, 100, true)
	f.Fuzz(func(t *testing.T, x, y string, exitX, exitY, bytes int, volatile bool) {
		o := Options{Keep: 64}
		if volatile {
			o.Normalize = Volatile
		}
		report := collect(o, []say{
			{label: "h1", stdout: x, exit: exitX}, {label: "h2", stdout: x, exit: exitX}, {label: "h3", stdout: y, stderr: x, exit: exitY},
		}).Report(Limits{Bytes: bytes % 5000})
		equal := x == y && exitX == exitY && x == ""
		if !volatile && (len(report.Groups) == 1) != equal {
			t.Errorf("answers %q and %q with %d and %d are %d groups", x, y, exitX, exitY, len(report.Groups))
		}
		for line := range strings.Lines(report.Text()) {
			if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "h") {
				t.Errorf("answers %q and %q: the report has the line %q", x, y, line)
			}
			for _, r := range strings.TrimSuffix(line, "\n") {
				if hidden(r) {
					t.Errorf("answers %q and %q: the report has the character %q", x, y, r)
				}
			}
		}
	})
}

func ExampleSet() {
	set := New(Options{})
	for _, host := range []string{"web01", "web02", "web03", "web04"} {
		a := set.Answer(host)
		fmt.Fprintln(a.Stdout, "listen 80;\nlisten [::]:80;\nserver_name example.net;\nroot /var/www;\nserver_tokens", map[bool]string{true: "on;", false: "off;"}[host == "web03"])
		a.Exit(0)
	}
	a := set.Answer("web05")
	a.Fail("connect_timeout", "no answer within 10 s")
	set.NotRun("1 host has failed", "web06", "web07")
	fmt.Print(set.Report(Limits{}).Text())
	// Output:
	// web[01-02,04] (3): exit 0
	//   listen 80;
	//   listen [::]:80;
	//   server_name example.net;
	//   root /var/www;
	//   server_tokens off;
	// web03: exit 0, stdout differs
	//   @@ 5
	//   -server_tokens off;
	//   +server_tokens on;
	// failed: connect_timeout: web05: no answer within 10 s
	// not run: web[06-07] (2): 1 host has failed
}

package saved

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ptyctl/fleet/groups"
	"ptyctl/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// output returns an Output that keeps all bytes.
func output(text string) Output {
	return Output{Head: []byte(text), Total: int64(len(text)), Sum: sha256.Sum256([]byte(text))}
}

// exited is the answer of a host with an exit code.
func exited(label string, exit int, stdout, stderr string) Answer {
	return Answer{Label: label, Names: []string{label + ".example.net"}, Exit: &exit, Stdout: output(stdout), Stderr: output(stderr)}
}

// flooded is the answer of a host that has printed more than is kept.
func flooded(label, all string) Answer {
	a := exited(label, 0, all, "")
	a.Stdout.Head, a.Stdout.Tail = []byte(all[:10]), []byte(all[len(all)-10:])
	return a
}

func hundred(middle string) string { return strings.Repeat("a", 45) + middle + strings.Repeat("z", 45) }

var before = &Answers{
	Command: "cat x", Began: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), Hosts: []Answer{
		exited("web1", 0, "one\ntwo\n", ""), exited("web2", 0, "one\ntwo\n", "note\n"), exited("web3", 1, "", "\x00\xff\u2028"),
		flooded("web4", hundred("0123456789")), {Label: "web5", Code: "timeout"}, exited("web6", 0, "up 5 days on web6.example.net\n", ""),
	},
}

var after = &Answers{
	Command: "cat x", Began: time.Date(2026, 11, 1, 13, 0, 0, 0, time.UTC), Hosts: []Answer{
		exited("web1", 0, "one\ntwo\n", ""), exited("web2", 2, "one\n2\n", "note\n"), exited("web3", 1, "", ""),
		flooded("web4", hundred("9876543210")), exited("web5", 0, "", ""), exited("web6", 0, "up 6 days on web6.example.net\n", ""),
		exited("web7", 0, "", ""),
	},
}

// Answers read from a file are those written to it, and compare like them.
func TestFile(t *testing.T) {
	var again []*Answers
	for _, a := range []*Answers{before, after} {
		path := filepath.Join(t.TempDir(), "answers")
		var b bytes.Buffer
		if err := Write(&b, a); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, got)
		var c bytes.Buffer
		if err := Write(&c, got); err != nil || c.String() != b.String() {
			t.Errorf("the file written again is\n%s\n%v; want\n%s", c.String(), err, b.String())
		}
	}
	direct, n := Changes(before, after, groups.None)
	fromFiles, m := Changes(again[0], again[1], groups.None)
	one, two := direct.Report(groups.Limits{Bytes: 10_000}), fromFiles.Report(groups.Limits{Bytes: 10_000})
	if n != 7 || m != 7 || !reflect.DeepEqual(one, two) {
		t.Errorf("the changes of %d and %d hosts are\n%s\nand from files\n%s\nwant the same of 7", n, m, one.Text(), two.Text())
	}
}

// Each host is compared with itself: its exit code, and both streams.
func TestChanges(t *testing.T) {
	want := map[string]string{
		"web1": "", "web2": "exit 0 -> 2\n@@ 2\n-two\n+2", "web3": "stderr:\n@@ 1\n-\\x00\\xff\\u2028\n-\\ no line feed at the end",
		"web4": "it differs only in bytes that are not kept", "web5": "before: timeout",
		"web6": "@@ 1\n-up 5 days on web6.example.net\n+up 6 days on web6.example.net", "web7": "not in the run before",
	}
	got := changesByHost(groups.None)
	for host, text := range want {
		if got[host] != text {
			t.Errorf("the change of %s is %q, want %q", host, got[host], text)
		}
	}
	if got := changesByHost(groups.Volatile)["web6"]; got != "" {
		t.Errorf("the change of web6 without volatile places is %q, want none", got)
	}
}

// changesByHost returns the change of each host, or the reason for no change.
func changesByHost(normalize groups.Normalize) map[string]string {
	set, _ := Changes(before, after, normalize)
	r := set.Report(groups.Limits{Bytes: 10_000, Odd: 10})
	got := make(map[string]string)
	for _, g := range r.Groups {
		for _, host := range g.Labels() {
			got[host] = g.Stdout.Text
		}
	}
	for _, f := range r.Failures {
		for _, host := range f.Labels() {
			got[host] = f.Reason
		}
	}
	return got
}

// A file has a bound, however much hosts have printed, and outputs that are equal are in it once.
func TestSize(t *testing.T) {
	const room = 100_000
	text := strings.Repeat("\x00", 10_000)
	a := &Answers{Command: "x"}
	for i := range 300 {
		a.Hosts = append(a.Hosts, exited(fmt.Sprint("web", i), 0, text[i:], "\"\n"))
	}
	var b bytes.Buffer
	if err := write(&b, a, room); err != nil || b.Len() > 2*room+300*300 {
		t.Fatalf("%d bytes, %v; want at most twice those of the outputs, and 300 for each host", b.Len(), err)
	}
	got, err := read(&b)
	if err != nil {
		t.Fatal(err)
	}
	first, last := got.Hosts[0].Stdout, got.Hosts[299].Stdout
	if len(first.Head) != 10_000 || len(last.Head) != 0 || last.Total != 10_000-299 || last.Sum != a.Hosts[299].Stdout.Sum {
		t.Errorf("the first output has %d bytes, the last %d of %d; want all, and the length and the hash alone",
			len(first.Head), len(last.Head), last.Total)
	}
	b.Reset()
	for i := range a.Hosts {
		a.Hosts[i].Stdout = output(text)
	}
	if err := Write(&b, a); err != nil || b.Len() > 100_000 {
		t.Errorf("300 equal outputs of 10,000 bytes take %d, %v; want one of them", b.Len(), err)
	}
}

// A file that was not written by Write, or changed since, is an error.
func TestBadFiles(t *testing.T) {
	for _, path := range []string{t.TempDir(), os.DevNull, filepath.Join(t.TempDir(), "missing")} {
		if a, err := Read(path); err == nil {
			t.Errorf("Read(%s) = %+v, want an error", path, a)
		}
	}
	for text, want := range map[string]string{
		"":                     "unexpected end",
		"null":                 "its form is not known",
		`{"hosts":[]}`:         "its form is not known",
		`{"ptyctl_fleet":2}`:   "its form is 2",
		`{"ptyctl_fleet":1}`:   "it has no host",
		`{"ptyctl_fleet":"1"}`: "cannot unmarshal",
		`{"ptyctl_fleet":1,"hosts":[{"host":""}]}`:                                                               "no name of its own",
		`{"ptyctl_fleet":1,"hosts":[{"host":"a"}]}`:                                                              "no answer",
		`{"ptyctl_fleet":1,"hosts":[{"host":"a","exit_code":0},{"host":"a","exit_code":0}]}`:                     "no name of its own",
		`{"ptyctl_fleet":1,"hosts":[{"host":"a","exit_code":0,"stdout":"00"}]}`:                                  "is missing",
		`{"ptyctl_fleet":1,"outputs":{"00":{"bytes":0}}}`:                                                        "was changed",
		`{"ptyctl_fleet":1,"outputs":{"` + strings.Repeat("00", 32) + `":{"bytes":1,"head":"a"}}}`:               "was changed",
		`{"ptyctl_fleet":1,"outputs":{"` + strings.Repeat("00", 32) + `":{"bytes":-1}}}`:                         "was changed",
		`{"ptyctl_fleet":1,"outputs":{"` + strings.Repeat("00", 32) + `":{"bytes":9,"head":"!","base64":true}}}`: "illegal base64",
	} {
		if a, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read(%q) = %+v, %v; want an error with %q", text, a, err, want)
		}
	}
}

// Whatever a file has, reading it is an error or gives answers that can be compared and written.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, before); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"ptyctl_fleet":1,"hosts":[{"host":"a","exit_code":0}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if err := Write(new(bytes.Buffer), a); err != nil {
			t.Errorf("Write of the answers read = %v, want no error", err)
		}
		set, _ := Changes(a, after, groups.Volatile)
		_ = set.Report(groups.Limits{}).Text()
	})
}

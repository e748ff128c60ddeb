//go:build unix

package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A sample is a log over several files, oldest first, as lines with their line ends.
type sample [][][]byte

func newSample(tb testing.TB) sample {
	tb.Helper()
	path := filepath.Join(folder(tb), "audit.jsonl")
	write(tb, Options{Path: path, MaxBytes: 1000, Keep: 100, Fsync: FsyncNever}, 8)
	names := family(tb, path)
	slices.SortFunc(names, func(a, b string) int { return age(b) - age(a) })
	var s sample
	for _, name := range names {
		p, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		s = append(s, bytes.SplitAfter(bytes.TrimSuffix(p, nil), []byte("\n"))[:bytes.Count(p, []byte("\n"))])
	}
	if len(s) < 3 || len(s[0]) < 3 {
		tb.Fatalf("the sample has %d files, the first of %d lines; want at least 3 of each", len(s), len(s[0]))
	}
	return s
}

func (s sample) clone() sample {
	c := make(sample, len(s))
	for i := range s {
		c[i] = slices.Clone(s[i])
	}
	return c
}

func (s sample) verify(head string) (Report, error) {
	v := verifier{head: head}
	for i, lines := range s {
		if err := v.file(fmt.Sprintf("f%d", i), bytes.NewReader(bytes.Join(lines, nil))); err != nil {
			return v.report, err
		}
	}
	return v.report, v.end()
}

// Verify finds every change to every line, at that line or the next one. A change to the
// last line needs the head.
func TestTampering(t *testing.T) {
	whole := newSample(t)
	good, err := whole.verify("")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := whole.verify(good.Head); err != nil || r.Since != 0 {
		t.Fatalf("Verify with the last hash = %+v, %v; want no lines since", r, err)
	}
	check := func(what string, i, j int, s sample) {
		t.Helper()
		if _, err := s.verify(good.Head); err == nil {
			t.Errorf("%s of line %d in file %d was not found", what, j+1, i+1)
		}
		if _, err := s.verify(""); err == nil && (i < len(whole)-1 || j < len(whole[i])-1) {
			t.Errorf("%s of line %d in file %d was not found without the head", what, j+1, i+1)
		}
	}
	for i := range whole {
		for j, line := range whole[i] {
			change := func(what string, by ...[]byte) {
				s := whole.clone()
				s[i] = slices.Concat(s[i][:j], by, s[i][j+1:])
				check(what, i, j, s)
			}
			for at := range line {
				other := bytes.Clone(line)
				other[at] ^= 1
				change(fmt.Sprintf("a bit at %d", at), other)
				if at < len(line)-1 {
					s := whole.clone()
					s[i] = append(slices.Clone(s[i][:j]), line[:at+1])
					check("a cut in the middle", i, j, s)
				}
			}
			change("a blank added", append([]byte(" "), line...))
			change("the line end as CR LF", append(bytes.TrimSuffix(bytes.Clone(line), []byte("\n")), "\r\n"...))
			change("the removal")
			change("a doubling", line, line)
			change("an empty line before it", []byte("\n"), line)
			change("a foreign line before it", []byte(`{"prev":"`+origin+`","event":"write"}`+"\n"), line)
			if j+1 < len(whole[i]) {
				s := whole.clone()
				s[i][j], s[i][j+1] = s[i][j+1], s[i][j]
				check("a swap with the next", i, j, s)
			}
			s := whole.clone()
			if s[i] = s[i][:j]; i == len(s)-1 && j > 0 { // at a line end only the head shows the cut
				if _, err := s.verify(good.Head); err == nil {
					t.Errorf("the cut before line %d was not found", j+1)
				}
				continue
			}
			check("a cut", i, j-1, s)
		}
		if i < len(whole)-1 && i > 0 {
			check("the removal of the file", i, -1, slices.Delete(whole.clone(), i, i+1))
			s := whole.clone()
			s[i], s[i+1] = s[i+1], s[i]
			check("a swap of files", i, -1, s)
		}
	}
}

// The hash of an earlier line is found, and Since counts the lines after it.
func TestHead(t *testing.T) {
	s := newSample(t)
	early := digest(bytes.TrimSuffix(s[1][1], []byte("\n")))
	whole, err := s.verify(early)
	if err != nil {
		t.Fatal(err)
	}
	if want := whole.Lines - len(s[0]) - 2; whole.Since != want {
		t.Errorf("lines since the hash = %d, want %d", whole.Since, want)
	}
	if _, err := s[:1].verify(early); err == nil {
		t.Error("Verify accepted a log that ends before the hash, want an error")
	}
	// A log that was rewritten from its first line has a valid chain, but not the hash.
	if _, err := newSample(t).verify(early); err == nil {
		t.Error("Verify accepted another log, want an error")
	}
}

func TestVerifyFiles(t *testing.T) {
	if _, err := Verify("", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("Verify accepted a missing file, want an error")
	}
	empty := rewrite(t, filepath.Join(folder(t), "empty"), nil)
	broken(t, "empty file", empty)
	long := rewrite(t, filepath.Join(folder(t), "long"), bytes.Repeat([]byte("x"), 1<<20))
	broken(t, "longer than any", long)
}

// Verify handles any content of a file. It must not accept a file with a byte removed.
func FuzzVerify(f *testing.F) {
	s := newSample(f)
	f.Add(bytes.Join(s[0], nil), uint(3))
	f.Add(bytes.Join(s[1], nil), uint(70))
	f.Add([]byte(nil), uint(0))
	f.Add([]byte(`{"prev":"","event":"file","log":{"file":1}}`+"\n"), uint(9))
	f.Add([]byte("{}\n{}\n"), uint(1))
	f.Fuzz(func(t *testing.T, p []byte, at uint) {
		verify := func(p []byte, head string) (Report, error) {
			v := verifier{head: head}
			if err := v.file("f", bytes.NewReader(p)); err != nil {
				return v.report, err
			}
			return v.report, v.end()
		}
		r, err := verify(p, "")
		if err != nil {
			return
		}
		if r.Lines == 0 || !IsHash(r.Head) {
			t.Fatalf("Verify accepted a file with %+v, want lines and a hash", r)
		}
		i := int(at % uint(len(p)))
		if _, err := verify(slices.Concat(p[:i], p[i+1:]), r.Head); err == nil {
			t.Errorf("Verify accepted the file without byte %d, want an error", i)
		}
	})
}

// The newest entry about each recording that was not removed is in the report.
func TestRecordings(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	l := openLog(t, Options{Path: path, MaxBytes: 700})
	l.Recording(Recording{Path: "/r/a.cast", Seal: 1, SHA256: "aa", Bytes: 10})
	l.Recording(Recording{Path: "/r/b.cast", Seal: 1, SHA256: "bb", Bytes: 10, End: true})
	l.Recording(Recording{Path: "/r/a.cast", Seal: 7, SHA256: "ac", Bytes: 70, End: true})
	l.Recording(Recording{Path: "/r/b.cast", Removed: "age"})
	closeLog(t, l)
	got := verified(t, family(t, path)...).Recordings
	if want := (Recording{Path: "/r/a.cast", Seal: 7, SHA256: "ac", Bytes: 70, End: true}); len(got) != 1 ||
		got["/r/a.cast"] != want {
		t.Errorf("recordings %+v, want %+v", got, want)
	}
}

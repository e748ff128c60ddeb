package hostkeys

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestRecord(t *testing.T) {
	k := keys()
	line := "[server]:2201 " + text(k.ed) + "\n"
	for _, c := range []struct {
		name   string
		before string
		after  string
		at     int // the line of the entry
	}{
		{name: "empty file", after: line, at: 1},
		{name: "after a line", before: "other " + text(k.rsa) + "\n", after: "other " + text(k.rsa) + "\n" + line, at: 2},
		{name: "no line end", before: "other " + text(k.rsa), after: "other " + text(k.rsa) + "\n" + line, at: 2},
		{name: "CRLF and no line end", before: "# a\r\n# b", after: "# a\r\n# b\n" + line, at: 3},
		{name: "rubbish", before: "\x00\xff\n\n", after: "\x00\xff\n\n" + line, at: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "known_hosts")
			if err := os.WriteFile(file, []byte(c.before), 0o640); err != nil {
				t.Fatal(err)
			}
			v := verifier(t, 2201, Options{Policy: AcceptNew, UserFiles: []string{file, file + "2"}})
			if err := verify(t, v, k.ed); err != nil {
				t.Fatal(err)
			}
			if got := read(t, file); got != c.after {
				t.Errorf("the file is\n%q, want\n%q", got, c.after)
			}
			r := v.Result()
			if r.Decision != Added || r.Entry == nil || r.Entry.Line != c.at || r.Entry.File != file ||
				r.Entry.Names != "[server]:2201" {
				t.Errorf("%+v, entry %+v", r, r.Entry)
			}
			again := verifier(t, 2201, Options{UserFiles: []string{file}})
			if err := verify(t, again, k.ed); err != nil || again.Result().Entry.Line != c.at {
				t.Errorf("the new line is not read back: %v, %+v", err, again.Result().Entry)
			}
			if _, err := os.Stat(file + "2"); err == nil {
				t.Error("the second file was written to")
			}
		})
	}
}

func TestRecordMakesDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "home", ".ssh", "known_hosts")
	v := verifier(t, 22, Options{Policy: AcceptNew, UserFiles: []string{file}})
	if err := verify(t, v, keys().ed); err != nil || v.Result().Entry == nil {
		t.Fatal(err, v.Result())
	}
	for name, want := range map[string]os.FileMode{filepath.Dir(file): 0o700, file: 0o600, file + ".lock": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestRecordHashed(t *testing.T) {
	v := verifier(t, 2201, Options{Policy: AcceptNew, HashNewNames: true})
	if err := verify(t, v, keys().ed); err != nil {
		t.Fatal(err)
	}
	file := v.o.UserFiles[0]
	if s := read(t, file); strings.Contains(s, "server") || !strings.Contains(s, "|1|") {
		t.Errorf("the name is not hashed:\n%s", s)
	}
	if err := verify(t, verifier(t, 2201, Options{UserFiles: []string{file}}), keys().ed); err != nil {
		t.Error(err)
	}
}

func TestRecordUnderAlias(t *testing.T) {
	v := verifier(t, 2201, Options{Policy: AcceptNew, Alias: "Nick"})
	if err := verify(t, v, keys().ed); err != nil {
		t.Fatal(err)
	}
	if s := strings.TrimSpace(read(t, v.o.UserFiles[0])); s != "nick "+text(keys().ed) {
		t.Error(s)
	}
}

func TestRecordThroughSymlink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "known_hosts")
	target := filepath.Join(dir, "real")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := verify(t, verifier(t, 22, Options{Policy: AcceptNew, UserFiles: []string{link}}), keys().ed); err != nil {
		t.Fatal(err)
	}
	if read(t, target) == "" {
		t.Error("nothing was recorded in the target")
	}
	if _, err := os.Stat(target + ".lock"); err != nil {
		t.Error("two names of one file have two locks:", err)
	}
}

// TestNotRecorded: a key that a file should keep and cannot is not accepted, because the next connection would accept
// any other. Where no key shall be kept it is accepted, with a warning.
func TestNotRecorded(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		host   string
		policy Policy
		files  []string
		want   verdict
	}{
		{"device", "server", AcceptNew, []string{os.DevNull}, accept},
		{"below a file", "server", AcceptNew, []string{filepath.Join(blocked, "known_hosts")}, unknown},
		{"below a file, disabled", "server", Disabled, []string{filepath.Join(blocked, "known_hosts")}, accept},
		{"no file", "server", AcceptNew, nil, unknown},
		{"no file, disabled", "server", Disabled, nil, accept},
		{"a name that is a pattern", "s*", AcceptNew, []string{filepath.Join(dir, "known_hosts")}, unknown},
		{"a name with a line in it", "s\nother", AcceptNew, []string{filepath.Join(dir, "known_hosts")}, unknown},
		{"a name that is a list", "s,other", AcceptNew, []string{filepath.Join(dir, "known_hosts")}, unknown},
		{"a bracket", "[server", AcceptNew, []string{filepath.Join(dir, "known_hosts")}, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := NewVerifier(c.host, 2201, nil, Options{Policy: c.policy, UserFiles: c.files})
			if err != nil {
				t.Fatal(err)
			}
			err = verify(t, v, keys().ed)
			if got := verdictOf(t, err); got != c.want {
				t.Fatalf("got %s, want %s (%v)", got, c.want, err)
			}
			if u := (*UnknownError)(nil); errors.As(err, &u) && u.Unwritable == "" {
				t.Error("the error does not say why nothing was recorded")
			}
			if r := v.Result(); c.want == accept && (len(r.Warnings) == 0 || r.Entry != nil) {
				t.Errorf("Result = %+v, want a warning and no entry", r)
			}
			if _, err := os.Stat(filepath.Join(dir, "known_hosts")); err == nil {
				t.Error("a bad name was written")
			}
		})
	}
}

// TestRecordRace connects to an unrecorded host many times at once: one line must be added,
// and a connection with another key must fail.
func TestRecordRace(t *testing.T) {
	k := keys()
	const each = 8
	file := filepath.Join(t.TempDir(), "known_hosts")
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		verdicts = map[ssh.Signer]map[verdict]int{k.ed: {}, k.rsa: {}}
		start    = make(chan struct{})
	)
	for range each {
		for _, s := range []ssh.Signer{k.ed, k.rsa} {
			v := verifier(t, 22, Options{Policy: AcceptNew, UserFiles: []string{file}})
			wg.Go(func() {
				<-start
				got := verdictOf(t, verify(t, v, s))
				mu.Lock()
				defer mu.Unlock()
				verdicts[s][got]++
			})
		}
	}
	close(start)
	wg.Wait()
	if n := strings.Count(read(t, file), "\n"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, read(t, file))
	}
	ed, rs := verdicts[k.ed], verdicts[k.rsa]
	if ed[accept]+rs[accept] != each || ed[mismatch]+rs[mismatch] != each || ed[accept]*rs[accept] != 0 {
		t.Errorf("ed25519 %v, rsa %v", ed, rs)
	}
}

// TestAddressRevokedMeanwhile: adding an address of a known host must not hide a revocation
// that appeared meanwhile.
func TestAddressRevokedMeanwhile(t *testing.T) {
	k := keys()
	file := writeLines(t, "server "+text(k.ed))
	v, err := NewVerifier("server", 22, net.ParseIP("192.0.2.7"), Options{UserFiles: []string{file}, CheckIP: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("@revoked * "+text(k.ed)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := verdictOf(t, verify(t, v, k.ed)); got != revoked {
		t.Error(got)
	}
}

// TestRecordRereads: a line written by another program after NewVerifier must decide.
func TestRecordRereads(t *testing.T) {
	k := keys()
	for _, c := range []struct {
		name, written string
		want          verdict
		decision      Decision
	}{
		{"same key", "server " + text(k.ed), accept, Known},
		{"another key", "server " + text(k.rsa), mismatch, Undecided},
		{"revocation", "@revoked * " + text(k.ed), revoked, Undecided},
		{"another host", "other " + text(k.rsa), accept, Added},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := verifier(t, 22, Options{Policy: AcceptNew})
			if err := os.WriteFile(v.o.UserFiles[0], []byte(c.written+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := verdictOf(t, verify(t, v, k.ed)); got != c.want || v.Result().Decision != c.decision {
				t.Errorf("got %s, %s", got, v.Result().Decision)
			}
			if added := strings.Count(read(t, v.o.UserFiles[0]), "\n") - 1; (added == 1) != (c.decision == Added) {
				t.Errorf("%d lines added", added)
			}
		})
	}
}

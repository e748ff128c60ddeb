package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"

	"ptyctl/term"
)

// folderFor returns a path for recordings that does not exist yet.
func folderFor(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "recordings")
}

// notes collects the notes of a Dir.
type notes struct {
	mu  sync.Mutex
	all []Note
}

func (n *notes) add(note Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, note)
}

func newDir(tb testing.TB, o DirOptions) *Dir {
	tb.Helper()
	d, err := NewDir(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

// live gives d the events of an open session with the output text.
func live(d *Dir, id, text string) {
	d.Observe(term.Event{Time: time.Now(), Verb: term.VerbOpen, Session: id, Host: "web1", Protocol: "ssh"})
	d.Observe(term.Event{Time: time.Now(), Verb: term.VerbState, Session: id, Host: "web1", Protocol: "ssh", State: "open", Detail: "terminal 80x24"})
	d.Observe(term.Event{Time: time.Now(), Verb: term.VerbOutput, Session: id, Data: []byte(text)})
}

func list(tb testing.TB, dir string) []Stored {
	tb.Helper()
	var all []Stored
	if err := List(dir, func(s Stored) bool { all = append(all, s); return true }); err != nil {
		tb.Fatal(err)
	}
	return all
}

// TestDir: sessions have files of their own, and the notes about them find changes.
func TestDir(t *testing.T) {
	dir := folderFor(t)
	var n notes
	d := newDir(t, DirOptions{Path: dir, Noted: n.add})
	live(d, "web1-a", "one\r\n")
	live(d, "../web2", "two\r\n")
	d.Observe(term.Event{Verb: term.VerbOutput, Session: "guessed", Data: []byte("of no session")})
	if n := d.Active(); n != 2 {
		t.Errorf("%d sessions are recorded, want 2", n)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	all := list(t, dir)
	if len(all) != 2 || all[0].Header.About.Session != "../web2" && all[0].Header.About.Session != "web1-a" {
		t.Fatalf("recordings %+v, want two", all)
	}
	for _, s := range all {
		info, err := os.Stat(s.Path)
		if err != nil || info.Mode().Perm() != 0o600 || !s.Ended || s.Err != nil || filepath.Dir(s.Path) != dir {
			t.Errorf("%+v with mode %v, %v; want one that is complete, and its owner's alone", s, info.Mode(), err)
		}
	}
	if len(n.all) != 2 || !n.all[0].Seal.End {
		t.Fatalf("noted %+v, want the ends of two", n.all)
	}
	for _, note := range n.all {
		if rep, err := Check(note); err != nil || !rep.Ended {
			t.Errorf("Check(%+v) = %+v, %v", note, rep, err)
		}
	}
	a, b := n.all[0], n.all[1]
	a.Path, b.Path = b.Path, a.Path
	wantBroken(t, a, "kept elsewhere")
	wantBroken(t, b, "kept elsewhere")
	if err := os.Remove(a.Path); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, a, "is gone")
	if path, err := Find(dir, "../web2"); err == nil {
		t.Errorf("Find(../web2) = %s: a path of no file", path)
	}
	if path, err := Find(dir, "web1-a"); err == nil != (filepath.Base(path) != "." && path != "" && path != a.Path) {
		t.Errorf("Find(web1-a) = %s, %v", path, err)
	}
}

func wantBroken(tb testing.TB, n Note, why string) {
	tb.Helper()
	_, err := Check(n)
	if b, ok := errors.AsType[*BrokenError](err); !ok || !strings.Contains(b.Why, why) {
		tb.Errorf("Check(%+v) = %v; want that it %s", n, err, why)
	}
}

// TestDirEncrypted: an encrypted recording is read with an identity, and checked without.
func TestDirEncrypted(t *testing.T) {
	dir := folderFor(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var n notes
	d := newDir(t, DirOptions{Path: dir, Noted: n.add, Recipients: []age.Recipient{id.Recipient()}})
	for range 20 {
		live(d, "web1-a", strings.Repeat("some output\r\n", 1000))
		time.Sleep(time.Millisecond) // the writer takes the queued output
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	note := n.all[len(n.all)-1]
	if !strings.HasSuffix(note.Path, ".cast.age") || !note.Seal.End {
		t.Fatalf("noted %+v", note)
	}
	p, err := os.ReadFile(note.Path)
	if err != nil || strings.Contains(string(p), "some output") || !strings.HasPrefix(string(p), "age-encryption.org/v1") {
		t.Fatalf("the file is not encrypted: %.100q, %v", p, err)
	}
	if _, err := Open(note.Path); !errors.Is(err, ErrEncrypted) {
		t.Errorf("Open without identity = %v", err)
	}
	r, err := Open(note.Path, id)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	if err := Lines(r, func(l Line) bool { lines++; return true }); err != nil || lines < 20_000 {
		t.Errorf("%d lines, %v", lines, err)
	}
	_ = r.Close()
	for _, ids := range [][]age.Identity{nil, {id}} {
		if rep, err := Check(note, ids...); err != nil || !rep.Ended {
			t.Errorf("Check = %+v, %v", rep, err)
		}
	}
	p[len(p)/2] ^= 1
	if err := os.WriteFile(note.Path, p, 0o600); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, note, "changed")
	// A recording of a killed writer is read up to its last seal.
	p[len(p)/2] ^= 1
	if err := os.WriteFile(note.Path, p[:len(p)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, note, "cut off")
	if rep, err := Verify(note.Path, nil, id); err != nil || rep.Ended || rep.Seals < 1 {
		t.Errorf("Verify of what is left = %+v, %v", rep, err)
	}
}

// TestDirLimits: the oldest complete recordings go, and none that is written.
func TestDirLimits(t *testing.T) {
	for name, o := range map[string]DirOptions{
		"number": {MaxFiles: 3},
		"size":   {MaxTotal: 40 << 10},
		"age":    {MaxAge: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			var n notes
			o.Path, o.Noted = folderFor(t), n.add
			d := newDir(t, o)
			live(d, "first", strings.Repeat("x", 10<<10))
			for first := d.session("first", false, time.Now()); first.Written() == 0; {
				time.Sleep(time.Millisecond)
			}
			for i := range 6 {
				id := fmt.Sprintf("s%d", i)
				live(d, id, strings.Repeat("x", 10<<10))
				if err := d.session(id, false, time.Now()).Recorder.Close(); err != nil {
					t.Error(err)
				}
				if i == 2 && name == "age" {
					old := time.Now().Add(-2 * time.Hour)
					for _, s := range list(t, o.Path) {
						_ = os.Chtimes(s.Path, old, old)
					}
				}
			}
			all := list(t, o.Path)
			var size int64
			names := ""
			for _, s := range all {
				size += s.Size
				names += " " + s.Header.About.Session
			}
			if len(all) != 3 && name == "number" || size > 44<<10 || !strings.Contains(names, " first") || strings.Contains(names, " s0") || !strings.HasSuffix(names, " s5") {
				t.Errorf("left are%s, %d bytes; want the newest, and the first, which is not complete", names, size)
			}
			removed := 0
			for _, note := range n.all {
				if note.Removed && note.Why != "" {
					removed++
				}
			}
			if removed+len(all) != 7 {
				t.Errorf("%d noted as removed, and %d are there, of 7", removed, len(all))
			}
		})
	}
}

// TestDirFailClosed: a session that cannot be recorded is refused, or ended.
func TestDirFailClosed(t *testing.T) {
	dir := folderFor(t)
	ended := make(chan string, 10)
	d := newDir(t, DirOptions{Path: dir, FailClosed: true, MaxTotal: 20 << 10, Failed: func(id string, _ error) { ended <- id }})
	refused := func(e term.Event, want bool) {
		t.Helper()
		e.Time = time.Now()
		err := d.Journal(e)
		if (err != nil) != want || want && !errors.Is(err, term.IOError) {
			t.Errorf("Journal(%s %s) = %v, want it refused: %t", e.Verb, e.Session, err, want)
		}
	}
	refused(term.Event{Verb: term.VerbOpen, Session: "web1"}, false)
	live(d, "web1", strings.Repeat("x", 30<<10))
	refused(term.Event{Verb: term.VerbWrite, Session: "web1"}, false)
	for d.session("web1", false, time.Now()).Written() == 0 {
		time.Sleep(time.Millisecond)
	}
	live(d, "web1", "there is no room for this")
	if id := <-ended; id != "web1" {
		t.Errorf("%s is to end, want web1", id)
	}
	for d.session("web1", false, time.Now()).bad.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	refused(term.Event{Verb: term.VerbWrite, Session: "web1"}, true)
	refused(term.Event{Verb: term.VerbOpen, Session: "web2"}, true)
	refused(term.Event{Verb: term.VerbFileRead, Path: "/etc/hosts"}, true)
	refused(term.Event{Verb: term.VerbWrite, Session: "of another process"}, false)
	if d.Failures() == 0 {
		t.Error("no failure was counted")
	}
}

// TestDirRefused: a session that the recorder has let open, and that is refused for another reason, is not waited for.
func TestDirRefused(t *testing.T) {
	dir := folderFor(t)
	d := newDir(t, DirOptions{Path: dir, FailClosed: true})
	open := term.Event{Time: time.Now(), Verb: term.VerbOpen, Session: "web1"}
	if err := d.Journal(open); err != nil {
		t.Fatal(err)
	}
	recorder := d.session("web1", false, time.Now())
	open.Refused = &term.Error{Kind: term.LimitExceeded}
	d.Observe(open)
	<-recorder.Done()
	if d.Active() != 0 || !list(t, dir)[0].Ended {
		t.Errorf("%d sessions are recorded, and there are %+v; want one that is complete", d.Active(), list(t, dir))
	}
}

// TestDirLost: the recording of a session that was lost is complete, as that of one that was closed.
func TestDirLost(t *testing.T) {
	for _, state := range []string{"closed", "error"} {
		dir := folderFor(t)
		d := newDir(t, DirOptions{Path: dir})
		d.Observe(term.Event{Time: time.Now(), Verb: term.VerbState, Session: "web1", State: "open", Detail: "terminal 80x24"})
		recorder := d.session("web1", false, time.Now())
		d.Observe(term.Event{Time: time.Now(), Verb: term.VerbState, Session: "web1", State: state, From: "open"})
		<-recorder.Done()
		if d.Active() != 0 || !list(t, dir)[0].Ended {
			t.Errorf("state %s: %d sessions are recorded, and there are %+v; want one that is complete", state, d.Active(), list(t, dir))
		}
	}
}

// A session that is reopened has a recording for each of its connections, also while the first one is being completed.
// TestDirSettle: Settle waits for the recordings of sessions that have ended, also of one that was reopened since, and for
// no other.
func TestDirSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t, DirOptions{Path: folderFor(t)})
		end := func(id string) {
			d.Observe(term.Event{Time: time.Now(), Verb: term.VerbState, Session: id, State: "closed", From: "open"})
		}
		began := time.Now()
		for _, id := range []string{"goes-on", "ended", "reopened"} {
			live(d, id, "text\r\n")
		}
		time.Sleep(time.Second) // their files are open
		d.Settle(t.Context())
		if took := time.Since(began); took != time.Second {
			t.Errorf("Settle took %v while no session had ended", took-time.Second)
		}
		end("ended")
		end("reopened")
		live(d, "reopened", "more\r\n")
		ctx, cancel := context.WithTimeout(t.Context(), linger/2)
		defer cancel()
		d.Settle(ctx)
		if took := time.Since(began); took != time.Second+linger/2 {
			t.Errorf("Settle took %v, want %v", took-time.Second, linger/2)
		}
		d.mu.Lock()
		var files []*file
		for _, t := range d.allLocked() {
			if t.over.Load() {
				files = append(files, t.file)
			}
		}
		d.mu.Unlock()
		d.Settle(t.Context())
		if len(files) != 2 {
			t.Fatalf("%d recordings of sessions that have ended, want 2", len(files))
		}
		for _, f := range files {
			if _, err := f.f.Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the recording of %s is open after Settle", f.session)
			}
		}
		if n := d.Active(); n != 2 {
			t.Errorf("%d sessions are recorded after Settle, want 2", n)
		}
	})
}

func TestReopenedSession(t *testing.T) {
	dir := folderFor(t)
	d := newDir(t, DirOptions{Path: dir})
	end := func() {
		d.Observe(term.Event{Time: time.Now(), Verb: term.VerbState, Session: "web1-a", State: "error", From: "open"})
	}
	live(d, "web1-a", "one\r\n")
	d.Observe(term.Event{ // of an open session: that changes nothing
		Time: time.Now(), Verb: term.VerbOpen, Session: "web1-a", Refused: &term.Error{Kind: term.InvalidArgument},
	})
	d.Observe(term.Event{Time: time.Now(), Verb: term.VerbOutput, Session: "web1-a", Data: []byte("more\r\n")})
	end()
	live(d, "web1-a", "two\r\n")
	if n := d.Active(); n != 1 {
		t.Errorf("%d sessions are recorded, want 1", n)
	}
	end()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	all := list(t, dir)
	if len(all) != 2 {
		t.Fatalf("%d recordings, want one for each connection", len(all))
	}
	for _, one := range all {
		text, err := os.ReadFile(one.Path)
		if err != nil {
			t.Fatal(err)
		}
		first, more, second := strings.Contains(string(text), "one"), strings.Contains(string(text), "more"), strings.Contains(string(text), "two")
		if first != more || first == second {
			t.Errorf("a recording has the output of both connections, or a part of one:\n%s", text)
		}
	}
}

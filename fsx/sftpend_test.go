//go:build unix

package fsx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pkg/sftp"

	"ptyctl/term"
)

type fsMode = fs.FileMode

// longHandle makes handles so long that the client library makes all requests.
var longHandle = strings.Repeat("+", maxHandle)

// TestEndAsLibrary: whichever request a server refuses, the result, the error and the files are those of the client
// library, which makes one request after the other; also if the answers come in the opposite order.
func TestEndAsLibrary(t *testing.T) {
	kinds := map[byte]string{0: "none", packetWrite: "write", packetFsetstat: "fsetstat", packetFstat: "fstat", packetExtended: "extended", packetClose: "close"}
	for name, w := range fakeWrites() {
		for kind, what := range kinds {
			for nth := 1; nth <= 4 && (kind != 0 || nth == 1); nth++ {
				for _, code := range []byte{3, 4} {
					t.Run(fmt.Sprintf("%s, refused %s %d with %d", name, what, nth, code), func(t *testing.T) {
						type outcome struct {
							out    term.FileWritten
							err    string
							bytes  any
							files  map[string]fakeFile
							open   int
							usable bool
						}
						var all []outcome
						var sent []string
						for _, f := range []*fakeServer{{pad: longHandle}, {}, {backwards: true}} {
							fake := newFakeServer(map[string]string{"old": "old text"})
							fake.pad, fake.backwards, fake.code, fake.refuse[kind] = f.pad, f.backwards, code, nth
							if w.Append || w.NonAtomic {
								fake.alone = len(w.Data) / block
							}
							if name == "over with mode" { // nothing comes together
								fake.backwards = false
							}
							files := startFake(t, fake)
							out, err := files.Write(t.Context(), w)
							o := outcome{out: out, bytes: term.FactOf[term.PartialWrite](err)}
							if err != nil {
								o.err, o.out = err.Error(), term.FileWritten{}
							}
							o.files, o.open = fake.state()
							_, err = files.Stat(t.Context(), "old")
							o.usable = err == nil
							all, sent = append(all, o), append(sent, fake.sent)
						}
						for i, o := range all[1:] {
							if !reflect.DeepEqual(o, all[0]) {
								t.Errorf("Write = %+v after the requests %s\nwant, as by the library, %+v after %s (backwards: %t)",
									short(fmt.Sprint(o)), sent[i+1], short(fmt.Sprint(all[0])), sent[0], i == 1)
							}
						}
					})
				}
			}
		}
	}
}

func short(s string) string { return s[:min(len(s), 600)] }

// TestEndTogether: what ends a file goes out with its last data, after the answers to all other data that is added to
// the file.
func TestEndTogether(t *testing.T) {
	for name, want := range map[string]string{
		"append": "lowwwwefc", "append little": "lowefc", "append to new": "lomwwwwmefc", "append none": "loefc", "over": "lowwwwefc",
		"over with mode": "lowwwwmefc", "new": "lowwwwefce", "new with mode": "lomwwwwmefce", "empty": "loefce",
		"replace": "locomfwwwwmefce", "replace with mode": "locomfwwwwmefce",
	} {
		fake := newFakeServer(map[string]string{"old": "old text"})
		files := startFake(t, fake)
		if _, err := files.Write(t.Context(), fakeWrites()[name]); err != nil {
			t.Errorf("%s: Write = %v", name, err)
		}
		if fake.sent != want {
			t.Errorf("%s: the requests are %s, want %s", name, fake.sent, want)
		}
	}
}

// TestEndOwner: a file of another owner keeps that. The new one is its owner's alone until it has all data and the owner.
func TestEndOwner(t *testing.T) {
	for refused := range 4 { // none, the first mode, the owner, the last mode
		fake := newFakeServer(map[string]string{"old": "old text"})
		fake.files["old"].owner, fake.refuse[packetFsetstat] = 7, refused
		files := startFake(t, fake)
		_, err := files.Write(t.Context(), fakeWrites()["replace"])
		now, open := fake.state()
		old := now["old"]
		if want := []string{"locomfwwwwfmmefce", "locomfcx", "locomfwwwwfmcx", "locomfwwwwfmmcx"}[refused]; fake.sent != want {
			t.Errorf("the requests are %s, want %s", fake.sent, want)
		}
		if (err == nil) != (refused == 0) || old.owner != 7 || (len(old.data) == 8) != (err != nil) || len(now) != 1 || open != 0 {
			t.Errorf("Write = %v, then the file has %d bytes of the owner %d, there are %d, and %d are open",
				err, len(old.data), old.owner, len(now), open)
		}
	}
}

// TestEndStale: the size in a result is right even if the server answers an fstat before it has worked on a write.
func TestEndStale(t *testing.T) {
	for name, w := range fakeWrites() {
		if name == "over with mode" { // nothing comes together
			continue
		}
		fake := newFakeServer(map[string]string{"old": "old text"})
		fake.stale = true
		files := startFake(t, fake)
		out, err := files.Write(t.Context(), w)
		now, _ := fake.state()
		if want := len(now[w.Path].data); err != nil || out.Size != int64(want) {
			t.Errorf("%s: Write = %+v, %v, want the size %d", name, out, err, want)
		}
	}
}

// TestEndCanceled: a call that is canceled while the server answers nothing ends, and says so. It ends the connection,
// so that the server drops what it has not worked on.
func TestEndCanceled(t *testing.T) {
	for name, w := range fakeWrites() {
		for _, kind := range []byte{packetWrite, packetExtended, packetFstat, packetClose} {
			synctest.Test(t, func(t *testing.T) {
				fake := newFakeServer(map[string]string{"old": "old text"})
				fake.freeze = kind
				files := startFake(t, fake)
				ctx, cancel := context.WithCancel(t.Context())
				var err error
				done := make(chan struct{})
				go func() {
					_, err = files.Write(ctx, w)
					close(done)
				}()
				synctest.Wait()
				cancel()
				<-done
				if len(w.Data) == 0 && kind == packetWrite {
					if err != nil {
						t.Errorf("%s: Write = %v", name, err)
					}
					return
				}
				if !errors.Is(err, term.Canceled) {
					t.Errorf("%s, frozen from the request %d on: Write = %v, want the kind %s", name, kind, err, term.Canceled)
				}
				<-files.Lost()
			})
		}
	}
}

// TestEndAnswers: an answer that is not one to its request ends the connection.
func TestEndAnswers(t *testing.T) {
	attrs := answer(packetAttrs, 0, 0, 0, 4, 0, 0, 0o100644>>8, 0o100644&0xff)
	handle := answer(packetHandle, text("h")...)
	for name, answers := range map[string][][]byte{
		"attributes of a write": {attrs, attrs, attrs, attrs},
		"no code":               {answer(packetStatus, 0, 0)},
		"no attributes":         {status(0), status(0), status(0), status(0)},
		"cut attributes":        {status(0), status(0), answer(packetAttrs, 0, 0, 0, 5, 1, 2), status(0)},
		"no flags":              {status(0), status(0), answer(packetAttrs), status(0)},
		"long":                  {answer(packetStatus, make([]byte, maxStatus+1)...)},
		"data":                  {data("some data")},
		"end of file":           {status(statusEOF)},
	} {
		files, err := NewSFTP(t.Context(), newLiar(version(extSync), append([][]byte{attrs, handle}, answers...)), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		within(t, func() {
			_, err = files.Write(t.Context(), term.FileWrite{Path: "x", Data: []byte("data"), Append: true})
			if !errors.Is(err, term.RemoteClosed) {
				t.Errorf("%s: Write = %v, want the kind %s", name, err, term.RemoteClosed)
			}
			<-files.Lost()
		})
	}
}

// TestRefusal: a refusal is what the client library makes of one.
func TestRefusal(t *testing.T) {
	fake := newFakeServer(map[string]string{"old": ""})
	fake.refuse[packetFsetstat] = 1
	files := startFake(t, fake)
	f, err := files.openFile("old", 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := f.Chmod(0o600)
	q := newChmod(f.handle, 0o600)
	fake.had[packetFsetstat] = 0
	if err := files.reads.send(q); err != nil {
		t.Fatal(err)
	}
	var a, b *sftp.StatusError
	if got := q.err(); got.Error() != want.Error() || !errors.As(want, &a) || !errors.As(got, &b) || a.Code != b.Code {
		t.Errorf("the error of a refusal is %v (%+v), want %v (%+v)", got, b, want, a)
	}
}

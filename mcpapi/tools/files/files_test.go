//go:build unix

package files_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptyctl/fsx"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// A filesLab is a lab with an SSH server that has OpenSSH's SFTP server, and a ptyctl that offers a folder of its own
// machine.
type filesLab struct {
	*mcptest.Lab
	far, here string
	seen      *mcptest.Diary
}

func newFilesLab(t *testing.T, c mcptest.Config, limits fsx.Limits) *filesLab {
	t.Helper()
	return filesLabOf(t, c, limits, func(c mcptest.Config) *mcptest.Lab { return mcptest.NewLab(t, c) })
}

// filesLabOf is newFilesLab with a lab that start makes.
func filesLabOf(
	t *testing.T, c mcptest.Config, limits fsx.Limits, start func(mcptest.Config) *mcptest.Lab,
) *filesLab {
	t.Helper()
	l := &filesLab{far: t.TempDir(), here: t.TempDir(), seen: new(mcptest.Diary)}
	files, err := fsx.NewLocal([]string{l.here}, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	c.SSH.Subsystems = map[string]string{"sftp": "/usr/lib/openssh/sftp-server -d " + l.far}
	c.Sessions.Files, c.Sessions.Observers = files, append(c.Sessions.Observers, l.seen)
	c.Sessions.FarFiles = func(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error) {
		far, err := fsx.NewSFTP(ctx, channel, limits)
		if err != nil {
			return nil, err
		}
		return far, nil
	}
	c.Options.Local = []string{"stdio"}
	l.Lab = start(c)
	return l
}

// both runs a test on files of the far side, and on those of this machine. place is the folder of the files; args
// replaces %s in the arguments by session_id, with a comma, and the place with a slash.
func (l *filesLab) both(t *testing.T, test func(t *testing.T, place string, args func(string) string)) {
	t.Helper()
	l.Open("")
	t.Run("far", func(t *testing.T) {
		test(t, l.far, func(s string) string { return strings.ReplaceAll(s, "@", `"session_id":"$S","path":"`+l.far+`/`) })
	})
	t.Run("here", func(t *testing.T) {
		test(t, l.here, func(s string) string { return strings.ReplaceAll(s, "@", `"path":"`+l.here+`/`) })
	})
}

// The results of ptyctl_fs.
type (
	fileRead struct {
		Data         string
		DataEncoding string `json:"data_encoding"`
		Size         int64
		NextOffset   int64 `json:"next_offset"`
		Truncated    bool
		Mode         string
		ModifiedAt   int64 `json:"modified_at"`
		Warnings     []string
	}
	fileWrite struct {
		BytesWritten int64 `json:"bytes_written"`
		Size         int64
		Mode         string
		Created      bool
		Atomic       bool
		Warnings     []string
	}
	fileEntry struct {
		Name, Type, Mode string
		Size             int64
		ModifiedAt       int64 `json:"modified_at"`
	}
	fileList struct {
		Entries    []fileEntry
		Truncated  bool
		NextCursor string `json:"next_cursor"`
	}
	fileStat struct {
		fileEntry
		Target string
	}
)

// fs makes a call of ptyctl_fs, and reads its result.
func fsCall[T any](l *filesLab, args string) (out T) {
	l.T.Helper()
	r := l.OK(mcptest.FilesTool, args)
	if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
		l.T.Fatalf("%s: %v", r.Text, err)
	}
	return out
}

// TestFiles covers all actions on files, on the far side and on this machine.
func TestFiles(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{Entries: 3})
	l.both(t, func(t *testing.T, place string, args func(string) string) {
		read := func(more string) fileRead {
			return fsCall[fileRead](l, args(`{"action":"read",@file"`+more+`}`))
		}
		w := fsCall[fileWrite](l, args(`{"action":"write",@file","data":"grüße\n","mode":"0640"}`))
		if w.BytesWritten != 8 || w.Size != 8 || w.Mode != "0640" || !w.Created || !w.Atomic {
			t.Errorf("write: %+v", w)
		}
		if r := read(""); r.Data != "grüße\n" || r.DataEncoding != "utf-8" || r.Size != 8 || r.NextOffset != 8 ||
			r.Truncated ||
			r.Mode != "0640" ||
			r.ModifiedAt == 0 {
			t.Errorf("read: %+v", r)
		}
		if r := read(`,"encoding":"base64"`); r.Data != base64.StdEncoding.EncodeToString([]byte("grüße\n")) ||
			r.DataEncoding != "base64" {
			t.Errorf("read in base64: %+v", r)
		}
		if r := read(`,"max_bytes":3`); r.Data != "gr" || r.NextOffset != 2 || !r.Truncated {
			t.Errorf("read of a part that ends in a character: %+v", r)
		}
		if r := read(`,"offset":2,"max_bytes":3`); r.Data != "üß"[:2] || r.NextOffset != 4 || !r.Truncated {
			t.Errorf("read of the next part: %+v", r)
		}
		fsCall[fileWrite](l, args(`{"action":"write",@file","data":"/w==","encoding":"base64","append":true}`))
		if r := read(""); r.DataEncoding != "base64" || r.Size != 9 {
			t.Errorf("read of bytes: %+v", r)
		}
		if s := fsCall[fileStat](l, args(`{"action":"stat",@file"}`)); s.Type != "file" || s.Size != 9 || s.Mode != "0640" ||
			s.Name != "file" {
			t.Errorf("stat: %+v", s)
		}
		for _, name := range []string{"a", "b", "\xff", "base64:x"} {
			if err := os.WriteFile(filepath.Join(place, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var names []string
		for cursor := ""; ; {
			more := ""
			if cursor != "" {
				more = fmt.Sprintf(`,"cursor":%q`, cursor)
			}
			out := fsCall[fileList](l, args(`{"action":"list",@"`+more+`,"limit":1}`))
			for _, e := range out.Entries {
				names = append(names, e.Name)
			}
			if cursor = out.NextCursor; !out.Truncated {
				break
			}
		}
		if want := []string{"a", "b", "base64:x", "file", "\ufffd"}; !slices.Equal(names, want) {
			t.Errorf("list: %q, want %q", names, want)
		}
		if out := fsCall[fileList](l, args(`{"action":"list",@"}`)); len(out.Entries) != 3 || !out.Truncated {
			t.Errorf("the operator's limit: %+v", out)
		}
		l.Fails(mcptest.FilesTool, args(`{"action":"list",@","cursor":"base64:?"}`), term.InvalidArgument, "cursor")
		l.Fails(mcptest.FilesTool, args(`{"action":"read",@none"}`), term.NotFound, "none")
		l.Fails(mcptest.FilesTool, args(`{"action":"read",@"}`), term.InvalidArgument, "use list")
		l.Fails(mcptest.FilesTool, args(`{"action":"write",@file","data":"x","mode":"rw"}`), term.InvalidArgument, "octal")
		l.Fails(mcptest.FilesTool, args(`{"action":"write",@file","data":"x","mode":"1777"}`), term.InvalidArgument, "octal")
		l.Fails(mcptest.FilesTool, args(`{"action":"write",@file","data":"?","encoding":"base64"}`), term.InvalidArgument,
			"base64")
		l.Fails(mcptest.FilesTool, args(`{"action":"write",@file"}`), term.InvalidArgument, "data is missing")
		l.Fails(mcptest.FilesTool, args(`{"action":"read",@file","data":"x"}`), term.InvalidArgument,
			"belongs to action write")
	})
	l.Fails(mcptest.FilesTool, `{"action":"read","path":"/etc/passwd"}`, term.PolicyDenied, "fs.roots", l.here)
	l.Fails(mcptest.FilesTool, `{"action":"read","session_id":"none-12345678","path":"x"}`, term.NotFound, "no session")
}

// TestFilesAreActions: the gate is asked, and each action is recorded, done, refused or failed, with its path and
// size.
func TestFilesAreActions(t *testing.T) {
	var asked []term.Action
	l := newFilesLab(
		t,
		mcptest.Config{Sessions: session.Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Verb != term.VerbFileRead && a.Verb != term.VerbFileWrite {
				return term.Ruling{}, nil
			}
			asked = append(asked, a)
			if strings.HasSuffix(a.Path, "forbidden") {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "the gate says no"}
			}
			return term.Ruling{}, nil
		}}},
		fsx.Limits{},
	)
	l.both(t, func(t *testing.T, place string, args func(string) string) {
		far := place == l.far
		l.seen.Take()
		asked = nil
		for _, tt := range []struct {
			args   string
			verb   term.Verb
			name   string
			detail string
			size   int
			kind   term.Kind // "": it is done
			begun  bool      // it failed, and was not refused
		}{
			{`{"action":"write",@file","data":"12345"}`, term.VerbFileWrite, "file", "", 5, "", true},
			{`{"action":"write",@file","data":"67","append":true}`, term.VerbFileWrite, "file", "append", 2, "", true},
			{`{"action":"write",@file","data":"1","non_atomic":true,"mode":"600"}`, term.VerbFileWrite, "file", "mode 0600 non_atomic", 1, "", true},
			{`{"action":"read",@file"}`, term.VerbFileRead, "file", "", 1, "", true},
			{`{"action":"read",@file","offset":1}`, term.VerbFileRead, "file", "offset 1", 0, "", true},
			{`{"action":"list",@"}`, term.VerbFileRead, "", "list", 0, "", true},
			{`{"action":"stat",@file"}`, term.VerbFileRead, "file", "stat", 0, "", true},
			{`{"action":"read",@none"}`, term.VerbFileRead, "none", "", 0, term.NotFound, true},
			{`{"action":"read",@forbidden"}`, term.VerbFileRead, "forbidden", "", 0, term.PolicyDenied, false},
			{`{"action":"write",@forbidden","data":"x"}`, term.VerbFileWrite, "forbidden", "", 0, term.PolicyDenied, false},
		} {
			asked = nil
			if tt.kind == "" {
				l.OK(mcptest.FilesTool, args(tt.args))
			} else {
				l.Fails(mcptest.FilesTool, args(tt.args), tt.kind)
			}
			events := l.seen.Take()
			if len(events) != 1 || len(asked) != 1 {
				t.Fatalf("%s made %d events, and asked %d times", tt.args, len(events), len(asked))
			}
			e, a := events[0], asked[0]
			path := filepath.Join(place, tt.name)
			if filepath.Clean(e.Path) != path || filepath.Clean(a.Path) != path || e.Verb != tt.verb || a.Verb != tt.verb ||
				e.Detail != tt.detail && e.Detail != tt.detail+" " ||
				e.Size != tt.size {
				t.Errorf("%s: event %+v, action %+v", tt.args, e, a)
			}
			if term.KindOf(e.Outcome()) != tt.kind || (e.Refused == nil) != tt.begun {
				t.Errorf("%s: the event tells %v, %v", tt.args, e.Refused, e.Err)
			}
			wantProtocol, wantHost, wantSession := "ssh", "127.0.0.1", l.Session
			if !far {
				wantProtocol, wantHost, wantSession = "local", "localhost", ""
			}
			if e.Protocol != wantProtocol || e.Host != wantHost || e.Session != wantSession || a.Protocol != wantProtocol ||
				a.Host != wantHost ||
				a.Session != wantSession ||
				a.Actor.Client != "tester" ||
				e.Actor.Client != "tester" {
				t.Errorf("%s: event %+v, action %+v", tt.args, e, a)
			}
		}
	})
	l.seen.Take()
	l.Fails(mcptest.FilesTool, `{"action":"read","path":"../x"}`, term.PolicyDenied, "fs.roots")
	if e := l.seen.Take(); len(e) != 1 || e[0].Path != "../x" || term.KindOf(e[0].Outcome()) != term.PolicyDenied {
		t.Errorf("a path outside: %+v", e)
	}
}

// TestFilesAndLocks: a write needs the lock if another task holds it; a read does not.
func TestFilesAndLocks(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{})
	l.Open("")
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"t1"}`)
	const write = `{"action":"write","session_id":"$S","path":"file","data":"x","task_id":"t1"}`
	l.OK(mcptest.FilesTool, write)
	l.Fails(mcptest.FilesTool, strings.Replace(write, "t1", "t2", 1), term.Locked, "t1")
	l.Fails(mcptest.FilesTool, strings.Replace(write, `,"task_id":"t1"`, "", 1), term.Locked)
	l.OK(mcptest.FilesTool, `{"action":"read","session_id":"$S","path":"file"}`)
	l.OK(mcptest.SessionTool, `{"action":"unlock","session_id":"$S","task_id":"t1"}`)
	l.OK(mcptest.FilesTool, strings.Replace(write, "t1", "t2", 1))
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	l.Fails(mcptest.FilesTool, `{"action":"read","session_id":"$S","path":"file"}`, term.AlreadyClosed)
}

// TestFilesRetried: a write with a request_id is done once.
func TestFilesRetried(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{})
	l.both(t, func(t *testing.T, place string, args func(string) string) {
		for range 3 {
			fsCall[fileWrite](l, args(`{"action":"write",@file","data":"once","append":true,"request_id":"r1"}`))
		}
		if text, err := os.ReadFile(filepath.Join(place, "file")); err != nil || string(text) != "once" {
			t.Errorf("the file holds %q, %v", text, err)
		}
	})
}

// A cutOff is files whose every second write loses its connection, the first one too.
type cutOff struct {
	term.Files
	writes int
}

func (f *cutOff) Write(ctx context.Context, w term.FileWrite) (term.FileWritten, error) {
	if f.writes++; f.writes%2 == 1 {
		return term.FileWritten{}, term.Errorf(term.RemoteClosed, "the connection is gone")
	}
	return f.Files.Write(ctx, w)
}

// TestFilesRetriedAfterAFailure: a retry writes a whole file once more after a failure, and adds to none.
func TestFilesRetriedAfterAFailure(t *testing.T) {
	l := filesLabOf(t, mcptest.Config{}, fsx.Limits{}, func(c mcptest.Config) *mcptest.Lab {
		far := c.Sessions.FarFiles
		c.Sessions.FarFiles = func(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error) {
			files, err := far(ctx, channel)
			return &cutOff{Files: files}, err
		}
		return mcptest.NewLab(t, c)
	})
	l.Open("")
	for _, c := range []struct {
		how   string
		again bool
	}{{`"append":true`, false}, {`"non_atomic":true`, false}, {`"mode":"0600"`, true}} {
		call := `{"action":"write","session_id":"$S","path":"x","data":"whole",` + c.how + `,"request_id":` + strconv.Quote(c.how) + `}`
		l.Fails(mcptest.FilesTool, call, term.RemoteClosed)
		if c.again {
			l.OK(mcptest.FilesTool, call)
		} else {
			l.Fails(mcptest.FilesTool, call, term.RemoteClosed)
			l.Call(mcptest.FilesTool, `{"action":"write","session_id":"$S","path":"y","data":""}`) // the next write fails again
		}
	}
}

// TestFilesLarge moves a file in the parts that calls take.
func TestFilesLarge(t *testing.T) {
	const size, part = 1 << 20, 256 << 10
	l := newFilesLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{MaxFileRead: part}}},
		fsx.Limits{Read: part, Write: part})
	l.Open("")
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{9})
	_, _ = source.Read(data)
	sum := sha256.Sum256(data)
	for at := 0; at < size; at += part {
		l.Request(
			"tools/call",
			fmt.Sprintf(
				`{"name":"ptyctl_fs","arguments":{"action":"write","session_id":%q,"path":"big","encoding":"base64","append":true,"data":%q}}`,
				l.Session,
				base64.StdEncoding.EncodeToString(data[at:at+part]),
			),
		)
	}
	onDisk, err := os.ReadFile(filepath.Join(l.far, "big"))
	if err != nil || sha256.Sum256(onDisk) != sum {
		t.Fatalf("what arrived is not what was sent: %d bytes, %v", len(onDisk), err)
	}
	digest := sha256.New()
	for offset := int64(0); ; {
		answer := l.Request(
			"tools/call",
			fmt.Sprintf(
				`{"name":"ptyctl_fs","arguments":{"action":"read","session_id":%q,"path":"big","encoding":"base64","max_bytes":%d,"offset":%d}}`,
				l.Session,
				part,
				offset,
			),
		)
		var result struct{ StructuredContent, Content json.RawMessage }
		var content []struct{ Text string }
		var out fileRead
		if err := errors.Join(json.Unmarshal(answer.Result, &result), json.Unmarshal(result.Content, &content)); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(content[0].Text), &out); err != nil {
			t.Fatal(err)
		}
		p, err := base64.StdEncoding.DecodeString(out.Data)
		if err != nil {
			t.Fatal(err)
		}
		digest.Write(p)
		if offset = out.NextOffset; !out.Truncated {
			break
		}
	}
	if !bytes.Equal(digest.Sum(nil), sum[:]) {
		t.Error("the parts that were read are not the file")
	}
}

// TestFilesOffered: the tool is listed where there are files for the caller, and says otherwise how to get them.
func TestFilesOffered(t *testing.T) {
	files, err := fsx.NewLocal([]string{t.TempDir()}, fsx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	for name, tt := range map[string]struct {
		sessions session.Config
		local    []string
		readOnly bool
		listed   bool
	}{
		"nothing":                        {local: []string{"stdio"}},
		"here":                           {sessions: session.Config{Files: files}, local: []string{"stdio"}, listed: true},
		"here, not for this transport":   {sessions: session.Config{Files: files}, local: []string{"http"}},
		"there":                          {sessions: mcptest.WithFiles, listed: true},
		"there, for a caller that reads": {sessions: mcptest.WithFiles, readOnly: true, listed: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := mcptest.NewLab(
				t,
				mcptest.Config{
					SSH:      sshserver.Config{Handler: mcptest.Echo},
					Sessions: tt.sessions,
					Options:  mcpapi.Options{Local: tt.local, ReadOnly: tt.readOnly},
				},
			)
			var list struct {
				Tools []struct{ Name, Description string }
			}
			if err := json.Unmarshal(l.Request("tools/list", `{}`).Result, &list); err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(list.Tools,
				func(t struct{ Name, Description string }) bool { return t.Name == mcptest.FilesTool })
			if (at >= 0) != tt.listed {
				t.Fatalf("listed: %v, want %v", at >= 0, tt.listed)
			}
			if tt.readOnly && strings.Contains(list.Tools[at].Description, "write") {
				t.Errorf("a caller that only reads is told: %s", list.Tools[at].Description)
			}
			if tt.sessions.Files == nil {
				l.Fails(mcptest.FilesTool, `{"action":"read","path":"x"}`, term.PolicyDenied, "fs.roots", "operator")
			}
			if tt.readOnly {
				l.Fails(mcptest.FilesTool, `{"action":"write","path":"x","data":"x"}`, term.PolicyDenied, "read-only")
				return
			}
			l.Open("")
			if tt.sessions.FarFiles == nil {
				l.Fails(mcptest.FilesTool, `{"action":"read","session_id":"$S","path":"x"}`, term.PolicyDenied, "fs.remote",
					"operator")
			} else {
				l.Fails(mcptest.FilesTool, `{"action":"read","session_id":"$S","path":"x"}`, term.Unsupported,
					`offers no subsystem "sftp"`)
			}
		})
	}
}

// TestFilesOneChannel: a session has one channel for files, which its end closes.
func TestFilesOneChannel(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{})
	l.Open("")
	for range 5 {
		l.OK(mcptest.FilesTool, `{"action":"list","session_id":"$S","path":"."}`)
	}
	l.wantProcesses(2) // the shell's, which may start after the files', and the one for files
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	if n := l.Manager.Live(); n != 0 {
		t.Errorf("%d sessions live", n)
	}
}

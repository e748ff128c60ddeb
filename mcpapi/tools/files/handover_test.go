//go:build unix

package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/fsx"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// short is a wait that a held copy outlasts.
const short = 200 * time.Millisecond

// A heldLab is a lab in which a copy stops at the file "held" until it is let go, or the copy ends.
type heldLab struct {
	*filesLab
	reached chan struct{} // gets one token for each file that stops
	free    chan struct{} // takes one token for each file that may go on
}

func newHeldLab(t *testing.T, wait time.Duration) *heldLab {
	l := &heldLab{reached: make(chan struct{}, 9), free: make(chan struct{}, 1)}
	l.filesLab = newFilesLab(t, mcptest.Config{
		Options: mcpapi.Options{Limits: toolset.Limits{MaxWait: wait}},
		Sessions: session.Config{Gate: func(ctx context.Context, a term.Action) (term.Ruling, error) {
			if a.Verb == term.VerbFileWrite && strings.HasSuffix(a.Path, "held") {
				l.reached <- struct{}{}
				select {
				case <-l.free:
				case <-ctx.Done():
					return term.Ruling{}, &term.Error{Kind: term.Canceled, Msg: "not asked any more", Err: ctx.Err()}
				}
			}
			return term.Ruling{}, nil
		}},
	}, fsx.Limits{})
	l.Open("")
	return l
}

// start begins a copy that does not end within its call.
func (l *heldLab) start(to string) fileCopy {
	l.T.Helper()
	r := fsCall[fileCopy](l.filesLab, fmt.Sprintf(`{"action":"copy","recursive":true,"from":{"path":%q},"to":%s}`,
		filepath.Join(l.here, "tree"), to))
	if r.DoneReason != "running" || r.ExecID == "" || r.SessionID != l.Session {
		l.T.Fatalf("a copy that goes on: %+v", r)
	}
	<-l.reached
	return r
}

// An execCopy is the result of a wait for the exec_id of a copy.
type execCopy struct {
	Stdout, Stderr string
	ExitCode       *int   `json:"exit_code"`
	DoneReason     string `json:"done_reason"`
}

func (l *heldLab) exec(args string, values ...any) (r execCopy) {
	l.T.Helper()
	if err := json.Unmarshal([]byte(l.OK(mcptest.ExecTool, fmt.Sprintf(args, values...)).Text), &r); err != nil {
		l.T.Fatal(err)
	}
	return r
}

// TestCopyHandedOver: a copy that outlasts its call goes on as an exec of the session, which has its result at last.
func TestCopyHandedOver(t *testing.T) {
	l := newHeldLab(t, short)
	for _, name := range []string{"a", "held"} {
		write(t, filepath.Join(l.here, "tree", name), []byte("text"), 0o600)
	}
	r := l.start(fmt.Sprintf(`{"session_id":"$S","path":%q}`, filepath.Join(l.far, "tree")))
	if got := l.exec(`{"session_id":"$S","exec_id":%q,"wait_ms":1}`, r.ExecID); got.ExitCode != nil ||
		got.DoneReason != "running" {
		t.Errorf("waiting for it: %+v", got)
	}
	if status := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Text; !strings.Contains(status, r.ExecID) {
		t.Errorf("status does not name the copy: %s", status)
	}
	l.free <- struct{}{}
	var got execCopy
	for got.ExitCode == nil {
		got = l.exec(`{"session_id":"$S","exec_id":%q}`, r.ExecID)
	}
	var done fileCopy
	if err := json.Unmarshal([]byte(got.Stdout), &done); err != nil || *got.ExitCode != 0 || done.Files != 2 ||
		done.Bytes != 8 || done.Verified != nil || done.DoneReason != "" {
		t.Errorf("its end: %+v, %v", got, err)
	}
	var ids []string
	for _, e := range l.seen.Take() {
		if e.Verb == term.VerbExec || e.Verb == term.VerbExecEnd {
			t.Errorf("a copy is told of as a command: %+v", e)
		}
		if e.Copy != "" && !slices.Contains(ids, e.Copy+" "+e.Exec) {
			ids = append(ids, e.Copy+" "+e.Exec)
		}
	}
	if len(ids) != 1 || !strings.HasSuffix(ids[0], " "+r.ExecID) {
		t.Errorf("the events name the copies %q, want one, with %s", ids, r.ExecID)
	}
}

// TestCopyCanceled: a copy that goes on is stopped by cancel, and by the end of its session, and leaves no file that is
// not whole.
func TestCopyCanceled(t *testing.T) {
	for name, stop := range map[string]func(l *heldLab, exec string){
		"cancel": func(l *heldLab, exec string) {
			got := l.exec(`{"session_id":"$S","exec_id":%q,"cancel":true}`, exec)
			if got.ExitCode == nil || *got.ExitCode != 1 || !strings.Contains(got.Stderr, `"error_code":"CANCELED"`) {
				l.T.Errorf("canceled: %+v", got)
			}
		},
		"close": func(l *heldLab, _ string) {
			l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHeldLab(t, short)
			for _, name := range []string{"a", "held", "z"} {
				write(t, filepath.Join(l.here, "tree", name), noise(1<<20), 0o600)
			}
			r := l.start(fmt.Sprintf(`{"session_id":"$S","path":%q}`, filepath.Join(l.far, "tree")))
			stop(l, r.ExecID)
			if got := names(t, l.far); !slices.Equal(got, []string{"tree", "tree/a"}) {
				t.Errorf("at the target are %q", got)
			}
			l.wantProcesses(map[string]int{"cancel": 1, "close": 0}[name])
		})
	}
}

// TestCopyCallCanceled: a cancelled call leaves its copy to status and exec. A copy within this machine, which no later
// call could stop, ends with its call.
func TestCopyCallCanceled(t *testing.T) {
	l := newHeldLab(t, time.Minute)
	write(t, filepath.Join(l.here, "held"), []byte("text"), 0o600)
	begin := func(to string) {
		t.Helper()
		id, _ := l.Start("tools/call", l.Params(mcptest.FilesTool, fmt.Sprintf(`{"action":"copy","from":{"path":%q},"to":%s}`,
			filepath.Join(l.here, "held"), to)))
		<-l.reached
		l.Write(mcptest.CancelCall(id))
	}
	begin(fmt.Sprintf(`{"session_id":"$S","path":%q}`, filepath.Join(l.far, "held")))
	var status struct {
		Session struct {
			Running []string `json:"running_exec_ids"`
		}
	}
	text := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Text
	if err := json.Unmarshal([]byte(text), &status); err != nil || len(status.Session.Running) != 1 {
		t.Fatalf("status after a cancelled call = %s, %v; want one of running_exec_ids", text, err)
	}
	l.free <- struct{}{}
	if got := l.exec(`{"session_id":"$S","exec_id":%q}`, status.Session.Running[0]); got.ExitCode == nil || *got.ExitCode != 0 {
		t.Errorf("the copy of a cancelled call: %+v, want its result", got)
	}
	if got, want := names(t, l.far), []string{"held"}; !slices.Equal(got, want) {
		t.Errorf("at the target are %q, want %q", got, want)
	}

	l.seen.Take()
	begin(fmt.Sprintf(`{"path":%q}`, filepath.Join(l.here, "copy-held")))
	var ended []term.Event
	for deadline := time.Now().Add(time.Minute); len(ended) < 2; time.Sleep(time.Millisecond) {
		if ended = append(ended, l.seen.Take()...); time.Now().After(deadline) {
			t.Fatalf("the copy within this machine goes on after its call: %+v", ended)
		}
	}
	if got, want := names(t, l.here), []string{"held"}; !slices.Equal(got, want) {
		t.Errorf("after the end of the copy there are %q, want %q", got, want)
	}
}

// TestCopyHere: a copy within this machine has no session to go on in, and ends with its call.
func TestCopyHere(t *testing.T) {
	l := newHeldLab(t, short)
	write(t, filepath.Join(l.here, "tree/held"), []byte("text"), 0o600)
	l.Fails(mcptest.FilesTool, fmt.Sprintf(`{"action":"copy","from":{"path":%q},"to":{"path":%q}}`,
		filepath.Join(l.here, "tree/held"), filepath.Join(l.here, "copy-held")), term.IOError, "timed out")
	if got := names(t, l.here); !slices.Equal(got, []string{"tree", "tree/held"}) {
		t.Errorf("left are %q", got)
	}
}

// TestCopiesTooMany: the error of a copy without memory says that copies share the memory with output.
func TestCopiesTooMany(t *testing.T) {
	l := newHeldLab(t, time.Minute)
	write(t, filepath.Join(l.here, "held"), []byte("text"), 0o600)
	copyTo := func(n int) string {
		return fmt.Sprintf(`{"action":"copy","from":{"path":%q},"to":{"path":%q}}`,
			filepath.Join(l.here, "held"), filepath.Join(l.here, fmt.Sprint(n, "-held")))
	}
	const most = 16 // of 16 MiB each, by default; the session's output may take some of them
	var held []<-chan mcptest.Answer
	var refused *mcptest.Reply
	for n := 0; n <= most && refused == nil; n++ {
		_, answer := l.Start("tools/call", l.Params(mcptest.FilesTool, copyTo(n)))
		select {
		case <-l.reached:
			held = append(held, answer)
		case got := <-answer:
			r := l.Read(got.Result)
			refused = &r
		}
	}
	if refused == nil || len(held) < most-1 || refused.ErrorCode != term.LimitExceeded ||
		!strings.Contains(refused.Message, "copies share with the output of all sessions") ||
		!strings.Contains(refused.Message, "limits.max_total_buffer_bytes") {
		t.Errorf("after %d copies at a time: %+v; want LIMIT_EXCEEDED that names the memory", len(held), refused)
	}
	for range held {
		l.free <- struct{}{}
	}
	for _, answer := range held {
		<-answer
	}
}

// TestCopyRetried: a copy with a request_id is done once.
func TestCopyRetried(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{})
	write(t, filepath.Join(l.here, "a"), []byte("first"), 0o600)
	args := fmt.Sprintf(`{"action":"copy","from":{"path":%q},"to":{"path":%q},"request_id":"r1"}`,
		filepath.Join(l.here, "a"), filepath.Join(l.here, "b"))
	first := l.OK(mcptest.FilesTool, args).Text
	write(t, filepath.Join(l.here, "a"), []byte("second"), 0o600)
	if again := l.OK(mcptest.FilesTool, args).Text; again != first {
		t.Errorf("the retry: %s, want %s", again, first)
	}
}

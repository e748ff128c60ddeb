package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/config"
	"ptyctl/devlock"
	"ptyctl/term"
)

// The clients of a transport that may not use this machine can read and close local sessions, and no more.
func TestLocalGate(t *testing.T) {
	tests := []struct {
		c                   config.Local
		protocol, transport string
		verb                term.Verb
		rule                string // empty: allowed
	}{
		{config.Local{Stdio: true}, "local", "stdio", term.VerbOpen, ""},
		{config.Local{Stdio: true}, "local", "socket", term.VerbWrite, ""},
		{config.Local{Stdio: true}, "local", "cli", term.VerbExec, ""},
		{config.Local{Stdio: true}, "local", "http", term.VerbOpen, "local.http"},
		{config.Local{HTTP: true}, "local", "http", term.VerbOpen, ""},
		{config.Local{HTTP: true}, "local", "stdio", term.VerbOpen, "local.stdio"},
		{config.Local{HTTP: true}, "local", "socket", term.VerbFileRead, "local.stdio"},
		{config.Local{}, "local", "http", term.VerbClose, ""},
		{config.Local{}, "ssh", "http", term.VerbOpen, ""},
	}
	for _, tt := range tests {
		a := term.Action{Protocol: tt.protocol, Verb: tt.verb, Actor: term.Actor{Transport: tt.transport}}
		_, err := localGate(tt.c)(t.Context(), a)
		if tt.rule == "" {
			if err != nil {
				t.Errorf("%+v: %s of %s over %s = %v, want it allowed", tt.c, tt.verb, tt.protocol, tt.transport, err)
			}
			continue
		}
		e, ok := errors.AsType[*term.Error](err)
		if !ok || e.Kind != term.PolicyDenied || !strings.Contains(err.Error(), tt.rule) {
			t.Errorf("%+v: %s over %s = %v, want it denied by %s", tt.c, tt.verb, tt.transport, err, tt.rule)
		}
	}
}

func TestHTTPTokens(t *testing.T) {
	file := func(text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const one = "one:write:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
	const two = "two:read:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
	tests := []struct {
		name  string
		o     config.HTTP
		names []string
		err   string
	}{
		{"none", config.HTTP{}, nil, ""},
		{"file", config.HTTP{TokensFile: file(one+two, 0o600)}, []string{"one", "two"}, ""},
		{
			"all sources",
			config.HTTP{
				TokensFile: file(one, 0o600), Tokens: config.NewSecret(two),
				AuthToken: config.NewSecret("cccccccccccccccccccccccccccccccc"),
			},
			[]string{"one", "two", "default"},
			"",
		},
		{"missing", config.HTTP{TokensFile: filepath.Join(t.TempDir(), "no")}, nil, "create it, or correct the path"},
		{"folder", config.HTTP{TokensFile: t.TempDir()}, nil, "is not a file"},
		{"empty", config.HTTP{TokensFile: file("# none\n", 0o600)}, nil, "holds no token"},
		{
			"same name",
			config.HTTP{TokensFile: file(one, 0o600), Tokens: config.NewSecret(strings.ReplaceAll(one, "aa", "dd"))},
			nil, "two tokens are called one",
		},
		{
			"same value",
			config.HTTP{TokensFile: file(one, 0o600), Tokens: config.NewSecret(strings.Replace(one, "one", "two", 1))},
			nil, "have the same value",
		},
	}
	if runtime.GOOS != "windows" {
		tests = append(tests, struct {
			name  string
			o     config.HTTP
			names []string
			err   string
		}{"public", config.HTTP{TokensFile: file(one, 0o644)}, nil, "run chmod 600"})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := httpTokens(tt.o)
			var names []string
			for _, token := range got {
				names = append(names, token.Name)
			}
			if !slices.Equal(names, tt.names) || (err == nil) != (tt.err == "") ||
				err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("httpTokens = %q, %v; want %q, %q", names, err, tt.names, tt.err)
			}
			if err != nil && strings.Contains(err.Error(), "aaaaaaaa") {
				t.Errorf("httpTokens = %v, which shows a token", err)
			}
		})
	}
}

func TestWithCore(t *testing.T) {
	for _, tt := range []struct{ sets, want []string }{
		{nil, nil},
		{[]string{"core"}, []string{"core"}},
		{[]string{"kpty"}, []string{"core", "kpty"}},
		{[]string{"pty", "core"}, []string{"pty", "core"}},
	} {
		var cfg config.Config
		cfg.Server.Toolsets = tt.sets
		if got := withCore(cfg).Server.Toolsets; !slices.Equal(got, tt.want) {
			t.Errorf("withCore(%q) = %q, want %q", tt.sets, got, tt.want)
		}
	}
}

// A console that another process has open is refused with the owner.
func TestDeviceLocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "devices")
	first, err := deviceLocks(folderLocks{devlock.Folder(dir)}, "/run/first.sock")(t.Context(), "rack1", "s1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = deviceLocks(folderLocks{devlock.Folder(dir)}, "")(t.Context(), "rack1", "s2")
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind != term.Locked || len(e.Facts) == 0 {
		t.Fatalf("the second opening = %v, want LOCKED with the owner", err)
	}
	if o := term.FactOf[term.DeviceOwner](e); o.SessionID != "s1" || o.Socket != "/run/first.sock" ||
		o.PID != os.Getpid() ||
		time.Since(o.Since) > time.Minute {
		t.Errorf("the owner is %+v, want session s1 of this process at /run/first.sock", o)
	}
	if err := first.Check(); err != nil {
		t.Errorf("the check of a lock that is held = %v", err)
	}
	first.Release()
	again, err := deviceLocks(folderLocks{devlock.Folder(dir)}, "")(t.Context(), "rack1", "s2")
	if err != nil {
		t.Fatalf("after the release = %v, want no error", err)
	}
	again.Release()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := deviceLocks(folderLocks{devlock.Folder(dir)}, "")(canceled, "rack1", "s3"); !errors.Is(err, term.Canceled) {
		t.Errorf("in a call that was canceled = %v, want CANCELED", err)
	}
	if errors.As(deviceError("rack1", errors.New("no space")), new(*devlock.HeldError)) {
		t.Error("another failure counts as held")
	}
}

// A far is a store on another machine: a release takes until the channel slow is closed.
type far struct {
	*devlock.FolderStore
	slow chan struct{}
}

func (f far) Release(ctx context.Context, l *devlock.Lease) error {
	<-f.slow
	return f.FolderStore.Release(ctx, l)
}

// unreachable is the error of a store that gives no answer.
type unreachable struct{}

func (unreachable) Error() string  { return "no server answers" }
func (unreachable) Advice() string { return "start one" }

// node is a cluster that has only the methods for sessions.
type node struct {
	Cluster
	store far
	room  error
	rooms *int // that are taken
	hosts []string
	left  bool
}

func (n *node) Devices() devlock.Store { return n.store }

func (n *node) Hold(*devlock.Lease) term.Hold { return nil }

func (n *node) Room(_ context.Context, hosts []string) (release func(), err error) {
	n.hosts = hosts
	if n.room != nil {
		return nil, n.room
	}
	*n.rooms++
	return func() { *n.rooms-- }, nil
}

func (n *node) Close(context.Context) error {
	n.left = true
	return nil
}

// TestConsolesOfANode: a console is given back at once, as the session sees it, and its next opening waits until the
// cluster knows. The node leaves only then.
func TestConsolesOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{store: far{devlock.Folder(filepath.Join(t.TempDir(), "devices")), make(chan struct{})}}
		m := joined(n, slog.New(slog.DiscardHandler))
		first, err := deviceLocks(m, "")(t.Context(), "rack1", "s1")
		if err != nil {
			t.Fatal(err)
		}
		first.Release() // it would block forever if it waited
		waiting, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := deviceLocks(m, "")(waiting, "rack1", "s2"); !errors.Is(err, term.Canceled) {
			t.Errorf("opened while it is given back = %v, want it to wait until the call ends", err)
		}
		opened, left := make(chan error), make(chan error)
		go func() {
			r, err := deviceLocks(m, "")(t.Context(), "rack1", "s3")
			opened <- err
			r.Release()
		}()
		synctest.Wait()
		close(n.store.slow)
		if err := <-opened; err != nil {
			t.Errorf("opened after it was given back = %v, want no error", err)
		}
		synctest.Wait()
		go func() { left <- m.leave(t.Context()) }()
		if err := <-left; err != nil || !n.left {
			t.Errorf("leave = %v (closed %t), want the cluster closed", err, n.left)
		}
		if h, err := n.store.Lookup(t.Context(), "rack1"); err != nil || h.Held {
			t.Errorf("after leaving the console is %+v, %v; want it free", h, err)
		}
	})
}

// TestRoomOfANode: no host is dialed without room, and the room is free with the end of the session.
func TestRoomOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rooms, dialed := 0, 0
		var fails error
		n := &node{rooms: &rooms}
		m := joined(n, slog.New(slog.DiscardHandler))
		dial := m.dialer(func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			dialed++
			return nil, fails
		})
		life, end := context.WithCancel(t.Context())
		if _, err := dial(life, term.Target{}, nil, nil); err != nil || rooms != 1 {
			t.Errorf("dial = %v with %d rooms, want one", err, rooms)
		}
		end()
		synctest.Wait()
		if rooms != 0 {
			t.Errorf("%d rooms are taken after the session's end, want none", rooms)
		}
		ssh := m.dialer(func(ctx context.Context, _ term.Target, _ term.Prompter, ask term.Approve) (term.Transport, error) {
			for _, unresolved := range []bool{true, false} {
				hops := []term.PlannedHop{{Host: "Bastion", Port: 22}, {Host: "web1", Port: 2222}}
				if _, err := ask.Ask(ctx, term.Plan{Unresolved: unresolved, Hops: hops}); err != nil {
					return nil, err
				}
			}
			return nil, errors.New("refused")
		})
		_, err := ssh(t.Context(), term.Target{Protocol: "ssh", Host: "web1"}, nil, nil)
		if err == nil || rooms != 0 || !slices.Equal(n.hosts, []string{"bastion:22", "web1:2222"}) {
			t.Errorf("ssh through a bastion that fails = %v with %d rooms, asked for %q", err, rooms, n.hosts)
		}
		fails = errors.New("refused")
		if _, err := dial(t.Context(), term.Target{}, nil, nil); !errors.Is(err, fails) || rooms != 0 {
			t.Errorf("a dial that fails = %v with %d rooms, want its error and none", err, rooms)
		}
		dialed = 0
		for _, c := range []struct {
			room         error
			kind         term.Kind
			text, advice string
		}{
			{&term.Error{Kind: term.LimitExceeded, Msg: "full"}, term.LimitExceeded, "full", ""},
			{fmt.Errorf("count: %w", unreachable{}), term.IOError, "is not known: count: no server answers", "start one"},
			{errors.New("odd"), term.IOError, "is not known: odd", "try again"},
		} {
			n.room = c.room
			_, err := dial(t.Context(), term.Target{}, nil, nil)
			e, ok := errors.AsType[*term.Error](err)
			if !ok || e.Kind != c.kind || !strings.Contains(e.Msg, c.text) || e.Advice != c.advice {
				t.Errorf("without room (%v) = %#v, want %s %q with the advice %q", c.room, err, c.kind, c.text, c.advice)
			}
		}
		if dialed != 0 {
			t.Errorf("%d hosts were dialed without room, want none", dialed)
		}
	})
}

// TestDeviceErrors checks that an error names the holder of a console, or advises the operator if the holder is not
// known.
func TestDeviceErrors(t *testing.T) {
	since := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		err  error
		kind term.Kind
		want string
	}{
		{
			&devlock.HeldError{Owner: devlock.Owner{Node: "fra-1", PID: 7, Session: "s1", Started: since}}, term.Locked,
			`the console of device "rack1" is open in a ptyctl on node fra-1: process 7, session s1, since 2030-01-02T03:04:05Z; use it`,
		},
		{
			&devlock.HeldError{Owner: devlock.Owner{PID: 7, Session: "s1", Started: since}}, term.Locked,
			`the console of device "rack1" is open in a ptyctl on this machine: process 7`,
		},
		{
			&devlock.HeldError{Owner: devlock.Owner{Node: "fra-1", Session: "s1"}, Silent: true, Ends: 23010 * time.Millisecond}, term.Locked,
			`the console of device "rack1" is open in session s1 on node fra-1, which does not answer: it has ended, is stopped or cut off, ` +
				`and may still use it; its lease ends in 24s at most if it stays away; open it again then`,
		},
		{
			&devlock.HeldError{Owner: devlock.Owner{Node: "fra-1", Session: "s1"}, Silent: true}, term.Locked,
			`the console of device "rack1" is open in session s1 on node fra-1, which does not answer: it has ended, is stopped or cut off, ` +
				`and may still use it; its lease is about to end if it stays away; open it again then`,
		},
		{
			&devlock.HeldError{Owner: devlock.Owner{Node: "fra-1"}, Left: 25030 * time.Millisecond}, term.Locked,
			`the console of device "rack1" was not given back by the node that had it, which is gone or cut off and may still use it ` +
				`for 26s at most; open it again then`,
		},
		{
			fmt.Errorf("acquire: %w", unreachable{}), term.IOError,
			`whether another node has the console of device "rack1" is not known: acquire: no server answers; start one`,
		},
		{errors.New("no space"), term.IOError, `the lock of device "rack1" cannot be taken: no space; the operator can name a folder with locks.device_dir`},
	} {
		e, ok := errors.AsType[*term.Error](deviceError("rack1", c.err))
		if !ok || e.Kind != c.kind || !strings.HasPrefix(e.Message(), c.want) {
			t.Errorf("deviceError(%v) = %v, want %s %s", c.err, e, c.kind, c.want)
			continue
		}
		if held, ok := errors.AsType[*devlock.HeldError](c.err); ok && held.Left == 0 &&
			term.FactOf[term.DeviceOwner](e).Node != held.Owner.Node {
			t.Errorf("the fact is %+v, want the node %q", e.Facts, held.Owner.Node)
		}
	}
}

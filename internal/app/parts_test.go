package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
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
	first, err := deviceLocks(devlock.Folder(dir), "/run/first.sock")(t.Context(), "rack1", "s1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = deviceLocks(devlock.Folder(dir), "")(t.Context(), "rack1", "s2")
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
	again, err := deviceLocks(devlock.Folder(dir), "")(t.Context(), "rack1", "s2")
	if err != nil {
		t.Fatalf("after the release = %v, want no error", err)
	}
	again.Release()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := deviceLocks(devlock.Folder(dir), "")(canceled, "rack1", "s3"); !errors.Is(err, term.Canceled) {
		t.Errorf("in a call that was canceled = %v, want CANCELED", err)
	}
	if errors.As(deviceError("rack1", errors.New("no space")), new(*devlock.HeldError)) {
		t.Error("another failure counts as held")
	}
}

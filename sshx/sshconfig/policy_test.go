package sshconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// write creates a file in dir and returns its path.
func write(tb testing.TB, dir, name, text string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

// options returns Options that read no state of this machine.
func options(tb testing.TB) Options {
	tb.Helper()
	leaktest.Secret(tb, "hunter2-1138")
	return Options{
		Host: "foo", UserFile: "none", SystemFile: "none",
		LocalUser: "me", HomeDir: tb.TempDir(), LocalHost: "client",
		LookupEnv: func(name string) (string, bool) {
			v, ok := map[string]string{"HOME": "/home/me", "SECRET": "hunter2-1138"}[name]
			return v, ok
		},
		Resolve: func(context.Context, string) (string, error) { return "", errors.New("no such host") },
	}
}

func evaluate(tb testing.TB, o Options) *Config {
	tb.Helper()
	cfg, err := Evaluate(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

func refused(cfg *Config, keyword string) *Refusal {
	for _, r := range cfg.Unsupported {
		if r.Keyword == keyword {
			return &r
		}
	}
	return nil
}

func warned(cfg *Config, text string) *Warning {
	for _, w := range cfg.Warnings {
		if strings.Contains(w.String(), text) {
			return &w
		}
	}
	return nil
}

func TestSourcesInOrder(t *testing.T) {
	dir := t.TempDir()
	o := options(t)
	o.UserFile = write(t, dir, "user", "Port 1\nUser u\nIdentityFile /u\n")
	o.SystemFile = write(t, dir, "system", "Port 2\nUser s\nIdentityFile /s\nBatchMode yes\n")
	caller := write(t, dir, "caller", "Port 3\n")
	for _, tt := range []struct {
		name     string
		change   func(*Options)
		port     int
		origin   string
		isCaller bool
	}{
		{"user file", func(*Options) {}, 1, o.UserFile + ":1", false},
		{"system file", func(o *Options) { o.UserFile = "none" }, 2, o.SystemFile + ":1", false},
		{"missing user file", func(o *Options) { o.UserFile = "/no/such/file" }, 2, o.SystemFile + ":1", false},
		{"caller file", func(o *Options) { o.CallerFile = caller }, 3, caller + ":1", true},
		{"caller file none", func(o *Options) { o.CallerFile = "none" }, 22, "default", false},
		{"no files", func(o *Options) { o.CallerFile, o.NoFiles = caller, true }, 22, "default", false},
		{"override", func(o *Options) { o.Overrides = []Override{{Keyword: "port", Value: "4"}} }, 4, "extra arguments", true},
		{"argument", func(o *Options) {
			o.Port = 5
			o.Overrides = []Override{{Keyword: "port", Value: "4"}}
		}, 5, "argument", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := o
			tt.change(&o)
			cfg := evaluate(t, o)
			if cfg.Port != tt.port {
				t.Errorf("Port = %d, want %d", cfg.Port, tt.port)
			}
			origin := cfg.Origin("PORT")
			if origin.String() != tt.origin || origin.Caller() != tt.isCaller {
				t.Errorf("origin %s, caller %t; want %s, %t", origin, origin.Caller(), tt.origin, tt.isCaller)
			}
		})
	}

	cfg := evaluate(t, o)
	want := []Value{
		{"/u", Origin{Source: UserFile, File: o.UserFile, Line: 3}},
		{"/s", Origin{Source: SystemFile, File: o.SystemFile, Line: 3}},
	}
	if !slices.Equal(cfg.IdentityFiles, want) {
		t.Errorf("IdentityFiles = %v, want %v", cfg.IdentityFiles, want)
	}
	if cfg.Origin("no such keyword").Source != Default || cfg.Origin("Compression").Source != Default {
		t.Error("an unknown or ignored keyword has an origin")
	}
}

// A caller must not be able to run a program, by any option or file.
func TestCallerNeverRunsPrograms(t *testing.T) {
	dir := t.TempDir()
	evil := write(t, dir, "evil", "Match exec \"touch /pwned\"\n  User root\n"+
		"Match all\nProxyCommand touch /pwned\nKnownHostsCommand touch /pwned\nPermitLocalCommand yes\nLocalCommand touch /pwned\n")
	including := write(t, dir, "including", "Include "+evil+"\n")
	// A file included by the user's file counts as the operator's.
	jump := Override{Keyword: "ProxyCommand", Value: "ssh -o ProxyCommand='touch /pwned' -W %h:%p gw"}
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   []string // refused keywords
	}{
		{"file", func(o *Options) { o.CallerFile = evil }, []string{"ProxyCommand", "KnownHostsCommand", "LocalCommand"}},
		{"included file", func(o *Options) { o.CallerFile = including }, []string{"ProxyCommand", "KnownHostsCommand", "LocalCommand"}},
		{"override", func(o *Options) {
			o.Overrides = []Override{
				{Keyword: "ProxyCommand", Value: "touch /pwned"},
				{Keyword: "KnownHostsCommand", Value: "touch /pwned"},
			}
		}, []string{"ProxyCommand", "KnownHostsCommand"}},
		{"inside a jump", func(o *Options) {
			o.Overrides = []Override{jump}
			cfg := evaluate(t, *o)
			if len(cfg.ProxyJump) != 1 || cfg.ProxyJump[0].Host != "gw" {
				t.Fatalf("ProxyJump = %v", cfg.ProxyJump)
			}
			o.Host, o.Overrides = "gw", cfg.ProxyJump[0].Overrides
		}, []string{"ProxyCommand"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			o.AllowExec = true
			o.Exec = func(_ context.Context, command string) (bool, error) {
				t.Errorf("%q was run", command)
				return true, nil
			}
			tt.change(&o)
			cfg := evaluate(t, o)
			if cfg.ProxyCommand != "" || cfg.User != "me" {
				t.Errorf("ProxyCommand = %q, User = %q", cfg.ProxyCommand, cfg.User)
			}
			for _, keyword := range tt.want {
				r := refused(cfg, keyword)
				if r == nil || !strings.Contains(r.Error(), "never runs a program") {
					t.Errorf("%s is not refused: %v", keyword, cfg.Unsupported)
				} else if o.CallerFile != "" && (r.Origin.File != evil || r.Origin.Line == 0 || !r.Origin.Caller()) {
					t.Errorf("%s is refused at %s", keyword, r.Origin)
				}
			}
			if o.CallerFile != "" && warned(cfg, "exec is refused") == nil {
				t.Errorf("no warning about Match exec: %v", cfg.Warnings)
			}
		})
	}
}

func TestOperatorsPrograms(t *testing.T) {
	dir := t.TempDir()
	o := options(t)
	o.UserFile = write(t, dir, "user", "Match exec \"check %h\"\n  User bob\nMatch all\n  ProxyCommand nc %h %p\n")

	cfg := evaluate(t, o) // not allowed
	r := refused(cfg, "ProxyCommand")
	if r == nil || r.Origin.String() != o.UserFile+":4" || cfg.ProxyCommand != "" {
		t.Errorf("ProxyCommand = %q, refusals %v", cfg.ProxyCommand, cfg.Unsupported)
	}
	if w := warned(cfg, "exec is not allowed"); w == nil || w.Origin.Line != 1 || cfg.User != "me" {
		t.Errorf("User = %q, warnings %v", cfg.User, cfg.Warnings)
	}

	var ran []string
	o.AllowExec = true
	o.Exec = func(_ context.Context, command string) (bool, error) {
		ran = append(ran, command)
		return true, nil
	}
	cfg = evaluate(t, o)
	if cfg.ProxyCommand != "nc foo 22" || cfg.User != "bob" || len(cfg.Unsupported) != 0 {
		t.Errorf("ProxyCommand = %q, User = %q, refusals %v", cfg.ProxyCommand, cfg.User, cfg.Unsupported)
	}
	if !slices.Equal(ran, []string{"check foo"}) {
		t.Errorf("ran %q", ran)
	}

	o.Exec = func(context.Context, string) (bool, error) { return false, errors.New("no shell") }
	if cfg = evaluate(t, o); warned(cfg, "no shell") == nil || cfg.User != "me" {
		t.Errorf("User = %q, warnings %v", cfg.User, cfg.Warnings)
	}
	o.Exec = nil
	if cfg = evaluate(t, o); warned(cfg, "exec is not allowed") == nil {
		t.Errorf("warnings %v", cfg.Warnings)
	}
}

// A caller's value must not become a part of the operator's commands.
func TestCallerCannotInject(t *testing.T) {
	dir := t.TempDir()
	user := write(t, dir, "user", "ProxyCommand connect %h %r %n\n")
	for _, tt := range []struct {
		name   string
		change func(*Options)
	}{
		{"host", func(o *Options) { o.Host = "a;touch /pwned" }},
		{"host as option", func(o *Options) { o.Host = "-oProxyCommand=x" }},
		{"host with a newline", func(o *Options) { o.Host = "a\nb" }},
		{"empty host", func(o *Options) { o.Host = "" }},
		{"user", func(o *Options) { o.User = "a`id`" }},
		{"user as option", func(o *Options) { o.User = "-x" }},
		{"user as option after a blank", func(o *Options) { o.User = "a -x" }},
		{"port", func(o *Options) { o.Port = 70000 }},
		{"HostName", func(o *Options) { o.Overrides = []Override{{Keyword: "HostName", Value: "$(id)"}} }},
		{"HostName with blanks", func(o *Options) { o.Overrides = []Override{{Keyword: "HostName", Value: `"a b"`}} }},
		{"User", func(o *Options) { o.Overrides = []Override{{Keyword: "User", Value: "a|b"}} }},
		{"HostKeyAlias", func(o *Options) { o.Overrides = []Override{{Keyword: "HostKeyAlias", Value: "a&b"}} }},
		{"ProxyJump", func(o *Options) { o.Overrides = []Override{{Keyword: "ProxyJump", Value: "a>b"}} }},
		{"ProxyJump user", func(o *Options) { o.Overrides = []Override{{Keyword: "ProxyJump", Value: "-x@b"}} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			o.UserFile, o.AllowExec = user, true
			tt.change(&o)
			if cfg, err := Evaluate(t.Context(), o); err == nil {
				t.Errorf("accepted: HostName %q, User %q, ProxyCommand %q", cfg.HostName, cfg.User, cfg.ProxyCommand)
			}
		})
	}
	// In a caller's file the same value must be a refusal.
	o := options(t)
	o.CallerFile = write(t, dir, "caller", "HostName $(id)\n")
	if cfg := evaluate(t, o); refused(cfg, "HostName") == nil || cfg.HostName != "foo" {
		t.Errorf("HostName = %q, refusals %v", cfg.HostName, cfg.Unsupported)
	}
	// The operator may use any characters.
	o = options(t)
	o.UserFile = write(t, dir, "user2", "User a;b\n")
	if cfg := evaluate(t, o); cfg.User != "a;b" || len(cfg.Unsupported) != 0 {
		t.Errorf("User = %q, refusals %v", cfg.User, cfg.Unsupported)
	}
}

// A name may contain characters that a shell interprets. With such a name the operator's
// commands must not run.
func TestCallerInShell(t *testing.T) {
	dir := t.TempDir()
	user := write(
		t,
		dir,
		"user",
		"Match exec \"check %n %r\"\n  BatchMode yes\nMatch all\n  ProxyCommand connect %h %r %p\n",
	)
	for _, tt := range []struct {
		name   string
		change func(*Options)
		ok     bool
	}{
		{"plain", func(*Options) {}, true},
		{"address", func(o *Options) { o.Host = "fe80::1%eth0" }, true},
		{"user with realm", func(o *Options) { o.User = "bob@corp" }, true},
		{"glob", func(o *Options) { o.Host = "*" }, false},
		{"comment", func(o *Options) { o.Host = "#a" }, false},
		{"user with comment", func(o *Options) { o.User = "a #" }, false},
		{"user with variable", func(o *Options) { o.User = "$HOME" }, false},
		{"user with blank", func(o *Options) { o.User = "a b" }, false},
		{"override", func(o *Options) { o.Overrides = []Override{{Keyword: "User", Value: "~root"}} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			o.UserFile, o.AllowExec = user, true
			var ran []string
			o.Exec = func(_ context.Context, command string) (bool, error) {
				ran = append(ran, command)
				return true, nil
			}
			tt.change(&o)
			cfg := evaluate(t, o)
			if tt.ok != (cfg.ProxyCommand != "") || tt.ok != (refused(cfg, "ProxyCommand") == nil) || tt.ok != (len(ran) == 1) ||
				tt.ok != cfg.BatchMode {
				t.Errorf("ProxyCommand %q, ran %q, warnings %v, refusals %v", cfg.ProxyCommand, ran, cfg.Warnings, cfg.Unsupported)
			}
		})
	}
	// The operator's own user name is not restricted.
	o := options(t)
	o.AllowExec = true
	o.UserFile = write(t, dir, "user2", "User $USER\nProxyCommand connect %h %r\n")
	if cfg := evaluate(t, o); cfg.ProxyCommand != "connect foo $USER" {
		t.Errorf("ProxyCommand %q, refusals %v", cfg.ProxyCommand, cfg.Unsupported)
	}
}

func TestCallerCannotReadTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	text := "SetEnv A=${SECRET}\nVersionAddendum ${SECRET}\nIdentityAgent $SECRET\nUserKnownHostsFile ${HOME}/x\n"
	o := options(t)
	o.CallerFile = write(t, dir, "caller", text)
	cfg := evaluate(t, o)
	var all strings.Builder
	if err := cfg.Dump(&all); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(&all, cfg.Warnings, cfg.Unsupported)
	leaktest.Output(t, "dump", all.String())
	if strings.Contains(all.String(), "hunter2-1138") {
		t.Errorf("the secret is in\n%s", &all)
	}
	if !slices.Equal(cfg.UserKnownHostsFiles, []string{"/home/me/x"}) {
		t.Errorf("UserKnownHostsFiles = %q", cfg.UserKnownHostsFiles)
	}
	o.CallerFile, o.UserFile = "", o.CallerFile
	if cfg := evaluate(t, o); cfg.VersionAddendum != "hunter2-1138" || cfg.IdentityAgent != "hunter2-1138" {
		t.Errorf("the operator's file does not expand: %q, %q", cfg.VersionAddendum, cfg.IdentityAgent)
	}
}

func TestAllowPath(t *testing.T) {
	dir := t.TempDir()
	outside := errors.New("outside the allowed folders")
	secret := write(t, dir, "secret", "hunter2-1138 is the password\nUser bob\n")
	o := options(t)
	o.AllowPath = func(path string) error {
		if path == secret {
			return outside
		}
		return nil
	}
	o.CallerFile = secret
	var fileError *FileError
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) || !errors.Is(err, outside) ||
		fileError.File != secret {
		t.Errorf("error %v", err)
	}
	o.CallerFile = write(t, dir, "including", "Include "+secret+"\n")
	if _, err := Evaluate(t.Context(), o); !errors.Is(err, outside) {
		t.Errorf("error %v", err)
	}
	o.UserFile, o.CallerFile = o.CallerFile, ""
	if cfg := evaluate(t, o); cfg.User != "bob" {
		t.Errorf("the operator's file was asked about: User = %q", cfg.User)
	}
	// Without AllowPath, messages must not quote lines that are not configuration.
	o.AllowPath, o.CallerFile = nil, secret
	cfg := evaluate(t, o)
	leaktest.Output(t, "warnings", fmt.Sprint(cfg.Warnings))
	if w := warned(cfg, "not known"); w == nil || strings.Contains(fmt.Sprint(cfg.Warnings), "hunter2-1138") {
		t.Errorf("warnings %v", cfg.Warnings)
	}
}

func TestCallerFileMustExist(t *testing.T) {
	o := options(t)
	o.CallerFile = filepath.Join(t.TempDir(), "none-here")
	_, err := Evaluate(t.Context(), o)
	var fileError *FileError
	if !errors.As(err, &fileError) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// A bad override must be an error that names the keyword and does not quote the value.
func TestOverrideErrors(t *testing.T) {
	for _, o := range []Override{
		{Keyword: "SetEnv", Value: "hunter2-1138"},
		{Keyword: "SetEnv", Value: `"A=hunter2-1138`},
		{Keyword: "SendEnv", Value: "A=hunter2-1138"},
		{Keyword: "hunter3", Value: "hunter2-1138"},
		{Keyword: "Include", Value: "hunter2-1138"},
	} {
		opt := options(t)
		opt.Overrides = []Override{o}
		_, err := Evaluate(t.Context(), opt)
		leaktest.Output(t, "error", fmt.Sprint(err))
		var argError *ArgError
		if !errors.As(err, &argError) || argError.Arg != o.Keyword || strings.Contains(err.Error(), "hunter2-1138") {
			t.Errorf("%s: error %v", o.Keyword, err)
		}
	}
}

func TestIgnoreUnknownOverride(t *testing.T) {
	o := options(t)
	o.Overrides = []Override{{Keyword: "IgnoreUnknown", Value: "Frob*"}, {Keyword: "Frobnicate", Value: "yes"}}
	evaluate(t, o)
}

// A word that a caller can choose must be one name for every shell and every option parser.
func TestMisread(t *testing.T) {
	for word, want := range map[string]struct{ unix, windows bool }{
		"web1.example.com": {false, false},
		"me@example.com":   {false, false},
		"fe80::1%eth0":     {false, true}, // cmd.exe expands %NAME%
		"bücher.example":   {false, true}, // the code page can make a quote of a letter
		"x\u02bay":         {false, true}, // to a quote, in code page 1252
		"-oProxyCommand":   {true, true},
		"a b":              {true, true},
		"$IFS":             {true, true},
		"`id`":             {true, true},
		"a*":               {true, true},
		"~root":            {true, true},
		"a^b":              {true, true},
		"a\u2028b":         {true, true},
	} {
		if got := misread(word, "linux"); got != want.unix {
			t.Errorf("misread(%q, linux) = %v, want %v", word, got, want.unix)
		}
		if got := misread(word, "windows"); got != want.windows {
			t.Errorf("misread(%q, windows) = %v, want %v", word, got, want.windows)
		}
	}
}

// The operator's User is used as it is written, but not where a token puts a caller's word into it.
func TestProxyCommandUser(t *testing.T) {
	for _, tt := range []struct{ config, host, want string }{
		{"User 'a b'\nProxyCommand x %r\n", "web", "x a b"},
		{"User %n\nProxyCommand x %r\n", "web", "x web"},
		{"User %n\nProxyCommand x %r\n", "web*", ""},
		{"User me-%n\nProxyCommand x %r\n", "~x", ""},
	} {
		o := options(t)
		o.Host, o.AllowExec = tt.host, true
		o.UserFile = write(t, t.TempDir(), "user", tt.config)
		if cfg := evaluate(t, o); cfg.ProxyCommand != tt.want || (refused(cfg, "ProxyCommand") == nil) != (tt.want != "") {
			t.Errorf("%q for %q: ProxyCommand %q, refusals %v; want %q", tt.config, tt.host, cfg.ProxyCommand, cfg.Unsupported,
				tt.want)
		}
	}
}

// A jump host behind another one is reached through that one, whatever its own lines say.
func TestBehind(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		for _, line := range []string{"ProxyCommand nc %h %p", "ProxyJump other", "ProxyCommand ssh -W %h:%p other"} {
			o := options(t)
			o.Behind, o.AllowExec = true, allowed
			o.UserFile = write(t, t.TempDir(), "user", line+"\n")
			if cfg := evaluate(t, o); cfg.ProxyCommand != "" || len(cfg.ProxyJump) > 0 || len(cfg.Unsupported) > 0 {
				t.Errorf("%q: ProxyCommand %q, ProxyJump %v, refusals %v; want none", line, cfg.ProxyCommand, cfg.ProxyJump,
					cfg.Unsupported)
			}
		}
	}
}

package sshconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzParse reads any text as the operator's file, as a caller's, and as options. Evaluate
// must not panic, must not run a program for a caller, and must end soon.
func FuzzParse(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(c.files["config"], c.host, strings.Join(c.args, "\n"))
	}
	for _, c := range randomCases(20) {
		f.Add(c.files["config"], c.host, strings.Join(c.args, "\n"))
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "config")
	f.Fuzz(func(t *testing.T, config, host, args string) {
		// The file may include itself, but no file outside the folder.
		var lines []string
		for line := range strings.SplitSeq(strings.ReplaceAll(config, "@DIR@", dir), "\n") {
			keyword, rest := splitLine(line)
			if args, err := splitArgs(rest); strings.EqualFold(keyword, "Include") && err == nil &&
				slices.ContainsFunc(args, func(arg string) bool {
					return !strings.HasPrefix(arg, dir+"/") || strings.ContainsAny(arg[len(dir):], ".%$")
				}) {
				continue
			}
			lines = append(lines, line)
		}
		config = strings.Join(lines, "\n")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{
			Host: host, UserFile: "none", SystemFile: "none",
			LocalUser: "me", HomeDir: dir, LocalHost: "client", AllowExec: true,
			LookupEnv: func(string) (string, bool) { return "%h${X}", true },
			Resolve:   func(context.Context, string) (string, error) { return "", errors.New("no such host") },
		}
		var asked bool
		o.Exec = func(context.Context, string) (bool, error) {
			asked = true
			return true, nil
		}
		if extra, err := ParseExtraArgs(strings.Split(args, "\n")); err == nil {
			o.Overrides = extra.Overrides
		}
		for _, role := range []*string{&o.CallerFile, &o.UserFile} {
			*role = path
			asked = false
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			cfg, err := Evaluate(ctx, o)
			cancel()
			caller := o.CallerFile != ""
			o.CallerFile, o.UserFile = "", "none"
			if asked && caller {
				t.Error("a caller ran a program")
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error("it takes too long")
			}
			if err != nil {
				continue
			}
			if caller && cfg.ProxyCommand != "" {
				t.Errorf("a caller set ProxyCommand %q", cfg.ProxyCommand)
			}
			if cfg.HostName == "" || cfg.Port < 1 || cfg.Port > 65535 || cfg.User == "" || cfg.ConnectionAttempts < 1 {
				t.Errorf(
					"HostName %q, Port %d, User %q, ConnectionAttempts %d",
					cfg.HostName,
					cfg.Port,
					cfg.User,
					cfg.ConnectionAttempts,
				)
			}
			for _, j := range cfg.ProxyJump {
				if !validHost(j.Host) {
					t.Errorf("jump host %q", j.Host)
				}
			}
			if err := cfg.Dump(io.Discard); err != nil {
				t.Error(err)
			}
		}
	})
}

// The file has 500 hosts; the last one is evaluated, with defaults.
func BenchmarkEvaluate(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(
			&text,
			"Host host%d *.site%d.example.com\n  HostName 10.0.%d.%d\n  User user%d\n  IdentityFile ~/.ssh/key%d\n  ProxyJump gw%d\n\n",
			i,
			i,
			i/256,
			i%256,
			i,
			i,
			i%10,
		)
	}
	text.WriteString("Host *\n  ServerAliveInterval 30\n  SendEnv LANG LC_*\n")
	o := options(b)
	o.Host = "host499"
	o.UserFile = write(b, b.TempDir(), "config", text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		cfg, err := Evaluate(b.Context(), o)
		if err != nil || cfg.User != "user499" {
			b.Fatal(cfg, err)
		}
	}
}

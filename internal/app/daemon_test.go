package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/config"
	"ptyctl/daemon"
	"ptyctl/internal/logging"
)

// The name of a daemon depends on the settings of its engine, and neither on the conversations of its clients nor on
// keys that have their defaults, which another version may not have.
func TestEngine(t *testing.T) {
	plain := config.Default()
	if e := Engine(plain); len(e) != 0 {
		t.Errorf("Engine of the defaults = %v, want nothing", e)
	}
	same := config.Default()
	same.Server.Results, same.Server.ReadOnly, same.Server.JSONRPCErrors = config.ResultsText, true, true
	same.Server.Toolsets = []string{"core", "pty"}
	same.Server.HTTP.Listen = "127.0.0.1:1"
	same.Daemon.OnDifference = config.DifferenceRefuse
	if d := Engine(same).Difference(Engine(plain)); d != "" {
		t.Errorf("settings of a conversation differ: %s, want none to count", d)
	}
	other := config.Default()
	other.Policy.Deny = []string{"halt"}
	if d := Engine(other).Difference(Engine(plain)); d != `policy.deny is ["halt"] here and the default there` {
		t.Errorf("a rule differs as %q, want policy.deny named", d)
	}
	if Engine(other).Name() == Engine(plain).Name() {
		t.Error("another rule gives the same name, want another daemon")
	}
}

// A client of a later version learns before its conversation begins which settings this daemon does not offer.
func TestPresentsOfLaterVersion(t *testing.T) {
	c := &conversations{app: &App{cfg: config.Default(), version: "1.2.3"}}
	for part, p := range map[string]daemon.Presents{
		`no set of tools "later"`:    {Toolsets: []string{"later"}, Results: "compact"},
		`no form of results "later"`: {Results: "later"},
	} {
		if err := c.presents(p); err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "1.2.3") {
			t.Errorf("presents(%+v) = %v, want an error with the version and %q", p, err, part)
		}
	}
}

// Presentations without a conversation are not kept, however many a program asks for.
func TestPresentationsAreBounded(t *testing.T) {
	a, err := ForCommand(config.Default(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	c := &conversations{app: a, servers: make(map[string]*presented)}
	one, leave, err := c.server(daemon.Presents{Results: "full"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 * sparePresentations {
		_, leave, err := c.server(daemon.Presents{Results: "full", Toolsets: slices.Repeat([]string{"core"}, 1+n)})
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	if n := len(c.servers); n > sparePresentations+1 {
		t.Errorf("%d presentations are kept, want at most %d", n, sparePresentations+1)
	}
	again, leaveAgain, _ := c.server(daemon.Presents{Results: "full"})
	if again != one {
		t.Error("a second conversation has another server, want the same")
	}
	leave()
	leaveAgain()
}

// A reload does not say that it has changed the log when it could not, and goes on with the log as it was.
func TestReloadWithoutItsLog(t *testing.T) {
	dir := t.TempDir()
	source := config.Source{Path: filepath.Join(dir, "ptyctl.toml"), Env: []string{"HOME=" + dir}}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(source.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own := "[logging]\nfile = '" + filepath.Join(dir, "log") + "'\n"
	write(own)
	cfg, _, err := config.Load(source)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := logging.New(cfg.Logging)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	a, err := ForCommand(cfg, Options{Logger: logs.Logger})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	r := a.Reloader(source, logs)
	other := "[policy]\ndeny = ['halt']\n[logging]\nfile = '" + filepath.Join(dir, "none", "log") + "'\n"
	for range 2 { // the log is not yet the one of the file
		write(other)
		done := r.Reload()
		if slices.Contains(done.Applied, "logging.file") || !slices.Equal(done.Later, []string{"logging.file"}) || done.Failed != "" {
			t.Errorf("Reload = %+v, want logging.file among those that have not changed", done)
		}
	}
	write("[policy]\ndeny = ['halt']\n" + own)
	if done := r.Reload(); len(done.Applied)+len(done.Later) != 0 || done.Failed != "" {
		t.Errorf("Reload of the former log = %+v, want no change", done)
	}
}

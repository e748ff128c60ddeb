package commands

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/direct"
)

// Flags that follow arguments are read, and words of other programs are left alone.
func TestOrdered(t *testing.T) {
	for line, want := range map[string]string{
		"tail ID -n 5":                   "tail -n 5 ID",
		"tail ID -f -n=5 --pid 3":        "tail -f -n=5 --pid 3 ID",
		"tail -f ID":                     "tail -f ID",
		"tail ID -n":                     "tail -n", // which lacks its value
		"tail ID --nosuch -f":            "tail ID --nosuch -f",
		"exec web1 -p 22 -- ls -p -l":    "exec -p 22 web1 -- ls -p -l",
		"exec web1 ls -p 1":              "exec web1 ls -p 1",
		"audit verify x.jsonl --head ab": "audit verify --head ab x.jsonl",
		"call tool - --pid 3":            "call --pid 3 tool -",
		"nosuch x -f":                    "nosuch x -f",
		"tail ID -n5":                    "tail -n 5 ID",
		"--version":                      "version",
		"-V --json":                      "version --json",
		"--version mcp":                  "version mcp",
		"tail --version":                 "tail --version",
		"tail -n5 ID":                    "tail -n 5 ID",
		"tail ID -fn5":                   "tail -f -n 5 ID",
		"tail ID -n-1":                   "tail -n -1 ID",
		"tail -raw ID":                   "tail -raw ID",
		"tail ID -nf":                    "tail -n f ID",
		"tail ID -xn5":                   "tail ID -xn5",
		"tail -- -n5":                    "tail -- -n5",
		"nosuch -n5":                     "nosuch -n5",
		"open -p2222 -Jjump web1":        "open -p 2222 -J jump web1",
		"exec web1 -p2222 -- cut -d:":    "exec -p 2222 web1 -- cut -d:",
		"exec -p2222 web1 cut -p5":       "exec -p 2222 web1 cut -p5",
		"exec --profile -p5 web1 cut":    "exec --profile -p5 web1 cut",
		"":                               "",
	} {
		words := append([]string{"ptyctl"}, strings.Fields(line)...)
		if got := strings.Join(ordered(newCommandLine(Program{Name: "ptyctl"}), words)[1:], " "); got != want {
			t.Errorf("ordered(%q) = %q, want %q", line, got, want)
		}
	}
}

// TestFlagsNameTheirValues checks that the help of each flag with a fixed set of values names them all, and that a shell
// completes them. A new flag must be in one of the two tables.
func TestFlagsNameTheirValues(t *testing.T) {
	fixed := map[string]string{
		"transport": "stdio, http, both", "results": "compact, full, text", "log-level": "debug, info, warn, error", "control-mode": "disabled, readonly, readwrite",
		"toolsets": "core, local, fs, health, fleet, device, aiterm, pty, k_pty, r2", "lane": "auto, channel, terminal",
		"protocol": "ssh, telnet", "ptyctl policy check protocol": "ssh, telnet, serial, local",
		"pace": "prompt, echo, delay", "to": "v2, txt, svg, v3", "host-key": "strict, ask, accept_new, disabled", "class": "posix, fish, csh, powershell, cmd, device, unknown", "theme": "dark, light, xterm",
		"parity": "none, odd, even, mark, space", "flow": "none, rtscts, xonxoff", "dtr": "on, off, keep", "rts": "on, off, keep",
		"role": "read, write, watch, operate",
	}
	free := strings.Fields("after auth-token batch before config control-socket cwd dir expires file for head host identity J jump key listen o profile save secret " +
		"socket stdin-secret stop-on-failures sudo-secret sums user")
	for _, c := range leaves(newCommandLine(Program{Name: "ptyctl"}).Commands, "ptyctl") {
		for _, f := range c.Flags {
			s, ok := f.(*cli.StringFlag)
			if !ok || s.Hidden || slices.Contains(free, s.Name) {
				continue
			}
			want := cmp.Or(fixed[c.name+" "+s.Name], fixed[s.Name])
			if want == "" {
				t.Errorf("%s --%s is in no table, want it among those with fixed values, or the free ones", c.name, s.Name)
			}
			if !regexp.MustCompile(`(?i)\bone (or more )?of ` + want + `([;.]|$)`).MatchString(s.Usage) {
				t.Errorf("the help of %s --%s is %q, want its values %s", c.name, s.Name, s.Usage, want)
			}
			if got := strings.Join(flagValues(t.Context(), "--"+s.Name, s), ", "); got != want {
				t.Errorf("%s --%s completes %s, want %s", c.name, s.Name, got, want)
			}
		}
	}
	sets := app.CheckToolsets(config.Config{Server: config.Server{Toolsets: []string{"no-such-set"}}})
	if sets == nil || !strings.Contains(sets.Error(), "one or more of "+fixed["toolsets"]+",") {
		t.Errorf("the sets of tools are %v, want those of the help: %s", sets, fixed["toolsets"])
	}
}

// TestWantsJSON: --json counts in any place for the flags of a command, and not among the words of another program.
func TestWantsJSON(t *testing.T) {
	for line, want := range map[string]bool{
		"sessions --json":                  true,
		"sessions -json=true":              true,
		"sessions --json=1":                true,
		"sessions --json=false":            false,
		"sessions":                         false,
		"status ID --json":                 true,
		"config show --json":               true,
		"version --nosuch --json":          true,
		"exec --json web1 -- true":         true,
		"exec web1 --json -- true":         true,
		"exec --profile --json web1 -- x":  false, // the value of a flag
		"exec web1 -- kubectl --json":      false,
		"exec web1 kubectl --json":         false,
		"exec --json web1 true":            true,
		"open --json web1":                 true,
		"exec --nosuch --json web1 -- x":   true,
		"exec --nosuch a --json web1 -- x": true, // perhaps the value of that flag
		"exec --nosuch=a web1 x --json":    false,
		"exec --timeout --json web1 -- x":  true, // no value of a flag that takes a time
		"exec -p22 --json web1 -- true":    true,
		"nosuch --json":                    true,
		"nosuch -- --json":                 false,
		"--json":                           true,
		"--nosuch --json":                  true,
		"help nosuch --json":               true,
		"complete sessions --json":         false, // words to complete
		"":                                 false,
	} {
		if got := wantsJSON(newCommandLine(Program{Name: "ptyctl"}), strings.Fields("ptyctl "+line)); got != want {
			t.Errorf("wantsJSON(%q) = %t, want %t", line, got, want)
		}
	}
}

// A file without a line that says something is refused before any session is looked for.
func TestPasteText(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	for text, want := range map[string]string{
		"":                              "nothing to type",
		" \n\r\n\t":                     "nothing to type",
		strings.Repeat("x", maxPaste+1): "give it in parts",
		"\n a\n":                        "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := pasteText(name)
		if want == "" && (err != nil || got != text) {
			t.Errorf("pasteText(%q) = %q, %v; want the text", text, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("pasteText of %d bytes = %v, want an error with %q", len(text), err, want)
		}
	}
}

// hostOf returns the host that a command's words name.
func hostOf(t *testing.T, words ...string) (h direct.Host, err error) {
	t.Helper()
	app := &cli.App{
		Name: "ptyctl", Flags: append(hostFlags(), &cli.StringFlag{Name: "user"}),
		Action: func(c *cli.Context) error {
			h, err = hostAt(c, c.Args().First())
			return nil
		},
	}
	if runErr := app.Run(append([]string{"ptyctl"}, words...)); runErr != nil {
		t.Fatal(runErr)
	}
	return h, err
}

func TestHostAt(t *testing.T) {
	for _, tt := range []struct {
		words string
		want  direct.Host
	}{
		{"web1", direct.Host{Protocol: "ssh", Host: "web1"}},
		{"alice@web1:2222", direct.Host{Protocol: "ssh", User: "alice", Host: "web1", Port: 2222}},
		{"ssh://alice@web1:2222", direct.Host{Protocol: "ssh", User: "alice", Host: "web1", Port: 2222}},
		{"telnet://sw1:2323", direct.Host{Protocol: "telnet", Host: "sw1", Port: 2323}},
		{"--protocol telnet telnet://sw1", direct.Host{Protocol: "telnet", Host: "sw1"}},
		{"-p 22 [::1]:22", direct.Host{Protocol: "ssh", Host: "::1", Port: 22}},
		{"-p 22 ::1", direct.Host{Protocol: "ssh", Host: "::1", Port: 22}},
	} {
		if got, err := hostOf(t, strings.Fields(tt.words)...); err != nil || got != tt.want {
			t.Errorf("%s = %+v, %v, want %+v", tt.words, got, err, tt.want)
		}
	}
	for words, part := range map[string]string{
		"-p 23 web1:22":                       "one port and --port another",
		"--user bob alice@web1":               "one user and --user another",
		"--protocol ssh telnet://sw1":         "one protocol and --protocol another",
		"http://web1":                         `scheme is "http"`,
		"alice@":                              "names no host",
		"ssh://alice:hunter2@web1":            "holds a password",
		"--protocol telnet admin:hunter2@sw1": "holds a password",
	} {
		_, err := hostOf(t, strings.Fields(words)...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), part) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want a usage error with %q", words, err, part)
		}
	}
}

// TestReleaseKeys: the key of --key, the key in the program, and the messages without a key.
func TestReleaseKeys(t *testing.T) {
	const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4B"
	empty := filepath.Join(t.TempDir(), "empty.pub")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, embedded, want string }{
		{"", "# a comment\n" + line + "\n", ""},
		{"", "# a comment\n", "packaging/release.pub had none when it was built: get the maintainer's public key"},
		{"", "", "name its file with --key"},
		{"", "no key", "packaging/release.pub, as it was when this program was built: line 1"},
		{empty, line, "empty.pub has no public key"},
		{empty + ".x", line, "no such file"},
	} {
		keys, err := releaseKeys(c.path, []byte(c.embedded))
		if c.want == "" {
			if err != nil || len(keys) != 1 {
				t.Errorf("releaseKeys(%q, %q) = %d keys, %v; want 1", c.path, c.embedded, len(keys), err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("releaseKeys(%q, %q) = %v, want %q", c.path, c.embedded, err, c.want)
		}
	}
}

// TestFileOfANode: ptyctl does not serve the configuration of a node, and says which program does.
func TestFileOfANode(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	// A variable of the tests themselves, which config check would warn of. Setenv restores it.
	t.Setenv("PTYCTL_TEST_TRAIL", "")
	if err := os.Unsetenv("PTYCTL_TEST_TRAIL"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "node.toml")
	if err := os.WriteFile(file, []byte("[cluster]\nservers = [\"nats://127.0.0.1:1\"]\nnode = \"a\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"mcp", "mcp --daemon", "daemon", "config check"} {
		var out strings.Builder
		line := newCommandLine(Program{Name: "ptyctl"})
		line.Writer = &out
		err := line.Run(append([]string{"ptyctl"}, append(strings.Fields(words), "--config", file)...))
		if !errors.As(err, new(usageError)) || !strings.HasPrefix(err.Error(), file+":2: cluster.servers is set") ||
			!strings.Contains(err.Error(), "run ptyctl-cluster with it") || out.String() != "" {
			t.Errorf("ptyctl %s prints %q and ends with %v, want the program to run", words, &out, err)
		}
	}
}

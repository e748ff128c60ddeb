package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// write writes a file into a new folder.
func write(t *testing.T, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ptyctl.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load calls Load with an environment that has an empty home, unless env has another one.
func load(t *testing.T, file string, env []string, flags map[string]string) (Config, []Warning, []Problem) {
	t.Helper()
	s := Source{Env: append(slices.Clone(env), "HOME="+t.TempDir()), Flags: flags}
	if file != "" {
		s.Path = write(t, file)
	}
	leaktest.Marked(t, file+" "+strings.Join(env, " ")+fmt.Sprint(flags))
	c, warnings, err := Load(s)
	leaktest.Output(t, "what was loaded", fmt.Sprintf("%+v %v %v", c, warnings, err))
	if err == nil {
		return c, warnings, nil
	}
	var all *Errors
	if !errors.As(err, &all) || len(all.Problems) == 0 {
		t.Fatalf("Load: %T %v, want an *Errors with problems", err, err)
	}
	if !reflect.DeepEqual(c, Config{}) {
		t.Errorf("Load gave both a Config and an error: %+v", c)
	}
	for i := range all.Problems {
		all.Problems[i].Where = strings.TrimPrefix(all.Problems[i].Where, s.Path+":")
	}
	return c, warnings, all.Problems
}

func TestDefaults(t *testing.T) {
	c, warnings, problems := load(t, "", nil, nil)
	if problems != nil || warnings != nil {
		t.Fatalf("problems %v, warnings %v", problems, warnings)
	}
	c.origin = nil
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("Load without layers = %+v\nDefault() = %+v", c, Default())
	}
	want := Config{
		Server: Server{
			Transport: TransportStdio, Results: ResultsCompact,
			HTTP:    HTTP{Listen: "127.0.0.1:8765", RateLimit: 100, SessionTTL: 30 * time.Minute},
			Control: Control{ControlMode: ControlReadOnly}, Apps: Apps{Enabled: true},
		},
		Session: Session{
			MaxSessions: 100, AutoIdle: 10 * time.Minute, ClosedRetention: 300 * time.Second,
			OrphanTTL:            time.Hour,
			OutputBufferMaxBytes: 2097152, OutputBufferMaxLines: 20000,
			ConnectTimeout: 15 * time.Second, ReadTimeout: 2 * time.Second,
			DefaultExecTimeout: time.Minute, UnattendedExecTimeout: 10 * time.Minute,
			WriteTimeout: 10 * time.Second, QuietLine: 5 * time.Second, Format: FormatClean, Answer: AnswerAuto,
		},
		Limits: Limits{
			MaxWait: 50 * time.Second, MaxReadBytes: 1048576, MaxExecOutputBytes: 1048576,
			MaxTotalBufferBytes: 256 << 20, MaxWaitingReads: 200,
			MaxConnectTimeout: 2 * time.Minute, MaxExecTimeout: 24 * time.Hour, MaxMessageBytes: 8388608, MaxInFlight: 256,
		},
		SSH: SSH{
			HostKeyPolicy: HostKeyStrict, HostKeyFloor: HostKeyAcceptNew, UseOpenSSHConfig: true,
			KeepaliveInterval: 30 * time.Second, KeepaliveCountMax: 3, MaxConnectionsPerHost: 4,
		},
		Telnet:  Telnet{Enter: TelnetEnterAuto, Binary: TelnetBinaryAuto},
		Local:   Local{Stdio: true},
		FS:      FS{MaxReadBytes: 1 << 20, MaxWriteBytes: 4 << 20, MaxEntries: 1000, MaxCopyBytes: 1 << 30, MaxCopyFiles: 10000},
		Forward: Forward{Max: 8, MaxConnections: 256, MaxRate: 200},
		Fleet:   Fleet{MaxHosts: 1000, MaxParallel: 16, MaxPerJumpHost: 8},
		Auth:    Auth{Elicitation: true, Interactive: true, PromptTimeout: 110 * time.Second},
		Locks:   Locks{DefaultTTL: time.Minute, MaxTTL: time.Hour},
		Audit:   Audit{MaxBytes: 67108864, Keep: 10, Fsync: AuditFsyncInterval, Commands: AuditCommandsRedacted},
		Record:  Record{MaxBytes: 67108864, MaxTotalMiB: 1024, MaxFiles: 10000},
		Notify: Notify{
			CommandTimeout: 10 * time.Second, CommandAtOnce: 4, WebhookTimeout: 10 * time.Second, WebhookTries: 5,
		},
		Policy: Policy{
			Mode: PolicyModeEnforce, Consent: PolicyConsentDeny, ConsentTTL: 10 * time.Minute, Typing: PolicyTypingAuto,
		},
		Logging: Logging{Level: LogInfo, Format: LogText, MaxBytes: 10 << 20, Keep: 5},
		Daemon:  Daemon{OnDifference: DifferenceStart, Idle: 10 * time.Minute},
		Cluster: Cluster{Group: "ptyctl", LeaseTTL: 30 * time.Second},

		Toolsets: Toolsets{PTY: PTYTools{MaxBufferLines: 50_000}, R2: R2Tools{Program: "radare2"}},
	}
	if !reflect.DeepEqual(Default(), want) {
		t.Errorf("Default() = %+v\nwant %+v", Default(), want)
	}
}

func TestPrecedence(t *testing.T) {
	const key, env = "session.max_sessions", "PTYCTL_SESSION_MAX_SESSIONS="
	tests := []struct {
		name   string
		file   string
		env    []string
		flags  map[string]string
		want   int
		origin string // after the file's name
	}{
		{name: "default", want: 100, origin: "default"},
		{name: "file", file: "\n[session]\nmax_sessions = 2", want: 2, origin: ":3"},
		{name: "environment", file: "[session]\nmax_sessions = 2", env: []string{env + "3"}, want: 3, origin: "PTYCTL_SESSION_MAX_SESSIONS"},
		{name: "first of a repeated variable", env: []string{env + "3", env + "4"}, want: 3, origin: "PTYCTL_SESSION_MAX_SESSIONS"},
		{name: "empty variable", file: "session.max_sessions = 2", env: []string{env}, want: 2, origin: ":1"},
		{name: "flag", file: "[session]\nmax_sessions = 2", env: []string{env + "3"}, flags: map[string]string{key: "4"}, want: 4, origin: "--session.max_sessions"},
		{name: "flag over default", flags: map[string]string{key: "4"}, want: 4, origin: "--session.max_sessions"},
		{name: "flag equal to the default", file: "[session]\nmax_sessions = 2", flags: map[string]string{key: "100"}, want: 100, origin: "--session.max_sessions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, warnings, problems := load(t, tt.file, tt.env, tt.flags)
			if problems != nil || warnings != nil {
				t.Fatalf("problems %v, warnings %v", problems, warnings)
			}
			origin := c.Origin(key)
			if _, line, ok := strings.Cut(origin, "ptyctl.toml"); ok {
				origin = line
			}
			if c.Session.MaxSessions != tt.want || origin != tt.origin {
				t.Errorf("got %d from %q, want %d from %q", c.Session.MaxSessions, origin, tt.want, tt.origin)
			}
			if got := c.Origin("session.write_timeout_ms"); got != "default" {
				t.Errorf("Origin of an untouched key = %q", got)
			}
			if got := c.Origin("session.nothing"); got != "" {
				t.Errorf("Origin of no key = %q", got)
			}
		})
	}
}

// TestEveryType sets a key of each type in all three layers.
func TestEveryType(t *testing.T) {
	tests := []struct {
		key        string
		toml, text string // two different values
		get        func(Config) any
		wantFile   any
		wantText   any
	}{
		{"server.read_only", `false`, "true", func(c Config) any { return c.Server.ReadOnly }, false, true},
		{"locks.allow_force", `true`, "0", func(c Config) any { return c.Locks.AllowForce }, true, false},
		{"auth.interactive", `false`, "1", func(c Config) any { return c.Auth.Interactive }, false, true},
		{"limits.max_in_flight", `0x10`, "17", func(c Config) any { return c.Limits.MaxInFlight }, 16, 17},
		{"session.output_buffer_max_bytes", `1_000_000`, "4096", func(c Config) any { return c.Session.OutputBufferMaxBytes }, 1000000, 4096},
		{"session.idle_timeout_ms", `1500`, "0", func(c Config) any { return c.Session.IdleTimeout }, 1500 * time.Millisecond, time.Duration(0)},
		{"ssh.host_key_policy", `"ask"`, "accept_new", func(c Config) any { return c.SSH.HostKeyPolicy }, HostKeyAsk, HostKeyAcceptNew},
		{"ssh.identity_agent", `"none"`, "/run/agent=1,2", func(c Config) any { return c.SSH.IdentityAgent }, "none", "/run/agent=1,2"},
		{"ssh.known_hosts_path", `'/etc//known'`, "/b/../c", func(c Config) any { return c.SSH.KnownHostsPath }, "/etc/known", "/c"},
		{"ssh.caller_paths", "[\n  \"/a/\", # the first\n  '/b,c',\n]", "/d, /e", func(c Config) any { return c.SSH.CallerPaths }, []string{"/a", "/b,c"}, []string{"/d", "/e"}},
		{"telnet.enter", `"crlf"`, "lf", func(c Config) any { return c.Telnet.Enter }, TelnetEnterCRLF, TelnetEnterLF},
		{"telnet.environment", `["LANG=C", "A=b,c"]`, "X=1,Y=", func(c Config) any { return c.Telnet.Environment }, []string{"LANG=C", "A=b,c"}, []string{"X=1", "Y="}},
		{"logging.level", `"debug"`, "error", func(c Config) any { return c.Logging.Level }, LogDebug, LogError},
		{"logging.file", `"/var/log/ptyctl"`, "/dev/stderr", func(c Config) any { return c.Logging.File }, "/var/log/ptyctl", "/dev/stderr"},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			i := slices.IndexFunc(Keys(), func(k Key) bool { return k.Path == tt.key })
			if i < 0 {
				t.Fatal("no such key")
			}
			file := tt.key + " = " + tt.toml
			for _, layer := range []struct {
				name string
				env  []string
				flag map[string]string
				want any
			}{
				{"file", nil, nil, tt.wantFile},
				{"environment", []string{Keys()[i].Env + "=" + tt.text}, nil, tt.wantText},
				{"flag", nil, map[string]string{tt.key: tt.text}, tt.wantText},
			} {
				c, _, problems := load(t, file, layer.env, layer.flag)
				if problems != nil {
					t.Errorf("%s: %v", layer.name, problems)
				} else if got := tt.get(c); !reflect.DeepEqual(got, layer.want) {
					t.Errorf("%s: got %#v, want %#v", layer.name, got, layer.want)
				}
			}
		})
	}
}

func TestEmptyFlagClears(t *testing.T) {
	c, _, problems := load(t, "[ssh]\ncaller_paths = ['/a']\nidentity_agent = 'x'", nil,
		map[string]string{"ssh.caller_paths": " ", "ssh.identity_agent": ""})
	if problems != nil || len(c.SSH.CallerPaths) != 0 || c.SSH.IdentityAgent != "" {
		t.Errorf("problems %v, %q, %q", problems, c.SSH.CallerPaths, c.SSH.IdentityAgent)
	}
}

func TestFlagWithoutArgument(t *testing.T) {
	for _, k := range Keys() {
		if k.Flag.Name != "read-only" {
			continue
		}
		c, _, problems := load(t, "[server]\nread_only = false", nil, map[string]string{k.Path: k.Flag.Value})
		if problems != nil || !c.Server.ReadOnly || c.Origin(k.Path) != "--read-only" {
			t.Errorf("problems %v, read_only %v from %q", problems, c.Server.ReadOnly, c.Origin(k.Path))
		}
		return
	}
	t.Error("no key has the flag --read-only")
}

func TestShortNames(t *testing.T) {
	c, warnings, problems := load(t, "", []string{"PTYCTL_TRANSPORT=stdio", "PTYCTL_LOG_LEVEL=warn"}, nil)
	if problems != nil || warnings != nil {
		t.Fatalf("problems %v, warnings %v", problems, warnings)
	}
	if c.Origin("server.transport") != "PTYCTL_TRANSPORT" || c.Logging.Level != LogWarn {
		t.Errorf("transport from %q, level %q", c.Origin("server.transport"), c.Logging.Level)
	}
}

func TestDefaultFile(t *testing.T) {
	home := t.TempDir()
	put := func(dir, content string) {
		dir = filepath.Join(dir, "ptyctl")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ptyctl.toml"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(home, ".config"), "session.max_sessions = 7\nssh.config_path = '~/x/../ssh'")
	put(filepath.Join(home, "xdg"), "session.max_sessions = 8")
	tests := []struct {
		name string
		env  []string
		want int
	}{
		{"home", []string{"HOME=" + home}, 7},
		{"empty XDG_CONFIG_HOME", []string{"HOME=" + home, "XDG_CONFIG_HOME="}, 7},
		{"relative XDG_CONFIG_HOME", []string{"HOME=" + home, "XDG_CONFIG_HOME=xdg"}, 7},
		{"XDG_CONFIG_HOME", []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/xdg"}, 8},
		{"nothing there", []string{"HOME=" + home + "/xdg"}, 100},
		{"home is no folder", []string{"HOME=/dev/null"}, 100},
		{"no home", []string{}, 100},
	}
	for _, tt := range tests {
		c, _, err := Load(Source{Env: tt.env})
		if err != nil || c.Session.MaxSessions != tt.want {
			t.Errorf("%s: got %d, %v; want %d", tt.name, c.Session.MaxSessions, err, tt.want)
		}
		if tt.want == 7 && c.SSH.ConfigPath != filepath.Join(home, "ssh") {
			t.Errorf("%s: config_path = %q", tt.name, c.SSH.ConfigPath)
		}
	}

	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	if got, want := DefaultPath(), filepath.Join(home, "xdg", "ptyctl", "ptyctl.toml"); got != want {
		t.Errorf("DefaultPath() = %q, want %q", got, want)
	}
	if c, _, err := Load(Source{}); err != nil || c.Session.MaxSessions != 8 {
		t.Errorf("Load of the process's own environment: %d, %v", c.Session.MaxSessions, err)
	}
}

func TestUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path string
		is   error
		say  string
	}{
		{filepath.Join(dir, "none.toml"), fs.ErrNotExist, "does not exist; create it"},
		{dir, nil, "not readable"},
		{big, errTooLong, "not readable (it is longer than 262144 bytes)"},
		{"/dev/zero", errTooLong, "not readable"},
	}
	for _, tt := range tests {
		_, _, err := Load(Source{Path: tt.path, Env: []string{"PTYCTL_LOG_LEVEL=loud"}})
		var all *Errors
		if !errors.As(err, &all) || len(all.Problems) != 2 {
			t.Errorf("%s: %v, want the file's problem and the variable's", tt.path, err)
			continue
		}
		if p := all.Problems[0]; p.Where != tt.path || !strings.Contains(p.Message, tt.say) {
			t.Errorf("%s: %v", tt.path, p)
		}
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: errors.Is(%v, %v) = false", tt.path, err, tt.is)
		}
	}
}

// A node has the name that is configured, or else that of its machine, if a node may have it.
func TestNodeName(t *testing.T) {
	c, _, problems := load(t, "[cluster]\nservers = ['nats://a:4222', 'tls://[::1]:4222']\nnode = 'fra-1'\nlabels = ['site=fra', 'rack=r1.2']",
		nil, nil)
	if problems != nil || !slices.Equal(c.Cluster.Servers, []string{"nats://a:4222", "tls://[::1]:4222"}) || c.Cluster.Group != "ptyctl" {
		t.Fatalf("%+v, problems %v", c.Cluster, problems)
	}
	if name, err := c.Cluster.NodeName(); name != "fra-1" || err != nil {
		t.Errorf("NodeName = %q, %v; want fra-1", name, err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := strings.Cut(host, ".")
	name, err := new(Cluster).NodeName()
	if nodeName.MatchString(want) {
		if name != want || err != nil {
			t.Errorf("NodeName = %q, %v; want %q", name, err, want)
		}
	} else if err == nil || !strings.Contains(err.Error(), "set cluster.node") {
		t.Errorf("NodeName = %q, %v; want what to set", name, err)
	}
}

package sshconfig

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// Each field of Config must get its value from the keyword of the same name.
func TestConfigFields(t *testing.T) {
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", `
HostName real.example.com
Port 2222
User bob
HostKeyAlias Alias
AddressFamily inet6
BindAddress 192.0.2.1
ConnectTimeout 10
ConnectionAttempts 2
TCPKeepAlive no
ProxyJump a,b@c:1
KexAlgorithms kex
Ciphers cipher
MACs mac
HostKeyAlgorithms hostkey
PubkeyAcceptedAlgorithms pubkey
CASignatureAlgorithms ca
RequiredRSASize 2048
RekeyLimit 1G
StrictHostKeyChecking accept-new
UserKnownHostsFile /ukh
GlobalKnownHostsFile /gkh
RevokedHostKeys /revoked
HashKnownHosts yes
CheckHostIP yes
NoHostAuthenticationForLocalhost yes
IdentityFile /id
CertificateFile /cert
IdentitiesOnly yes
IdentityAgent /agent
AddKeysToAgent confirm 1m
PreferredAuthentications password,publickey
PubkeyAuthentication no
PasswordAuthentication no
KbdInteractiveAuthentication no
NumberOfPasswordPrompts 1
BatchMode yes
ServerAliveInterval 30
ServerAliveCountMax 4
SendEnv LANG
SetEnv A=1
RequestTTY force
RemoteCommand uptime
ForwardAgent /forwarded
VersionAddendum x
`)
	got := evaluate(t, o)
	at := func(line int) Origin { return Origin{Source: UserFile, File: o.UserFile, Line: line} }
	want := &Config{
		Host: "foo", File: o.UserFile, HostName: "real.example.com", Port: 2222, User: "bob", HostKeyAlias: "alias",
		AddressFamily: "inet6", BindAddress: "192.0.2.1",
		ConnectTimeout: 10 * time.Second, ConnectionAttempts: 2,
		ProxyJump:     []Jump{{Host: "a"}, {User: "b", Host: "c", Port: 1}},
		KexAlgorithms: []string{"kex"}, Ciphers: []string{"cipher"}, MACs: []string{"mac"},
		HostKeyAlgorithms: []string{
			"hostkey",
		}, HostKeyAlgorithmsFixed: true, UpdateHostKeys: "no", PubkeyAcceptedAlgorithms: []string{"pubkey"},
		CASignatureAlgorithms: []string{"ca"}, RequiredRSASize: 2048, RekeyLimit: 1 << 30,
		StrictHostKeyChecking: "accept-new", UserKnownHostsFiles: []string{"/ukh"},
		GlobalKnownHostsFiles: []string{"/gkh"}, RevokedHostKeys: []string{"/revoked"},
		HashKnownHosts: true, CheckHostIP: true, NoHostAuthenticationForLocalhost: true,
		IdentityFiles:    []Value{{"/id", at(27)}},
		CertificateFiles: []Value{{"/cert", at(28)}},
		IdentitiesOnly:   true, IdentityAgent: "/agent", AddKeysToAgent: "confirm", AddKeysLifetime: time.Minute,
		PreferredAuthentications: []string{"password", "publickey"},
		NumberOfPasswordPrompts:  1, BatchMode: true,
		ServerAliveInterval: 30 * time.Second, ServerAliveCountMax: 4,
		SendEnv: []Value{{"LANG", at(40)}}, SetEnv: []string{"A=1"}, SetEnvNames: []string{"A"}, RequestTTY: "force",
		RemoteCommand: "uptime", ForwardAgent: true, ForwardAgentSocket: "/forwarded", VersionAddendum: "x",
	}
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range g.NumField() {
		field := g.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s = %v, want %v", field.Name, g.Field(i), w.Field(i))
		}
	}
}

// The zero Options, except for the host, must mean the files of ssh(1) on this machine.
func TestZeroOptions(t *testing.T) {
	o := Options{Host: "foo"}
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	if o.LocalUser == "" || o.HomeDir == "" || o.LookupEnv == nil || o.Resolve == nil || o.Version != DefaultVersion {
		t.Errorf("options %+v", o)
	}
	addrs, err := o.Interfaces()
	if err != nil || len(addrs) == 0 {
		t.Errorf("interfaces %v, %v", addrs, err)
	}
	cfg := evaluate(t, Options{Host: "foo", NoFiles: true})
	if cfg.HostName != "foo" || cfg.Port != 22 || cfg.User != o.LocalUser || len(cfg.IdentityFiles) == 0 {
		t.Errorf("config %+v", cfg)
	}
}

func TestMessages(t *testing.T) {
	file := Origin{Source: UserFile, File: "/c", Line: 3}
	for got, want := range map[string]string{
		Refusal{Origin: file, Keyword: "Tunnel", Reason: "why"}.Error(): "/c:3: Tunnel: why",
		Refusal{Keyword: "Tunnel", Reason: "why"}.Error():               "extra arguments: Tunnel: why",
		Warning{Origin: file, Keyword: "x", Text: "why"}.String():       "/c:3: x: why",
		Warning{Origin: file, Text: "why"}.String():                     "/c:3: why",
		(&ArgError{Arg: "-p", Reason: "why"}).Error():                   "-p: why",
		(&PermissionError{
			File: "/c", Reason: "why",
			Remedy: "chmod x /c",
		}).Error(): "bad owner or permissions on /c: why; run: chmod x /c",
		Origin{Source: Argument}.String(): "argument",
		Origin{Source: Default}.String():  "default",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for s := ExtraArgs; s <= Default; s++ {
		want := s == ExtraArgs || s == Argument || s == CallerFile
		if got := (Origin{Source: s}).Caller(); got != want || s.String() == "" {
			t.Errorf("%s: caller %t", s, got)
		}
	}
}

// Jumps from the caller's and the operator's options must keep their origin, because the
// evaluation of the hop trusts them by it.
func TestHopOverrides(t *testing.T) {
	o := options(t)
	o.UserFile = write(
		t,
		t.TempDir(),
		"config",
		"Host foo\n  ProxyCommand ssh -l %r -i /k/%h -p 2200 -W %h:%p gw\nHost gw\n  HostName gw.example.com\n",
	)
	o.User = "bob"
	cfg := evaluate(t, o)
	if len(cfg.ProxyJump) != 1 {
		t.Fatalf("ProxyJump = %v, refusals %v", cfg.ProxyJump, cfg.Unsupported)
	}
	j := cfg.ProxyJump[0]
	o.Host, o.User, o.Port, o.Overrides = j.Host, j.User, j.Port, j.Overrides
	hop := evaluate(t, o)
	if hop.HostName != "gw.example.com" || hop.Port != 2200 || hop.User != "bob" {
		t.Errorf("%s@%s:%d", hop.User, hop.HostName, hop.Port)
	}
	if len(hop.IdentityFiles) != 1 || hop.IdentityFiles[0].Text != "/k/foo" || hop.IdentityFiles[0].Origin.Caller() {
		t.Errorf("IdentityFiles = %v", hop.IdentityFiles)
	}
}

// Known keys may change the order of HostKeyAlgorithms only if it is not set, or set with +
// or -.
func TestHostKeyAlgorithmsFixed(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "HostKeyAlgorithms +ssh-rsa": false, "HostKeyAlgorithms -ssh-rsa": false,
		"HostKeyAlgorithms ssh-ed25519": true, "HostKeyAlgorithms ^ssh-ed25519": true,
	} {
		if got := evaluate(t, userConfig(t, text)).HostKeyAlgorithmsFixed; got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// The default of UpdateHostKeys depends on the owner of the known_hosts files.
func TestUpdateHostKeysDefault(t *testing.T) {
	for text, want := range map[string]string{
		"": "yes", "UserKnownHostsFile /x": "no", "VerifyHostKeyDNS yes": "no", "VerifyHostKeyDNS no": "yes",
		"UpdateHostKeys ask": "ask", "UpdateHostKeys no": "no", "UserKnownHostsFile /x\nUpdateHostKeys yes": "yes",
	} {
		if got := evaluate(t, userConfig(t, text)).UpdateHostKeys; got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// userConfig returns options with text as the user file.
func userConfig(t *testing.T, text string) Options {
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", text+"\n")
	return o
}

func TestAliases(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".ssh/config.d/a", "Host inc1 \"inc 2\" inc3\n")
	user := write(
		".ssh/config",
		"Host web1 web2 *.example !web3 db?\n Port 1\nHost other\n Include config.d/*\nHost 'broken\nMatch exec \"touch "+home+"/ran\"\n Include config.d/*\nHost web1\n",
	)
	system := write("system", "host = gw\nHost *\n")
	got, err := Aliases(t.Context(), Options{HomeDir: home, LocalUser: "me", UserFile: user, SystemFile: system})
	if want := []string{"gw", "inc1", "inc3", "other", "web1", "web2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := os.Stat(filepath.Join(home, "ran")); err == nil {
		t.Error("a program was run")
	}
	o := Options{HomeDir: home, LocalUser: "me", UserFile: "none", SystemFile: "none"}
	if got, err := Aliases(t.Context(), o); err != nil ||
		len(got) != 0 {
		t.Errorf("without files: %q, %v", got, err)
	}
}

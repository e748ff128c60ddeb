package kept

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

const id = "web1-k3f9q2zd@a"

// whole returns a session.Remembered with every option.
func whole() session.Remembered {
	return session.Remembered{
		Target: term.Target{
			Protocol: "ssh", Host: "web1", Port: 2222, User: "demo", CommandsOnly: true, ConnectTimeout: 20 * time.Second,
			Auth: term.Auth{Method: "password", Secret: "web-login", NoInteractive: true},
			PTY:  term.PTY{Disabled: true, Term: "vt100", Cols: 100, Rows: 30, NoAnswers: true},
			SSH: term.SSHOptions{
				HostKeyPolicy: "strict", KnownHostsPath: "/srv/known_hosts", HostKeyFingerprint: "SHA256:x", NoConfig: true,
				ConfigPath: "/srv/ssh_config", ExtraArgs: []string{"-4C", "-o", "Ciphers=aes128-ctr", "-oUser demo", "-J", "bastion"},
				Legacy: true, ProxyJump: "bastion", ProxyURL: "socks5://proxy:1080",
			},
			Telnet: term.TelnetOptions{
				Mode: "telnet", Enter: "crlf", Binary: "always", TLS: term.TLSOptions{Enabled: true, ServerName: "sw1", Pin: "SHA256:y"},
			},
			Serial: term.SerialOptions{Baud: 9600, DataBits: 7, Parity: "even", StopBits: 2, Flow: "rtscts", DTR: "keep", RTS: "off"},
		},
		Device: "switch-001", IdleTimeout: time.Minute, Profile: "cisco_ios",
		Owner: term.Principal{Transport: "http", Token: "one", Shim: "s1"}, Created: time.UnixMilli(1),
	}
}

// TestWhole: all options come back as they were. A new field of a target is to be kept, or named here.
func TestWhole(t *testing.T) {
	r := whole()
	elsewhere := []string{"Path", "Password", "PrivateKeyPEM", "Passphrase", "Local"}
	var unset func(v reflect.Value, name string)
	unset = func(v reflect.Value, name string) {
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case slices.Contains(elsewhere, f.Name):
			case f.Type.Kind() == reflect.Struct:
				unset(v.Field(i), f.Name)
			case v.Field(i).IsZero():
				t.Errorf("%s.%s is not set, so this test does not see whether it is kept", name, f.Name)
			}
		}
	}
	unset(reflect.ValueOf(r.Target), "Target")
	s, err := Of(id, r)
	if err != nil {
		t.Fatal(err)
	}
	k, err := Decode(id, s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(k.Target.Open(), r.Target) {
		t.Errorf("the target is\n%+v\nand was\n%+v", k.Target.Open(), r.Target)
	}
	if k.Device != r.Device || k.Profile != r.Profile || k.IdleMS != 60000 || !k.Owner.Is(r.Owner) || k.Created != 1 {
		t.Errorf("the session is %+v", k)
	}
	if k.Owner.Is(term.Principal{Transport: "http", Token: "two", Shim: "s1"}) {
		t.Error("another token is the owner")
	}
}

// TestNoSecret: a record has no place for credentials, and a session with options that may be secrets is not kept.
func TestNoSecret(t *testing.T) {
	const secret = "planted-word-1138"
	r := whole()
	r.Target.Auth.Password, r.Target.Auth.PrivateKeyPEM, r.Target.Auth.Passphrase = secret, secret, secret
	r.Target.Local = term.LocalOptions{Argv: []string{secret}, Env: []term.EnvVar{{Name: "X", Value: secret}}}
	s, err := Of(id, r)
	if err != nil || strings.Contains(string(s.Encode()), secret) || strings.Contains(string(s.Encode()), "redacted") {
		t.Errorf("it is kept as %s, %v", s.Encode(), err)
	}
	for _, args := range [][]string{
		{"-o", "SetEnv=TOKEN=" + secret}, {"-oSetEnv TOKEN=" + secret}, {"-o", " SETENV TOKEN=" + secret}, {"-4oSetEnv=A=" + secret},
		{"-o", `"SetEnv" A=` + secret}, {"-o", "ProxyCommand=x --password " + secret}, {"-o", "RemoteCommand=" + secret},
		{"-o", "Ciphers=x", "-o", "IgnoreUnknown=Y", "-o", "Y=" + secret}, {secret}, {"--", secret}, {"-W", secret}, {"-"},
		{"-J", "x", "-oSetEnv=" + secret}, {"-o"},
	} {
		r := whole()
		r.Target.SSH.ExtraArgs = args
		if _, err := Of(id, r); err == nil {
			t.Errorf("%q is kept", args)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error has the secret: %v", args, err)
		}
	}
	for _, proxy := range []string{"http://me:" + secret + "@proxy:1", "http://proxy/?token=" + secret, "http://proxy/" + secret, "http://proxy#" + secret} {
		r := whole()
		r.Target.SSH.ProxyURL = proxy
		if _, err := Of(id, r); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want an error without the secret", proxy, err)
		}
	}
}

// TestHostile: Decode trusts no part of a record that another node has written.
func TestHostile(t *testing.T) {
	s, err := Of(id, whole())
	if err != nil {
		t.Fatal(err)
	}
	good := string(s.Encode())
	replace := func(old, text string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not in %s", old, good)
		}
		return strings.Replace(good, old, text, 1)
	}
	for _, text := range []string{
		"", "{", "[]", "null", `"x"`, "{}", good + "x", good + good, good[:len(good)-1], strings.Repeat(" ", 100_000) + good,
		replace(`"v":1`, `"v":2`), replace(`"v":1`, `"v":"1"`), replace(id, "web1-k3f9q2zd@b"), replace(`"protocol":"ssh"`, `"protocol":"local"`),
		replace(`"protocol":"ssh"`, `"protocol":"serial"`), replace(`"host":"web1"`, `"host":""`), replace(`"host":"web1"`, `"host":"-oX"`),
		replace(`"host":"web1"`, `"host":"we\u001b]b1"`), replace(`"host":"web1"`, `"host":"a\nb"`), replace(`"user":"demo"`, `"user":"-lroot"`),
		replace(`"host":"web1"`, `"host":"`+strings.Repeat("a", 2000)+`"`), replace(`"port":2222`, `"port":65536`), replace(`"port":2222`, `"port":-1`),
		replace(`"cols":100`, `"cols":1000000`), replace(`"rows":30`, `"rows":-1`), replace(`"host_key_policy":"strict"`, `"host_key_policy":"none"`),
		replace(`"method":"password"`, `"method":"none"`), replace(`"auth":{`, `"auth":{"password":"x",`), replace(`"target":{`, `"target":{"local":{"argv":["sh"]},`),
		replace(`"idle_ms":60000`, `"idle_ms":-1`), replace(`"-4C"`, `"-oProxyCommand=sh"`), replace(`"-4C"`, strings.Repeat(`"-4",`, 100)+`"-4"`),
		replace(`socks5://proxy:1080`, `socks5://me:pw@proxy`), replace(`"enter":"crlf"`, `"enter":"x"`), replace(`"line":{`, `"line":{"path":"/dev/sda",`),
	} {
		k, err := Decode(id, []byte(text))
		if err == nil {
			t.Errorf("%.200q is read as %+v", text, k)
			continue
		}
		if term.KindOf(err) != term.IOError || !strings.Contains(err.Error(), "not valid") || len(err.Error()) > 500 ||
			strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%.200q: %v, want a short error that says that it is not valid", text, err)
		}
	}
}

// FuzzDecode: a record that Decode accepts can be opened, and encodes to the same record.
func FuzzDecode(f *testing.F) {
	s, err := Of(id, whole())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(s.Encode()))
	f.Add([]byte(`{"v":1,"id":"` + id + `","target":{"protocol":"telnet","host":"sw1"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := Decode(id, text)
		if err != nil {
			return
		}
		target := k.Target.Open()
		if p := target.Protocol; p != "ssh" && p != "telnet" || target.Serial.Path != "" || len(target.Local.Argv) > 0 || target.Auth.Password != "" {
			t.Errorf("%q opens %+v", text, target)
		}
		again, err := Decode(id, k.Encode())
		if err != nil || !json.Valid(k.Encode()) || !slices.Equal(again.Encode(), k.Encode()) {
			t.Errorf("%q is kept as %s, which is read as %+v, %v", text, k.Encode(), again, err)
		}
	})
}

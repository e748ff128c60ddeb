package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/secret"
	"ptyctl/session"
	"ptyctl/term"
)

// A world is a lab of servers, and an operator with secrets.
type world struct {
	*lab.Namespace
	*lab.Operator
	web1, web2 *lab.Server
	slow       vault // the test lets its value out
	redis      int   // the port of a database

	mu   sync.Mutex // guards the following
	used []term.Event
}

const (
	passphrase  = "a passphrase of a key-1138"
	redisSecret = "redis-word-1138"
	wrongWord   = "not the word-1138"
)

// newWorld starts it: web1 is on record, and web2 is another server, which is on record, too.
func newWorld(t *testing.T) *world {
	t.Helper()
	l := lab.StartNamespace(t)
	l.WriteFile(t, "/etc/sudoers", "440", "alice ALL=(ALL:ALL) ALL\nDefaults !lecture, timestamp_timeout=0\n")
	const pam = "auth required pam_unix.so nodelay\naccount required pam_permit.so\nsession required pam_permit.so\n"
	for _, service := range []string{"sudo", "su"} {
		l.WriteFile(t, "/etc/pam.d/"+service, "644", pam)
	}
	const words = "PasswordAuthentication yes"
	w := &world{
		Namespace: l, web1: l.SSHD(t, lab.ServerConfig{Config: words}),
		web2: l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: words}), redis: startRedis(t),
	}
	w.Operator = l.Operator(t, w.web1, w.web2)
	w.Write("config", fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n", w.web1.Port))
	alice := l.Users["alice"].Password
	w.slow = vault{alice, make(chan struct{}), make(chan error)}
	at := func(change func(*secret.Definition)) func(*secret.Definition) {
		return func(d *secret.Definition) {
			d.Hosts, d.Users = []string{"web1"}, []string{"alice"}
			if change != nil {
				change(d)
			}
		}
	}
	store := secret.NewStore([]secret.Definition{
		named(t, "sudo", alice, at(nil)),
		named(t, "bob", l.Users["bob"].Password, at(nil)),
		named(t, "key", passphrase, at(func(d *secret.Definition) { d.Prompts = prompts(`^Enter passphrase[^:]*: ?$`) })),
		named(t, "redis", redisSecret, at(nil)),
		named(t, "twice", alice, at(func(d *secret.Definition) { d.PerHour = 1 })),
		named(t, "login", alice, at(func(d *secret.Definition) { d.Uses = []term.SecretUse{term.SecretLogin} })),
		named(t, "root", alice, at(func(d *secret.Definition) { d.Users = []string{"root"} })),
		named(t, "elsewhere", alice, at(func(d *secret.Definition) { d.Hosts = []string{"web2"} })),
		named(t, "ssh", wrongWord, at(func(d *secret.Definition) { d.Prompts = prompts(`^bob@127\.0\.0\.1's password: $`) })),
		named(t, "keys", "one\x03two-1138", at(nil)),
		{Name: "slow", Source: w.slow, Hosts: []string{"web1"}},
	}, secret.Options{Journal: func(e term.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.used = append(w.used, e)
		return nil
	}})
	w.Secrets, w.Options.Answerer = store, store
	return w
}

// startRedis starts a database that asks for a password, and returns its port.
func startRedis(t *testing.T) int {
	t.Helper()
	const program = "/usr/bin/redis-check-rdb" // the server; under this name it does something else
	server := t.TempDir() + "/redis-server"
	if err := os.Symlink(program, server); err != nil {
		t.Fatal(err)
	}
	leaktest.Secret(t, redisSecret)
	port := lab.FreePort(t)
	cmd := exec.Command(server, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	cmd.Args = append(cmd.Args, "--requirepass", redisSecret)
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: run scripts/install-test-deps", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return port
}

// TestTerminalsOverSSH has the questions of real programs answered from secrets, and refuses where a condition of the
// operator's does not hold.
func TestTerminalsOverSSH(t *testing.T) {
	w := newWorld(t)
	target := w.web1.WithKey(w.Users["alice"])
	target.Host, target.Port, target.User = "web1", 0, ""
	s := w.MustOpen(target)
	lab.ReadUntil(t, s, 0, `\$ $`)
	lab.TypeUntil(t, s, "PS1='$ '\r", `\n\$ $`)

	types(t, s, "sudo id -u\r", `password for alice: $`, "sudo", `\n0\r\n\$ $`)
	types(t, s, "su bob -c 'id -un'\r", `Password: $`, "bob", `\nbob\r\n\$ $`)
	// A prompt that wraps over rows of the screen is one line.
	types(t, s, "sudo -p '"+strings.Repeat("long ", 60)+"password: ' id -u\r", `long password: $`, "sudo", `\n0\r\n\$ $`)
	w.Run(t, "cd /run/lab/home/alice; ssh-keygen -q -t ed25519 -f k -N '"+passphrase+"'; chown alice k")
	types(t, s, "ssh-keygen -y -f k\r", `passphrase[^:]*: $`, "key", `\nssh-ed25519 AAAA.*\r\n\$ $`)
	types(t, s, fmt.Sprintf("redis-cli -p %d --askpass ping\r", w.redis), `password: $`, "redis", `\nPONG\r\n\$ $`)
	types(t, s, "sudo id -u\r", `password for alice: $`, "twice", `\n0\r\n\$ $`)
	w.mu.Lock()
	if got, want := uses(w.used), "sudo bob sudo key redis twice"; got != want {
		t.Errorf("the uses on record are %q, want %q", got, want)
	}
	w.mu.Unlock()

	const ask = "sudo id -u\r"
	const asks = `password for alice: $`
	refuses(t, s, ask, asks, "twice", "secret.twice.per_hour")
	refuses(t, s, "", "", "login", "secret.login.uses")
	refuses(t, s, "", "", "root", "secret.root.users")
	refuses(t, s, "", "", "elsewhere", "secret.elsewhere.hosts")
	_, err := s.Write(t.Context(), nil, session.WriteOptions{Secret: wrongWord})
	if text := err.Error(); !errors.Is(err, term.NotFound) || strings.Contains(text, wrongWord) {
		t.Errorf("a value in place of a name is answered with %q, want NOT_FOUND without the value", text)
	}
	if _, err := s.Write(t.Context(), nil, session.WriteOptions{Secret: "keys"}); !errors.Is(err, term.AuthFailed) {
		t.Errorf("a value with ctrl_c gives %v, want AUTH_FAILED", err)
	}
	// Something typed there: it may be shown, and the value would follow it.
	lab.TypeUntil(t, s, "\x03", `\n\$ $`)
	lab.TypeUntil(t, s, ask, asks)
	s.Write(t.Context(), []byte("abc"), session.WriteOptions{})
	refuses(t, s, "", "", "sudo", "secret.sudo.echo", `\$ $`)

	refuses(t, s, "\r", `\n\$ $`, "sudo", "secret.sudo.prompts")
	refuses(t, s, `printf '\033[?1049h[sudo] password for alice: '; cat`+"\r", asks, "sudo", "secret.sudo.screen", `\$ $`)
	lab.TypeUntil(t, s, `printf '\033[?1049l'`+"\r", `\$ $`)
	// The line editor of a shell that seems to ask.
	lab.TypeUntil(t, s, "PS1='$ ' TERM=xterm bash --norc\r", `\$ $`)
	refuses(t, s, "PS1='Password: '\r", `Password: $`, "sudo", "secret.sudo.echo")
	lab.TypeUntil(t, s, "exit\r", `\$ $`)
	// Another host's question: by default it gets nothing. An expression of the operator's that permits it does, which
	// the documentation says.
	nested := fmt.Sprintf("ssh -o StrictHostKeyChecking=no -o PubkeyAuthentication=no -p %d bob@127.0.0.1\r", w.web2.Port)
	refuses(t, s, nested, `bob@127\.0\.0\.1's password: $`, "sudo", "secret.sudo.prompts")
	cursor := s.End()
	if _, err := s.Write(t.Context(), nil, session.WriteOptions{Secret: "ssh"}); err != nil {
		t.Errorf("a secret for the question of a nested ssh is refused: %v", err)
	}
	lab.ReadUntil(t, s, cursor, `Permission denied`)
	for _, value := range []string{w.Users["alice"].Password, w.Users["bob"].Password, redisSecret, wrongWord} {
		lab.WantUnseen(t, s, value)
	}
}

// TestSlowVault changes the terminal while a value is looked up: nothing is typed.
func TestSlowVault(t *testing.T) {
	w := newWorld(t)
	target := w.web1.WithKey(w.Users["alice"])
	target.Host, target.Port, target.User = "web1", 0, ""
	task := func(name string) context.Context {
		return term.WithActor(t.Context(), term.Actor{Transport: "stdio", Task: name})
	}
	for _, tt := range []struct {
		name   string
		change func(s *session.Session)
		want   term.Kind
	}{
		{"nothing changes", func(*session.Session) {}, ""},
		{"the caller's lock would expire", func(*session.Session) { time.Sleep(500 * time.Millisecond) }, ""},
		{"the question changes", func(s *session.Session) {
			shown := s.End()
			w.Run(t, "touch ~alice/pin")
			c := s.Read(t.Context(), session.ReadRequest{Cursor: shown, Timeout: lab.Patience})
			if c.Reason != session.ReasonData {
				t.Errorf("no other question has come: %s", c.Reason)
			}
		}, term.Busy},
		{"something is typed", func(s *session.Session) { s.Write(t.Context(), []byte("x"), session.WriteOptions{}) }, term.Busy},
		{"the lock is taken", func(s *session.Session) {
			if _, err := s.Lock(task("other"), time.Minute); err != nil {
				t.Error(err)
			}
		}, term.Locked},
		{"the session ends", func(s *session.Session) { s.Close(t.Context(), session.CloseOptions{Force: true}) }, term.AlreadyClosed},
		{"the session ends, and there is no value", func(s *session.Session) {
			s.Close(t.Context(), session.CloseOptions{Force: true})
		}, term.AlreadyClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := w.MustOpen(target)
			defer s.Close(t.Context(), session.CloseOptions{Force: true})
			line := "stty -echo; printf 'Password: '; read a; echo got=${#a}\r"
			if tt.name == "the question changes" {
				line = "stty -echo; printf 'Password: '; until [ -e ~/pin ]; do sleep 0.05; done; printf '\\nPIN: '; read a; echo got=${#a}\r"
			}
			lab.TypeUntil(t, s, line, `Password: $`)
			if strings.Contains(tt.name, "expire") {
				if _, err := s.Lock(task("mine"), 300*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(task("mine"), lab.Patience)
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := s.Write(ctx, nil, session.WriteOptions{Secret: "slow"})
				done <- err
			}()
			<-w.slow.asked
			tt.change(s)
			sent := s.Info().BytesOut
			var missing error
			if strings.Contains(tt.name, "no value") {
				missing = errors.New("the vault is locked")
			}
			w.slow.door <- missing
			if err := <-done; term.KindOf(err) != tt.want {
				t.Errorf("the write ends with %v, want %q", err, tt.want)
			} else if tt.want != "" && s.Info().BytesOut != sent {
				t.Errorf("%d bytes were typed in spite of the refusal", s.Info().BytesOut-sent)
			}
			if tt.want == "" {
				lab.ReadUntil(t, s, 0, fmt.Sprintf(`got=%d\r\n`, len(w.slow.value)))
			}
		})
	}
}

// TestUnprovenHosts opens sessions on hosts that are not proven to be those that the operator means.
func TestUnprovenHosts(t *testing.T) {
	w := newWorld(t)
	alice := w.Users["alice"]
	for _, tt := range []struct {
		name, rule string
		prepare    func(*term.Target)
	}{
		{"another server under the name", "secret.sudo.hosts", func(to *term.Target) { to.Port = w.web2.Port }},
		{"by its address", "secret.sudo.hosts", func(to *term.Target) { to.Host, to.Port = "127.0.0.1", w.web1.Port }},
		{"a key that was not on record", "secret.sudo.host_key", func(*term.Target) {
			w.Write("known_hosts", w.web2.Known())
			w.Options.HostKeyPolicy, w.Options.HostKeyFloor = "accept_new", "accept_new"
			w.Operator = w.OperatorLike(t, w.Operator)
		}},
	} {
		target := w.web1.WithKey(alice)
		target.Host, target.Port = "web1", 0
		tt.prepare(&target)
		w.TB = t
		s := w.MustOpen(target)
		refuses(t, s, "sudo id -u\r", `password for alice: $`, "sudo", tt.rule, `\$ $`)
		s.Close(t.Context(), session.CloseOptions{Force: true})
	}
	// The same name with another key does not log in at all.
	w.Write("known_hosts", lab.KnownHosts(w.web1.Port, lab.NewKey(t, "ed25519")))
	target := w.web1.WithKey(alice)
	target.Host, target.Port = "web1", 0
	w.Refused(target, term.HostKeyMismatch)
}

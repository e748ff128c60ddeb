package demo

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
)

// A tour is the lab of Tour: some hosts in this process, and the files that reach them.
type tour struct {
	dir     string
	key     ssh.Signer
	config  strings.Builder // ssh_config
	known   strings.Builder // known_hosts
	servers []*sshserver.Server
}

// Tour plays an agent as Run does, at work that takes more than a command: an editor on its screen, a login with a code,
// many hosts, a secret, and the page for people.
func Tour(ctx context.Context, out io.Writer, version string) error {
	if runtime.GOOS == "windows" {
		return errors.New("demo: the tour's hosts need a /bin/sh, which this system has not; run `ptyctl demo` without --tour")
	}
	t := &tour{}
	defer t.close()
	var err error
	if t.dir, err = os.MkdirTemp("", "ptyctl-tour-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(t.dir) }()
	code, password := rand.Text()[:6], rand.Text()
	if err := t.build(code, password); err != nil {
		return fmt.Errorf("demo: the hosts did not start: %w", err)
	}
	fmt.Fprintf(out, "%d SSH servers run in this process. ptyctl is started as an MCP client would start it.\n\n", len(t.servers))
	c, err := startSelf(ctx, t.path("ptyctl.toml"), version)
	if err != nil {
		return err
	}
	d := &demonstration{ctx: ctx, out: out, client: c, secret: password}
	d.edit()
	d.logIn(code)
	d.compare()
	d.useSecret()
	d.watch(t.path("control.sock"))
	return d.end()
}

func (t *tour) path(name string) string { return filepath.Join(t.dir, name) }

// build starts the hosts and writes the files.
func (t *tour) build(code, password string) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	if t.key, err = ssh.NewSignerFromKey(private); err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return err
	}
	keys := []ssh.PublicKey{t.key.PublicKey()}
	// The editor must not meet the user's settings, nor write into the user's folder.
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "PS1=$ "}
	shell := sshserver.Config{Shell: "/bin/sh", Dir: t.dir, AuthorizedKeys: keys, Env: env}
	err = t.host("editor", shell)
	for i, release := range []string{"12", "12", "11"} {
		web := shell
		web.Env = append(slices.Clone(env), "RELEASE="+release)
		err = errors.Join(err, t.host(fmt.Sprintf("web%d", i+1), web))
	}
	err = errors.Join(err,
		t.host("gate", sshserver.Config{Shell: "/bin/sh", KeyboardInteractive: asks("Verification code: ", code)}),
		t.host("vault", sshserver.Config{Shell: "/bin/sh", Dir: t.dir, Passwords: map[string]string{"demo": password}}))
	toml := fmt.Sprintf(`[server]
toolsets = ["core", "fleet"]
[server.control]
control_socket_path = %q
[ssh]
config_path = %q
known_hosts_path = %q
[secret.vault-login]
source = %q
hosts = ["127.0.0.1"]
`, t.path("control.sock"), t.path("ssh_config"), t.path("known_hosts"), "file:"+t.path("password"))
	for name, text := range map[string]string{
		"id": string(pem.EncodeToMemory(block)), "ssh_config": t.config.String(), "known_hosts": t.known.String(),
		"password": password + "\n", "ptyctl.toml": toml,
	} {
		err = errors.Join(err, os.WriteFile(t.path(name), []byte(text), 0o600))
	}
	return err
}

// host starts a server, and makes it known by a name.
func (t *tour) host(name string, c sshserver.Config) error {
	s, err := sshserver.Listen(c)
	if err != nil {
		return err
	}
	t.servers = append(t.servers, s)
	fmt.Fprintf(&t.config, "Host %s\n  HostName 127.0.0.1\n  Port %d\n  User demo\n  IdentityFile %q\n  IdentitiesOnly yes\n", name, s.Port(),
		strings.ReplaceAll(t.path("id"), "%", "%%")) // a token of ssh_config(5)
	t.known.WriteString(s.KnownHostsLine() + "\n")
	return nil
}

// asks is a login with one question.
func asks(question, answer string) func(string, ssh.KeyboardInteractiveChallenge) error {
	return func(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
		answers, err := challenge("", "", []string{question}, []bool{false})
		if err == nil && (len(answers) != 1 || answers[0] != answer) {
			err = errors.New("wrong code")
		}
		return err
	}
}

func (t *tour) close() {
	for _, s := range t.servers {
		_ = s.Close()
	}
}

// edit uses a full-screen program.
func (d *demonstration) edit() {
	editor, err := exec.LookPath("vim")
	if err != nil {
		if editor, err = exec.LookPath("vi"); err != nil {
			fmt.Fprint(d.out, "(There is no vim here; its step is left out.)\n\n")
			return
		}
	}
	d.say("Use an editor, and see its screen as a person would.")
	r := d.call("ptyctl_session", `{"action":"open","protocol":"ssh","host":"editor","until_prompt":true}`)
	d.session = r.SessionID
	r = d.call("ptyctl_session_io", fmt.Sprintf(`{"action":"write","session_id":"$S","data":"TERM=xterm %s hello.txt\r",`+
		`"format":"screen","until_screen":"hello.txt","timeout_ms":15000}`, editor))
	d.want(strings.Contains(r.text, "hello.txt"), "the editor on its screen")
	r = d.call("ptyctl_session_io", `{"action":"write","session_id":"$S","data":"iWritten by an agent.","format":"screen",`+
		`"until_screen":"by an agent\\.","timeout_ms":15000}`)
	d.want(strings.Contains(r.text, "Written by an agent."), "the text on the screen")
	d.call("ptyctl_session_io", `{"action":"write","session_id":"$S","steps":[{"key":"esc"},{"data":":wq\r"}],"until_prompt":true,"timeout_ms":15000}`)
	r = d.call("ptyctl_session_exec", `{"host":"editor","cmd":"cat hello.txt"}`)
	d.want(r.Stdout == "Written by an agent.\n", "the file that it has written")
	d.call("ptyctl_session", `{"action":"close","session_id":"$S"}`)
}

// logIn answers a question of a login.
func (d *demonstration) logIn(code string) {
	d.say("Log in to a host that asks for a code: open returns the question, and the answer is typed.")
	r := d.call("ptyctl_session", `{"action":"open","protocol":"ssh","host":"gate"}`)
	d.want(r.State == "authenticating" && strings.Contains(r.text, "Verification code"), "the question")
	d.session = r.SessionID
	r = d.call("ptyctl_session_io", fmt.Sprintf(`{"action":"write","session_id":"$S","data":"%s\r","sensitive":true,"until_prompt":true,"timeout_ms":15000}`, code))
	d.want(r.State == "", "an open session")
	d.call("ptyctl_session", `{"action":"close","session_id":"$S"}`)
}

// compare finds the host that differs.
func (d *demonstration) compare() {
	d.say("Ask many hosts in one call: equal answers are one group, so that the odd host is seen.")
	r := d.call("ptyctl_fleet", `{"action":"run","hosts":["web[1-3]"],"cmd":"echo running release $RELEASE"}`)
	d.want(strings.Contains(r.text, `{"n":2,"stdout":"running release 12"}`) &&
		strings.Contains(r.text, `{"hosts":"web3","stdout":"running release 11"}`), "a group of two, and web3 by its name")
}

// useSecret logs in with a value that neither the calls nor the answers have.
func (d *demonstration) useSecret() {
	d.say("Use a secret by its name. The value comes from the operator's file; what a host prints of it is masked.")
	r := d.call("ptyctl_session", `{"action":"open","protocol":"ssh","host":"vault","auth":{"method":"password","secret":"vault-login"},"until_prompt":true}`)
	d.want(r.SessionID != "" && r.State == "", "a login with the password, which is in no call")
	d.session = r.SessionID
	r = d.call("ptyctl_session_exec", `{"session_id":"$S","cmd":"echo the host prints it: $(cat password)"}`)
	d.want(strings.Contains(r.Stdout, "the host prints it: ********"), "a mask in place of the value")
}

// watch shows where a person sees all this.
func (d *demonstration) watch(socket string) {
	d.say("Watch. People see every terminal in a browser, step in, and answer questions:")
	if d.err != nil {
		return
	}
	if d.err = d.showPage(socket); d.err != nil {
		return
	}
	fmt.Fprintln(d.out, "      as expected: the page is served, until this tour ends")
	d.call("ptyctl_session", `{"action":"close","session_id":"$S"}`)
}

// showPage runs ptyctl watch, and loads the page that it names.
func (d *demonstration) showPage(socket string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "watch", "--print-url", "--socket", socket)
	cmd.Stderr = io.Discard
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	line, err := firstLine(out)
	if err != nil {
		return fmt.Errorf("ptyctl watch printed no address: %w", err)
	}
	fmt.Fprintf(d.out, "   $ ptyctl watch --print-url\n   %s\n", line)
	address, _, _ := strings.Cut(line, "#")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the page answers %s", res.Status)
	}
	return nil
}

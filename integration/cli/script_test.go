package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestScripts runs the built program as a person does. Each file of testdata/script is one story, in the language of
// https://pkg.go.dev/github.com/rogpeppe/go-internal/testscript, plus the commands in scriptCommands.
//
//	go test -run 'TestScripts/config' ./integration/cli
//
// A story begins with ptyctl in $PATH, in its own folder $WORK, and without an agent. In its home folder $HOME,
// ptyctl.toml names $HOME/ssh_config and $HOME/known_hosts. $REPO is the root of the sources.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		Setup:              setupScript,
		Cmds:               scriptCommands,
		RequireUniqueNames: true,
	})
}

// scriptCommands are the commands of scripts besides testscript's own. None can be negated.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"sshd":   scriptSSHD,
	"server": scriptServer,
	"expand": scriptExpand,
}

type scriptKey string

const scriptTB scriptKey = "tb"

func setupScript(env *testscript.Env) error {
	tb := env.T().(testing.TB)
	env.Values[scriptTB] = tb
	home := filepath.Join(env.WorkDir, "home")
	config := filepath.Join(home, ".config", "ptyctl")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return err
	}
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	env.Setenv("REPO", repo)
	env.Setenv("HOME", home)
	env.Setenv("XDG_RUNTIME_DIR", lab.RuntimeDir(tb))
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	env.Setenv("PATH", filepath.Dir(lab.Binary)+":/usr/bin:/bin")
	// The files are named because, as for ssh(1), the default ones lie in the home folder that the password database
	// names, whatever $HOME says.
	toml := fmt.Sprintf("[ssh]\nknown_hosts_path = '%s/known_hosts'\nconfig_path = '%[1]s/ssh_config'\n", home)
	for name, text := range map[string]string{
		filepath.Join(config, "ptyctl.toml"): toml,
		filepath.Join(home, "ssh_config"):    "",
		filepath.Join(home, "known_hosts"):   "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// scriptSSHD starts OpenSSH's server under a name, with lines for its sshd_config: sshd NAME [LINE...]. ssh_config
// gets a block "Host NAME" that reaches it, and known_hosts its key. The script knows its $NAME_port, the $NAME_user
// that it lets in, the file $NAME_identity with that user's key, and the fingerprints $NAME_key and $NAME_hostkey.
func scriptSSHD(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sshd NAME [LINE...]")
	}
	tb, name := ts.Value(scriptTB).(testing.TB), args[0]
	s := lab.StartSSHD(tb, args[1:]...)
	ts.Setenv(name+"_port", fmt.Sprint(s.Port))
	ts.Setenv(name+"_user", s.User)
	ts.Setenv(name+"_identity", s.Identity)
	ts.Setenv(name+"_key", s.UserKey.Fingerprint())
	ts.Setenv(name+"_hostkey", s.HostKey.Fingerprint())
	scriptAppend(
		ts,
		"ssh_config",
		fmt.Sprintf(
			"Host %s\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n",
			name,
			s.Port,
			s.User,
			s.Identity,
		),
	)
	scriptAppend(ts, "known_hosts", s.KnownHosts()+"\n")
}

// scriptServer starts a server in the test's own process, that takes alice's password "the right password-1138" or
// misbehaves: server NAME [silent|close]. ssh_config, known_hosts and $NAME_port are as for sshd.
func scriptServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: server NAME [silent|close]")
	}
	config := sshserver.Config{Passwords: map[string]string{"alice": "the right password-1138"}, Shell: "/bin/sh"}
	if len(args) == 2 {
		config.Faults.SilentAfterAccept = args[1] == "silent"
		config.Faults.CloseAfterAccept = args[1] == "close"
	}
	tb, name := ts.Value(scriptTB).(testing.TB), args[0]
	s := lab.ServeSSH(tb, config)
	ts.Setenv(name+"_port", fmt.Sprint(s.Port()))
	scriptAppend(
		ts,
		"ssh_config",
		fmt.Sprintf("Host %s\n  HostName 127.0.0.1\n  Port %d\n  User alice\n  IdentityFile none\n", name, s.Port()),
	)
	scriptAppend(ts, "known_hosts", s.KnownHostsLine()+"\n")
}

// scriptExpand replaces $NAME and ${NAME} in files by the script's variables: expand FILE...
func scriptExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// scriptAppend appends text to a file of the script's home folder.
func scriptAppend(ts *testscript.TestScript, name, text string) {
	path := filepath.Join(ts.Getenv("HOME"), name)
	old, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, []byte(strings.TrimLeft(string(old)+text, "\n")), 0o600))
}

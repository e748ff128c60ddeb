package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
)

// A Planting is a home with sixty secrets, which logins at the hosts web1 and web2, a terminal here and commands here
// may get. web1 accepts a login that gives all secrets. web2 repeats the answers, asks a person now and then, and
// refuses every login.
type Planting struct {
	*Home
	Values []string
	All    string // a file with all of their forms
	Reader string // a program that reads a secret, and shows it in other forms
	Proc   *ProcTexts
	tb     testing.TB
	seen   string // a file with the text that helpers and the program have seen in /proc
}

// Plant makes it, with more lines for the configuration. Of each three secrets one is in a file, one is printed by a
// helper, and one is a variable of ptyctl's. ptyctl may write core files as large as it likes.
func Plant(tb testing.TB, lines ...string) *Planting {
	tb.Helper()
	dir := tb.TempDir()
	p := &Planting{tb: tb, Values: PlantedValues(), Proc: new(ProcTexts), seen: filepath.Join(dir, "seen")}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			tb.Fatal(err)
		}
		return path
	}
	p.All = write("all", FormsText(p.Values...))
	tell := `for p in $$ $PPID; do cat /proc/$p/cmdline /proc/$p/environ /proc/$p/comm; echo; done >>` + p.seen + "\n"
	helper := write("helper", "#!/bin/sh\nread -r v <\"$1\"\nprintf '%s\\n' \"$v\"\n"+tell+"echo helper core $(ulimit -c) >>"+p.seen)
	p.Reader = write("reader", "#!/bin/bash\nIFS= read -r v\n"+tell+"echo \"got=${#v} <$v> <${v@Q}>\"\n"+
		"printf %s \"$v\" | base64; printf %s \"$v\" | od -An -v -tx1\ncd \"$v\"")
	var env []string
	for i, v := range p.Values {
		path := write(fmt.Sprint(i), v+"\n")
		source := "file:" + path
		switch i % 3 {
		case 1:
			source = "exec:" + helper + " " + path
		case 2:
			source = fmt.Sprintf("env:PLANTED_%d", i)
			env = append(env, fmt.Sprintf("PLANTED_%d=%s", i, v))
		default:
			_ = os.Chmod(path, 0o600)
		}
		lines = append(lines, fmt.Sprintf("[secret.q%d]", i), "source = '"+source+"'", "hosts = ['web*']", "local = true",
			fmt.Sprintf("prompts = ['^[QL]%d: $']", i), "auto = true", "commands = ['"+p.Reader+"']")
	}
	p.Home = NewHome(tb, lines...)
	p.Env = append(append(p.Env, "GOTRACEBACK=crash"), env...)
	p.Wrap = []string{"/bin/sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh"}
	config := ""
	for name, repeat := range map[string]bool{"web1": false, "web2": true} {
		server := ServeSSH(tb, sshserver.Config{MaxAuthTries: 1, KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
			return p.login(ask, repeat)
		}})
		config += fmt.Sprintf("Host %s\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n\tIdentityAgent none\n\tIdentityFile none\n",
			name, server.Port())
		p.Trust(tb, server.KnownHostsLine())
	}
	p.Write(tb, p.SSHConfig, config)
	return p
}

// login is the server's part of a login.
func (p *Planting) login(ask ssh.KeyboardInteractiveChallenge, repeat bool) error {
	for i, v := range p.Values {
		answers, err := ask("", "", []string{fmt.Sprintf("Q%d: ", i)}, []bool{false})
		if err != nil || len(answers) != 1 || answers[0] != v {
			return fmt.Errorf("answer %d is wrong, or %w", i, err)
		}
		if i%20 == 19 {
			p.Proc.Look(p.tb)
		}
		if repeat && i%20 == 19 { // no secret answers this
			said := FormsText(p.Values[i-9 : i+1]...)
			if _, err := ask("Said "+v, said, []string{"You have said " + v + "? "}, []bool{true}); err != nil {
				return err
			}
		}
	}
	if !repeat {
		return nil
	}
	_, _ = ask("Wrong: "+p.Values[7], FormsText(p.Values[8:12]...), nil, nil)
	return errors.New("it refuses all")
}

// WantProcHidden fails the test if /proc has shown a value.
func (p *Planting) WantProcHidden(tb testing.TB) {
	tb.Helper()
	seen := string(ReadFile(tb, p.seen))
	p.Proc.Add(p.seen, seen)
	if !strings.Contains(seen, "helper core 0\n") || strings.Contains(seen, "helper core unlimited") {
		tb.Error("a helper may write a core file, which would have the value; want the limit 0")
	}
	if !p.Proc.Has("mcp\x00--transport") || !p.Proc.Has(p.Reader) || !p.Proc.Has("PTYCTL_AUDIT_PATH=") {
		tb.Error("the contents of /proc lack the arguments and the environment of ptyctl, or those of a program it has started")
	}
	p.Proc.WantHidden(tb, p.Values...)
}

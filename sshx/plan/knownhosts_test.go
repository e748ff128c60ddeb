package plan_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestKnownHostsOfTheOptions: the file that the operator names in Options decides where ssh_config names another one,
// for the target and for a jump host, and new keys are written to it alone.
func TestKnownHostsOfTheOptions(t *testing.T) {
	for _, c := range []struct {
		name     string
		ours     string // the key in the file of Options: "right", "other", or empty for none
		theirs   string // the same for the file that ssh_config names
		policy   string
		extra    []string
		want     term.Kind
		recorded bool
	}{
		{name: "ours knows", ours: "right", theirs: "other"},
		{name: "ours contradicts", ours: "other", theirs: "right", want: term.HostKeyMismatch},
		{name: "theirs knows", theirs: "right", want: term.HostKeyUnknown},
		{name: "a new host", theirs: "right", policy: "accept_new", recorded: true},
		{name: "a caller's contradicts", ours: "right", extra: []string{"-o", "UserKnownHostsFile=%theirs"}, theirs: "other", want: term.HostKeyMismatch},
		{name: "a caller's admits nothing that ours contradicts", ours: "other", extra: []string{"-o", "UserKnownHostsFile=%theirs"}, theirs: "right", want: term.HostKeyMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				srv := l.Unrecorded(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
				other, _ := sshtest.NewKey(t)
				line := func(key string) string {
					switch key {
					case "right":
						return knownhosts.Line([]string{sshtest.Host1}, srv.HostKey()) + "\n"
					case "other":
						return knownhosts.Line([]string{sshtest.Host1}, other.PublicKey()) + "\n"
					}
					return ""
				}
				l.Opts.KnownHostsPath = l.Write("ours", line(c.ours))
				theirs := l.Write("theirs", line(c.theirs))
				if len(c.extra) == 0 {
					l.Config("UserKnownHostsFile " + theirs + "\n")
				}
				target := sshtest.To(sshtest.Host1, "pass-1138")
				target.SSH.HostKeyPolicy = c.policy
				for _, arg := range c.extra {
					target.SSH.ExtraArgs = append(target.SSH.ExtraArgs, strings.ReplaceAll(arg, "%theirs", theirs))
				}
				if c.want != "" {
					l.Fails(target, sshtest.NoPrompter(t), c.want)
					sshtest.Untouched(t, srv)
				} else {
					l.Client(target, sshtest.NoPrompter(t))
				}
				for file, want := range map[string]string{"ours": line(c.ours), "theirs": line(c.theirs)} {
					if c.recorded && file == "ours" {
						want = line("right")
					}
					if got, err := os.ReadFile(l.Path(file)); err != nil || string(got) != want {
						t.Errorf("%s = %q, %v, want %q", file, got, err, want)
					}
				}
			})
		})
	}
}

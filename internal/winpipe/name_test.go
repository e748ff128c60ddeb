package winpipe

import "testing"

func TestIsLocal(t *testing.T) {
	for path, want := range map[string]bool{
		`\\.\pipe\openssh-ssh-agent`: true, `//./pipe/openssh-ssh-agent`: true, `\\.\PIPE\pageant.me.00`: true,
		`\\.\pipe\`: false, `\\server\pipe\openssh-ssh-agent`: false, `\\.\pipe\..\x`: false, `//./pipe/a/b`: false,
		`C:\agent.sock`: false, `/tmp/agent`: false, ``: false, `\\?\pipe\x`: false,
	} {
		if got := IsLocal(path); got != want {
			t.Errorf("IsLocal(%q) = %t, want %t", path, got, want)
		}
	}
}

package doctor

import (
	"fmt"
	"strings"
	"testing"
)

// No advice for Windows may name a thing that Windows does not have.
func TestWordsOfWindows(t *testing.T) {
	w := wordsOf("windows")
	all := fmt.Sprintf("%+v", []string{w.startAgent, w.noAgent, w.installKey, w.recordHost, w.ownFolder, w.otherFolder})
	for _, foreign := range []string{"chmod", "systemctl", "eval", "XDG_", "ssh-copy-id", "SSH_AUTH_SOCK", "&&", ">>", "mode 0"} {
		if strings.Contains(all, foreign) {
			t.Errorf("the words of Windows have %q: %s", foreign, all)
		}
	}
	for goos, want := range map[string]string{
		"linux":   `ssh-keygen -R '[web1]:2222' -f '/home/me/my hosts'`,
		"windows": `ssh-keygen -R "[web1]:2222" -f "C:\Users\Alice Smith\.ssh\known_hosts"`,
	} {
		file := map[string]string{"linux": "/home/me/my hosts", "windows": `C:\Users\Alice Smith\.ssh\known_hosts`}[goos]
		if got := wordsOf(goos).show([]string{"ssh-keygen", "-R", "[web1]:2222", "-f", file}); got != want {
			t.Errorf("on %s: %s, want %s", goos, got, want)
		}
	}
}

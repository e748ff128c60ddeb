package ssh

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestLongBanner checks that a banner that is cut says how much more the server has sent, also where that is more than
// ptyctl keeps.
func TestLongBanner(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 8 << 10, 10_000, 64 << 10, 200_000} {
		file := filepath.Join(t.TempDir(), "banner")
		if err := os.WriteFile(file, []byte(strings.Repeat("b", size-1)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := lab.StartSSHD(t, "Banner "+file)
		c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
		r := c.Call(t, lab.ToolSession, lab.OpenSSH, strconv.Itoa(s.Port), s.User)
		shown, more := "", 0
		if m := regexp.MustCompile(`"server_banner":"(b+)(?:\\n|\[\.\.\. (\d+) bytes more\])"`).FindStringSubmatch(r.Text); m == nil {
			t.Fatalf("open with a banner of %d bytes = %.200s, want the banner", size, r.Text)
		} else if shown = m[1]; m[2] == "" {
			shown += "\n"
		} else {
			more, _ = strconv.Atoi(m[2])
		}
		if len(shown)+more != size || len(shown) > 8<<10 {
			t.Errorf("of a banner of %d bytes %d are shown and %d are more, want %[1]d in all", size, len(shown), more)
		}
	}
}

//go:build linux && long

package release

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// inRoot is the script of the test in a Debian root: it installs the package, compares the new files with the package's
// list, and removes it. The version of Debian's package has a tilde, which sorts before the release.
const inRoot = `set -eu
all() { find / \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log \) -prune -o -print | sort; }
all >/tmp/before
dpkg --install /tmp/ptyctl.deb
[ "$(dpkg-query --show --showformat='${Version} ${Status}' ptyctl)" = '0.0.0~rc.1 install ok installed' ]
dpkg --verify ptyctl
all >/tmp/installed
dpkg --listfiles ptyctl | sort >/tmp/listed
comm -13 /tmp/before /tmp/installed >/tmp/new
if comm -23 /tmp/new /tmp/listed | grep .; then echo 'the installation has made files that the package does not list'; exit 1; fi
[ "$(stat -c '%a %U %G' /usr/bin/ptyctl)" = '755 root root' ]
[ "$(/usr/bin/ptyctl version --short)" = v0.0.0-rc.1 ]
grep -q '^ExecStart=/usr/bin/ptyctl ' /usr/lib/systemd/user/ptyctl.service
[ -s /usr/share/doc/ptyctl/copyright ]
gzip -t /usr/share/man/man1/ptyctl.1.gz
if ls /var/lib/dpkg/info/ptyctl.*inst /var/lib/dpkg/info/ptyctl.*rm 2>/dev/null; then echo 'the package has scripts'; exit 1; fi
dpkg --purge ptyctl
all >/tmp/after
diff /tmp/before /tmp/after
echo 'the package was installed and removed'
`

// installDeb installs the deb in a Debian root and removes it. Everything happens in a hook of mmdebstrap, which needs no
// root where it may make user namespaces.
func installDeb(t *testing.T, dir string) {
	deb := filepath.Join(dir, "ptyctl-"+number+"-linux-"+runtime.GOARCH+".deb")
	for name, want := range map[string]string{"Package": "ptyctl", "Version": "0.0.0~rc.1", "Architecture": runtime.GOARCH, "Homepage": url} {
		if got := strings.TrimSpace(runOK(t, "", "dpkg-deb", "--field", deb, name)); got != want {
			t.Errorf("the deb's %s is %q, want %q", name, got, want)
		}
	}
	if got := strings.TrimSpace(runOK(t, "", "dpkg-deb", "--field", filepath.Join(dir, "ptyctl-"+number+"-linux-arm.deb"), "Architecture")); got != "armhf" {
		t.Errorf("the deb for arm is for %q, want armhf", got)
	}
	suite, source := aptSource(t)
	cmd := exec.Command("mmdebstrap", "--quiet", "--variant=essential", "--format=null",
		"--customize-hook=upload "+deb+" /tmp/ptyctl.deb", "--customize-hook=chroot \"$1\" sh -c '"+strings.ReplaceAll(inRoot, "'", `'\''`)+"'",
		suite, "/dev/null", source)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the package was installed and removed") {
		t.Errorf("mmdebstrap: %v\n%s", err, out)
	}
}

// aptSource returns the release of this system and the line of a source that apt has for it.
func aptSource(t *testing.T) (suite, line string) {
	t.Helper()
	suite = strings.TrimSpace(runOK(t, "", "sh", "-c", `. /etc/os-release; echo "$VERSION_CODENAME"`))
	targets := runOK(t, "", "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
	for target := range strings.Lines(targets) {
		if f := strings.Fields(target); len(f) == 3 && f[1] == suite && f[2] == "main" {
			return suite, "deb " + f[0] + " " + suite + " main"
		}
	}
	t.Fatalf("apt has no source of %s main; it has\n%s", suite, targets)
	return "", ""
}

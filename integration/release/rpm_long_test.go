//go:build linux && long

package release

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// installRPM installs the rpm in a folder and removes it.
func installRPM(t *testing.T, dir string) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	file := filepath.Join(dir, "ptyctl-"+number+"-linux-"+runtime.GOARCH+".rpm")
	root := t.TempDir()
	rpm := func(args ...string) string {
		t.Helper()
		name, words := "rpm", append([]string{"--root", root}, args...)
		if os.Geteuid() != 0 { // rpm enters the folder by chroot
			name, words = "unshare", append([]string{"--map-root-user", "rpm"}, words...)
		}
		return runOK(t, "", name, words...)
	}
	rpm("--initdb")
	if got, want := rpm("-qp", "--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE} %{BUILDHOST}", file), "ptyctl 0.0.0~rc.1 "+arch+" MIT localhost"; got != want {
		t.Errorf("the rpm is %q, want %q", got, want)
	}
	if got := rpm("-qp", "--scripts", "--triggers", file); got != "" {
		t.Errorf("the rpm has scripts:\n%s", got)
	}
	rpm("--checksig", "--nosignature", file)
	rpm("--install", file)
	rpm("--verify", "ptyctl")
	// The root now has the files that the package lists, and the folders above them.
	listed := make(map[string]bool)
	for path := range strings.FieldsSeq(rpm("-ql", "ptyctl")) {
		listed[path] = true
	}
	for path := range filesBelow(t, root) {
		if !listed[path] {
			t.Errorf("the installation has made %s, which the package does not list", path)
		}
	}
	program := filepath.Join(root, "usr", "bin", "ptyctl")
	if got := runOK(t, "", program, "version", "--short"); got != "v"+number+"\n" {
		t.Errorf("the program says %q", got)
	}
	if info, err := os.Stat(program); err != nil || info.Mode() != 0o755 {
		t.Errorf("the program is %v (%v), want mode 755", info, err)
	}
	rpm("--erase", "ptyctl")
	for path := range filesBelow(t, root) {
		t.Errorf("the removal has left %s", path)
	}
	for _, folder := range []string{"usr/share/doc/ptyctl", "usr/share/licenses/ptyctl"} {
		if _, err := os.Stat(filepath.Join(root, folder)); err == nil {
			t.Errorf("the removal has left the folder /%s", folder)
		}
	}
}

// filesBelow returns the files in a root that are not the database of rpm.
func filesBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root)
		if err == nil && !d.IsDir() && !strings.Contains(name, "/rpm/") && !strings.Contains(name, "/.rpmdb/") {
			found[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

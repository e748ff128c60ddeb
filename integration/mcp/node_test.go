package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ptyctl/internal/lab"
)

// A nodePackages is a folder into which scripts/install-node-packages has installed the packages of the lock file.
type nodePackages string

// installedNode finds the packages.
func installedNode(tb testing.TB) nodePackages {
	tb.Helper()
	lock, err := os.ReadFile(filepath.Join("node", "package-lock.json"))
	if err != nil {
		tb.Fatal(err)
	}
	return nodePackages(lab.Unpacked(tb, "node-"+sha256Of(lock)[:16], "node_modules"))
}

// sha256Of returns the output of sha256sum(1).
func sha256Of(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// command runs the program that a package brings (the scripts of package.json's "bin"), with the packages' own Node.js.
func (n nodePackages) command(tb testing.TB, program string, args ...string) *exec.Cmd {
	tb.Helper()
	script, err := filepath.EvalSymlinks(filepath.Join(string(n), ".bin", program))
	if err != nil {
		tb.Fatal(err)
	}
	return n.run(tb, script, args...)
}

// run runs a script with the packages' own Node.js, and with nothing of the tester's environment.
func (n nodePackages) run(tb testing.TB, script string, args ...string) *exec.Cmd {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(string(n), "node-linux-*", "bin", "node"))
	if err != nil || len(found) != 1 {
		tb.Fatalf("the Node.js packages hold %d programs node (%v); run scripts/install-test-deps", len(found), err)
	}
	cmd := exec.Command(found[0], append([]string{script}, args...)...)
	dir := tb.TempDir()
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + filepath.Dir(found[0]) + ":/usr/bin:/bin", "LANG=C.UTF-8", "NO_COLOR=1"}
	return cmd
}

// script copies a file of the folder node to where it finds the packages, as Node.js looks for them beside the script.
func (n nodePackages) script(tb testing.TB, name string) (path string) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("node", name))
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Symlink(string(n), filepath.Join(dir, "node_modules")); err != nil {
		tb.Fatal(err)
	}
	return path
}

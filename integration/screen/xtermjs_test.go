package screen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestXtermJS draws the recordings in xterm.js, the emulator of VS Code and many web pages.
func TestXtermJS(t *testing.T) {
	compare(t, inXtermJS, func(ours, theirs string) bool { return ours == theirs }, nil)
}

// inXtermJS feeds each recording whole: xterm.js itself loses characters that are cut behind a byte 0x80.
func inXtermJS(t *testing.T, cols, rows int, all []recording) [][]string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join("node", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	modules := lab.Unpacked(t, "node-"+hex.EncodeToString(sum[:])[:16], "node_modules")
	script, err := os.ReadFile(filepath.Join("node", "screens.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // Node.js looks for packages beside the script
	if err := os.WriteFile(filepath.Join(dir, "screens.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	order := struct {
		Cols, Rows int
		Outputs    [][]byte
	}{Cols: cols, Rows: rows}
	for _, r := range all {
		order.Outputs = append(order.Outputs, r.raw)
	}
	in, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "screens.mjs")
	cmd.Dir, cmd.Stdin, cmd.Env = dir, bytes.NewReader(in), []string{"HOME=" + dir, "PATH=/usr/bin:/bin"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("xterm.js: %v\n%s", err, stderr.String())
	}
	var screens [][]string
	if err := json.Unmarshal(out, &screens); err != nil || len(screens) != len(all) {
		t.Fatalf("xterm.js has drawn %d screens, want %d (%v)", len(screens), len(all), err)
	}
	return screens
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRename renames a copy of this module, checks its types and those of the module cluster, and tests some packages. It
// leaves it to PTYCTL_LONG to link, vet and test all.
func TestRename(t *testing.T) {
	const renamed = "example.org/team/ptyctl"
	top := filepath.Join("..", "..")
	files, err := output(top, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(top, name))
		if os.IsNotExist(err) { // removed, and not yet committed
			continue
		}
		info, err2 := os.Lstat(filepath.Join(top, name))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		to := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	// What is tested is compiled anew for the new paths, and run for a moment: the compiler does not optimize it, and the
	// linker leaves out what a debugger reads.
	env := append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" '-gcflags="+renamed+"/...=-N -l -dwarf=false' '-ldflags=-s -w'")
	run := func(program string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = folder, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
	}
	run("git", "init", "-q")
	run("git", "add", "-A")
	if n, err := rename(folder, renamed); err != nil || n < 1000 {
		t.Fatalf("%d files changed, %v; want a thousand and more", n, err)
	}
	if out, err := exec.Command("grep", "-rlE", `"ptyctl/(session|devlock|cluster/lease)"`, folder, "--include=*.go", "--exclude-dir=renamemodule").CombinedOutput(); err == nil {
		t.Errorf("the old path is left in %s", out)
	}
	if os.Getenv("PTYCTL_LONG") == "" {
		platform := runtime.GOOS + "/" + runtime.GOARCH
		run("go", "run", "./scripts/typecheck", platform, "--", "./...")
		run("go", "-C", "cluster", "run", "../scripts/typecheck", platform, "--", "./...")
		run("go", "test", "-vet=off", ".", "./term", "./session/keys")
		return
	}
	env = os.Environ()
	run("go", "build", "./cmd/...", "./examples/...")
	run("go", "-C", "cluster", "build", "./...")
	run("go", "vet", "./...")
	run("go", "test", "-vet=off", "-timeout", "2h", "./...")
}

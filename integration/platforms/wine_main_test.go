//go:build platforms && linux

package platforms

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// The programs for Windows, and their Wine.
var wine struct {
	dir     string // of all that follows
	program string // ptyctl.exe
	starter string // starter.exe
	wrapper string // starts a program under Wine, with paths of the lab made paths of Windows
	env     []string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ptyctl-platforms-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	end, err := startWine(dir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v; run PTYCTL_LONG=1 scripts/install-test-deps\n", err)
		os.Exit(1)
	}
	code := lab.Main(m, nil)
	end()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// startWine makes a prefix for the tests, and the programs. One process of the prefix stays until end, so that the
// services of Wine begin with it, and not with a program from which a test reads all output.
func startWine(dir string) (end func(), err error) {
	wine.dir = dir
	wine.program, wine.starter = filepath.Join(dir, "ptyctl.exe"), filepath.Join(dir, "starter.exe")
	wine.wrapper = filepath.Join(dir, "under-wine")
	prefix := filepath.Join(dir, "prefix")
	wine.env = []string{"WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEARCH=win64", "DISPLAY="}
	build := func(out, pkg string) []string {
		return []string{"go", "build", "-trimpath", "-buildvcs=false", "-o", out, pkg}
	}
	const dll = "bcryptprimitives.dll"
	for _, args := range [][]string{
		build(wine.program, "ptyctl/cmd/ptyctl"),
		build(wine.starter, "./testdata/starter"),
		{"x86_64-w64-mingw32-gcc", "-shared", "-o", filepath.Join(dir, dll), "testdata/bcryptprimitives.c", "-ladvapi32"},
		{"wine", "wineboot", "--init"},
		{"cp", filepath.Join(dir, dll), filepath.Join(prefix, "drive_c/windows/system32", dll)},
	} {
		if err := runFor(args); err != nil {
			return nil, err
		}
	}
	// The lab names files as Linux does. The variable of the audit log comes from it, and must be absolute for Windows.
	script := "#!/bin/sh\n[ -z \"$PTYCTL_AUDIT_PATH\" ] || export PTYCTL_AUDIT_PATH=\"Z:$PTYCTL_AUDIT_PATH\"\nexec wine \"$@\"\n"
	if err := os.WriteFile(wine.wrapper, []byte(script), 0o700); err != nil {
		return nil, err
	}
	keep := exec.Command("wine", wine.starter, "idle", "for-the-services")
	keep.Env = append(os.Environ(), wine.env...)
	if err := keep.Start(); err != nil { // its files are those of /dev/null
		return nil, err
	}
	return func() {
		if err := runFor([]string{"wineserver", "--kill"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		_ = keep.Wait() // ended with its server
	}, nil
}

// runFor runs a program in the environment of the prefix, for Windows if it is Go's. Its output goes to a file: Wine's
// services keep it open.
func runFor(args []string) error {
	out, err := os.Create(filepath.Join(wine.dir, "output"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"), wine.env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return errors.Join(fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, text))
	}
	return nil
}

// windowsPath is a file of this system as programs under Wine name it.
func windowsPath(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

// newHome makes a home of the lab for ptyctl.exe, which trusts the servers and has their keys, with lines in its
// ptyctl.toml.
func newHome(t *testing.T, servers []*lab.SSHD, lines ...string) *lab.Home {
	t.Helper()
	h := lab.HomeFor(t, servers, lines...)
	h.Program, h.Wrap, h.Env = wine.program, []string{wine.wrapper}, wine.env
	for _, path := range []string{h.Config, h.SSHConfig} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(t, path, strings.ReplaceAll(string(text), "/tmp/", "Z:/tmp/"))
	}
	return h
}

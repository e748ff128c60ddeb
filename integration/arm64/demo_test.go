//go:build linux && platforms

package arm64

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// formats is where a namespace has its formats of programs: docs/admin-guide/binfmt-misc.rst of Linux.
const formats = "/proc/sys/fs/binfmt_misc"

// inside runs as root of the namespaces. The kernel reads the escapes of the magic and the mask: they are the head of
// an ELF file for EM_AARCH64 (183), as qemu's own qemu-binfmt-conf.sh has them. F opens qemu at once.
const inside = `
set -eu
mount -t binfmt_misc none ` + formats + `
printf '%s' ":arm64:M::$MAGIC:$MASK:$QEMU:F" >` + formats + `/register
exec "$@"
`

const (
	magic = `\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`
	mask  = `\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`
)

// TestDemo runs version and demo of the program for linux/arm64. Each step of the demo checks its result.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ptyctl")
	build := exec.Command("go", "build", "-o", program, "../../cmd/ptyctl")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	before := registered(t)
	for _, tt := range []struct{ command, want string }{
		{"version", "linux/arm64"},
		{"demo", "\nAll 8 steps went as expected.\n"},
	} {
		if out := emulated(t, dir, program, tt.command); !strings.Contains(out, tt.want) {
			t.Errorf("%s: got\n%s\nwant %q", tt.command, out, tt.want)
		}
	}
	if after := registered(t); !slices.Equal(after, before) {
		t.Errorf("the machine has the formats %q, and had %q before", after, before)
	}
}

// emulated returns the output of a program for arm64. Its home and its folder of sockets are dir.
func emulated(t *testing.T, dir string, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", inside, "sh"}, words...)...)
	cmd.Dir = dir
	cmd.Env = append(
		os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "MAGIC="+magic, "MASK="+mask,
		"QEMU="+lab.Unpacked(t, "qemu-user-static", "usr/bin/qemu-aarch64-static"),
	)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, out)
	}
	return string(out)
}

// registered returns the formats of programs that the machine knows.
func registered(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(formats)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

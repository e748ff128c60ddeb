// Package netns gives a test machines of their own: network namespaces of Linux (network_namespaces(7)), joined by
// pairs of virtual cables to bridges. A cable can be cut so that packets are lost without a notice, which a proxy
// cannot do.
//
//	func TestCut(t *testing.T) {
//		if !netns.Inside(t) {
//			return // it has run, in a process of its own
//		}
//		lan := netns.NewNetwork(t, 77)
//		m := netns.NewMachine(t, "a", 1, lan)
//		m.Start(exec.Command("server"))
//		lan.Put(t, m, netns.Dropped)
//	}
//
// Nothing of this machine's network changes: all of it is in namespaces that end with the test. They need no privilege
// where the system lets users make user namespaces (user_namespaces(7)), and the program ip of iproute2.
package netns

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Without is a variable of the environment with which no test in namespaces is run: for a machine that allows none.
const Without = "PTYCTL_TESTS_WITHOUT_NAMESPACES"

// insideEnv marks the process in which the test is run.
const insideEnv = "TEST_RUNS_IN_NAMESPACES"

// Inside runs the test once more, in a process with a user namespace and a network namespace of its own, and reports
// true in that process. In the other process it reports false, and a failure there is a failure here. The test must not
// be a subtest.
func Inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) == t.Name() {
		up(t)
		return true
	}
	if os.Getenv(Without) != "" {
		t.Logf("it was not run: %s is set", Without)
		return false
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Fatalf("%v: install iproute2 (scripts/install-test-deps does)", err)
	}
	out, err := again(t, syscall.CLONE_NEWUSER|syscall.CLONE_NEWNET)
	if forbidden(err) && os.Getuid() == 0 { // root needs no user namespace
		out, err = again(t, syscall.CLONE_NEWNET)
	}
	switch {
	case forbidden(err):
		t.Fatalf("%v: this system does not let the test make namespaces. Allow it (sysctl user.max_user_namespaces, "+
			"kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container "+
			"--security-opt seccomp=unconfined --security-opt apparmor=unconfined), or set %s=1 to do without it", err, Without)
	case err != nil:
		t.Errorf("in namespaces: %v\n%s", err, out)
	default:
		t.Logf("in namespaces:\n%s", out)
	}
	return false
}

// again runs the test in new namespaces.
func again(t *testing.T, namespaces uintptr) (out string, err error) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.timeout=60m")
	cmd.Env = append(os.Environ(), insideEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if namespaces&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	return said.String(), err
}

// forbidden reports whether a process could not be started because the system gives it no namespaces (clone(2)).
func forbidden(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EUSERS, syscall.EINVAL, syscall.ENOSYS} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// up makes the loopback address of this namespace work. Some systems make user namespaces, and give no rights in them.
func up(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("ip link set lo up: %v: %s; this system gives no rights in namespaces (sysctl "+
			"kernel.apparmor_restrict_unprivileged_userns=0 does), or set %s=1 to do without this test",
			err, strings.TrimSpace(string(out)), Without)
	}
}

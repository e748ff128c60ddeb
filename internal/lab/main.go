package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"ptyctl/internal/lab/system"
	"ptyctl/internal/leaktest"
)

// Binary is the program under test. It is built with the race detector if the tests are, or if watchVariable says so: the
// detector must watch the program before all else. A benchmark measures the program without it.
var Binary string

// PlainBinary is the same program, never built with the race detector: its memory is the program's own, and a gigabyte
// flows through it in seconds.
var PlainBinary string

// FixtureVariable names the server that the test binary must be, in the environment of a client that starts its own.
const FixtureVariable = "PTYCTL_TEST_SERVER"

// The variables that name Binary and PlainBinary to a test binary that another one has started.
const (
	programVariable = "PTYCTL_TESTS_PROGRAM"
	plainVariable   = "PTYCTL_TESTS_PLAIN_PROGRAM"
)

// builtVariable names the folder with the programs that task test has built: each package would have go build look
// through all sources twice, to find that nothing has changed.
const builtVariable = "PTYCTL_TESTS_BUILT"

// watchVariable has the race detector watch the program under test if it is 1, where the tests themselves are its clients
// and servers, and nothing else: these take three times as long under it.
const watchVariable = "PTYCTL_TESTS_RACE"

// Main builds the program, runs the tests of a package, and looks for their secrets in their outputs. It returns the
// status for os.Exit. Where FixtureVariable names one of servers, the process is that server instead.
func Main(m *testing.M, servers map[string]func() error) int {
	if name := os.Getenv(FixtureVariable); name != "" {
		return serveFixture(name, servers)
	}
	Binary, PlainBinary = os.Getenv(programVariable), os.Getenv(plainVariable)
	if Binary != "" {
		return leaktest.Main(m)
	}
	if ThroughCluster {
		stop, err := useCluster()
		if err != nil {
			fmt.Fprintln(os.Stderr, "lab:", err)
			return 1
		}
		defer stop()
		return leaktest.Main(m)
	}
	dir, err := os.MkdirTemp("", "ptyctl-lab-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	Binary = filepath.Join(dir, "ptyctl")
	PlainBinary = Binary
	err = build(Binary, watched())
	if err == nil && watched() {
		PlainBinary = filepath.Join(dir, "ptyctl-plain")
		err = build(PlainBinary, false)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "lab: %v; the tests need the program\n", err)
		return 1
	}
	return leaktest.Main(m)
}

// serveFixture runs the server of that name on the standard streams.
func serveFixture(name string, servers map[string]func() error) int {
	err := fmt.Errorf("%s=%s names no server of this package", FixtureVariable, name)
	if serve, ok := servers[name]; ok {
		err = serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return 0
}

// build makes a copy of the program at path, because tests look for processes by the path of their program.
func build(path string, race bool) error {
	name := "ptyctl"
	if race {
		name += "-race"
	}
	if folder := os.Getenv(builtVariable); folder != "" {
		return copyProgram(path, filepath.Join(folder, name))
	}
	folder, err := sharedFolder()
	if err != nil {
		return err
	}
	// Held until the copy is whole, against another package's go build.
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := system.Lock(lock); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	shared := filepath.Join(folder, name)
	if err := makeProgram(shared, race); err != nil {
		return err
	}
	return copyProgram(path, shared)
}

// makeProgram builds the program at path. All packages and runs share the one that go build made last, which go build
// leaves as it is while no source has changed: so it is linked once, and not once for each package.
func makeProgram(path string, race bool) error {
	// The stamp of the version control system fails where git distrusts the folder's owner. A release has no DWARF, either.
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w"}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if race {
		args, env = append(args, "-race"), append(os.Environ(), "CGO_ENABLED=1")
	}
	cmd := exec.Command("go", append(args, "-o", path, "ptyctl/cmd/ptyctl")...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return nil
}

// sharedFolder returns the folder for the tests' program: one in these sources, which git ignores.
func sharedFolder() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	folder := filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "build", "lab")
	return folder, os.MkdirAll(folder, 0o750)
}

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // it is a program
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// watched reports whether the race detector watches the program: as watchVariable says, or as this test binary was built.
func watched() bool {
	if os.Getenv(watchVariable) == "1" {
		return true
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"ptyctl/internal/leaktest"
)

// binary is the program under test, built as the tests themselves are, so that the race detector, when it is wanted,
// watches the process that matters, and a benchmark measures the program without it. plainBinary is never built with it:
// its memory is the program's own, and a gigabyte flows through it in seconds.
var binary, plainBinary string

func TestMain(m *testing.M) {
	if name := os.Getenv(fixtureVariable); name != "" {
		os.Exit(serveFixture(name))
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ptyctl-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "ptyctl")
	plainBinary = binary
	err = build(binary, underRace())
	if err == nil && underRace() {
		plainBinary = filepath.Join(dir, "ptyctl-plain")
		err = build(plainBinary, false)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "integration: %v; the tests need the program\n", err)
		return 1
	}
	return leaktest.Main(m)
}

// build builds the program.
func build(path string, race bool) error {
	// The stamp of the version control system fails where git distrusts the folder's owner.
	args := []string{"build", "-buildvcs=false", "-o", path}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if race {
		args, env = append(args, "-race"), append(os.Environ(), "CGO_ENABLED=1")
	}
	cmd := exec.Command("go", append(args, "ptyctl/cmd/ptyctl")...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return nil
}

// underRace reports whether this test binary was built with -race.
func underRace() bool {
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

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

// buildAndRun builds the program as the tests themselves are built, so that the race detector, when it is wanted,
// watches the process that matters, and a benchmark measures the program without it.
func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ptyctl-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "ptyctl")
	// The stamp of the version control system fails where git distrusts the folder's owner.
	args := []string{"build", "-buildvcs=false", "-o", binary}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if underRace() {
		args, env = append(args, "-race"), append(os.Environ(), "CGO_ENABLED=1")
	}
	build := exec.Command("go", append(args, "ptyctl/cmd/ptyctl")...)
	build.Env, build.Stderr = env, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "integration: %v: %v; the tests need the program\n", build.Args, err)
		return 1
	}
	return m.Run()
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

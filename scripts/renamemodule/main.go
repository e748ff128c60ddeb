// Command renamemodule gives the module in the present folder another path, in Go files, go.mod, and all other text. See
// scripts/rename-module.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
)

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "usage: scripts/rename-module PATH, for example example.org/team/ptyctl")
		os.Exit(2)
	}
	n, err := rename(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename-module:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files changed\n", n)
}

// rename renames the module in a folder that git knows, and returns how many files have changed.
func rename(folder, to string) (changed int, err error) {
	old, err := output(folder, "go", "list", "-m")
	if err != nil {
		return 0, err
	}
	packages, err := output(folder, "go", "list", "./...")
	if err != nil {
		return 0, err
	}
	files, err := output(folder, "git", "ls-files", "-z")
	if err != nil {
		return 0, err
	}
	names := strings.Split(strings.TrimSuffix(files, "\x00"), "\x00")
	// It checks the path, and is the first to change anything.
	if _, err := output(folder, "go", "mod", "edit", "-module", to); err != nil {
		return 0, err
	}
	r := newRenamer(strings.TrimSpace(old), to, append(strings.Fields(packages), nested(strings.TrimSpace(old), names)...))
	for _, name := range names {
		ok, err := r.file(folder, name)
		if err != nil {
			return changed, err
		}
		if ok {
			changed++
		}
	}
	return changed + 1, nil // go.mod
}

// nested returns the packages of the modules within a module: their paths begin with its own, and go list does not have
// them.
func nested(module string, files []string) (packages []string) {
	for _, name := range files {
		within, ok := strings.CutSuffix(name, "/go.mod")
		if !ok {
			continue
		}
		for _, f := range files {
			if strings.HasSuffix(f, ".go") && strings.HasPrefix(f, within+"/") {
				packages = append(packages, module+"/"+path.Dir(f))
			}
		}
	}
	return packages
}

// output returns the standard output of a command.
func output(folder, program string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stderr = folder, &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, &stderr)
	}
	return string(out), nil
}

package ptyctl_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorkspace checks that the module cluster, and its tests, are made of the same packages in the same folders with
// cluster/test.work, which the stages of task test use, as with cluster/go.mod alone, which its users and go.sum have: with
// another version of a module, or another module in its place, the tests would test another program. It fails, too,
// where go.mod or go.sum of cluster lacks what a package imports.
func TestWorkspace(t *testing.T) {
	alone, shared := clusterPackages(t, "off"), clusterPackages(t, "test.work")
	if len(alone) < 300 {
		t.Fatalf("%d packages are listed, want those of cluster and all that they import", len(alone))
	}
	for path, folder := range alone {
		if shared[path] != folder {
			t.Errorf("%s is in %s, and with test.work in %q: "+
				"give go.mod and cluster/go.mod the same versions and replacements (go get, go mod tidy)", path, folder, shared[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(shared)) {
		if alone[path] == "" {
			t.Errorf("%s is linked with test.work alone", path)
		}
	}
}

// clusterPackages returns the folders of the packages that cluster and its tests link, in a workspace.
func clusterPackages(t *testing.T, workspace string) map[string]string {
	t.Helper()
	if workspace != "off" {
		path, err := filepath.Abs(filepath.Join("cluster", workspace))
		if err != nil {
			t.Fatal(err)
		}
		workspace = path
	}
	cmd := exec.Command("go", "list", "-deps", "-test", "-f", "{{.ImportPath}}={{.Dir}}", "./...")
	cmd.Dir, cmd.Env = "cluster", append(os.Environ(), "GOWORK="+workspace)
	list, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("GOWORK=%s %v in cluster: %v\n%s", workspace, cmd, err, exit.Stderr)
	}
	folders := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "=")
		folders[path] = folder
	}
	return folders
}

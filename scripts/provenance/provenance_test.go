package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// folder makes the files of a release.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ptyctl-1.2.3-linux-amd64.tar.gz", "ptyctl-1.2.3-windows-arm64.zip", "ptyctl-1.2.3-linux-arm.deb", "manifests/aur/PKGBUILD", "SHA256SUMS", "SHA256SUMS.sig"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func arguments(more ...string) []string {
	return append([]string{
		"-version", "v1.2.3", "-url", "https://github.com/OWNER/ptyctl/releases/download/v1.2.3/", "-commit", commit, "-date", "1700000000",
		"-tool", "example.com/nfpm/v2/cmd/nfpm@v2.0.0",
	}, more...)
}

// TestStatement compares a statement with the demands of the specifications: in-toto's Statement v1 and SLSA Provenance v1.
func TestStatement(t *testing.T) {
	dir := folder(t)
	if err := run(arguments(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ptyctl-1.2.3.intoto.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("the types are %s and %s", s.Type, s.PredicateType)
	}
	var names []string
	for _, r := range s.Subject {
		names = append(names, r.Name)
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(r.Name))); r.Digest.SHA256 != want {
			t.Errorf("%s has the SHA-256 %s, want %s", r.Name, r.Digest.SHA256, want)
		}
	}
	if want := []string{"manifests/aur/PKGBUILD", "ptyctl-1.2.3-linux-amd64.tar.gz", "ptyctl-1.2.3-linux-arm.deb", "ptyctl-1.2.3-windows-arm64.zip"}; !slices.Equal(names, want) {
		t.Errorf("the subjects are %q, want %q", names, want)
	}
	d := s.Predicate.Definition
	if want := []string{"linux/amd64", "windows/arm64"}; !slices.Equal(d.External.Platforms, want) {
		t.Errorf("the platforms are %q, want %q", d.External.Platforms, want)
	}
	if d.BuildType != "https://github.com/OWNER/ptyctl#task-release/v1" || s.Predicate.Details.Builder.ID != "https://github.com/OWNER/ptyctl#maintainer" {
		t.Errorf("the build type is %s, the builder %s", d.BuildType, s.Predicate.Details.Builder.ID)
	}
	if len(d.Dependencies) != 3 || d.Dependencies[0].Digest == nil || d.Dependencies[0].Digest.GitCommit != commit ||
		d.Dependencies[2].URI != "pkg:golang/example.com/nfpm/v2@v2.0.0#cmd/nfpm" {
		t.Errorf("the dependencies are %+v, want the commit, Go and the tool", d.Dependencies)
	}
	// A second statement is the same, though the first is there now.
	if err := run(arguments(dir)); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, text) {
		t.Errorf("made again, the statement is another one (%v)", err)
	}
	if err := run(arguments("-dirty", dir)); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || !strings.Contains(string(again), `"treeHasChanges": true`) {
		t.Errorf("a release of a tree with changes does not say so (%v):\n%s", err, again)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{arguments("-commit", "0123456", folder(t)), "whole name"},
		{arguments(t.TempDir()), "has no file"},
		{arguments(), "missing"},
		{arguments("-url", "", folder(t)), "missing"},
	} {
		if err := run(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("run(%q) = %v, want an error with %q", c.args, err, c.want)
		}
	}
}

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReproducible makes the archive for this machine twice, from the source in two
// folders, and compares every byte. The command task release:reproduce compares all that
// a release has, without the build cache.
func TestReproducible(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	if _, err := choose(here); err != nil {
		t.Fatalf("%v: run this test on a platform that there is a release for", err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "another", "folder of another name")
	copySource(t, root, elsewhere)
	var made [2]map[string][]byte
	for i, from := range []string{root, elsewhere} {
		out := t.TempDir()
		if err := run(t.Context(), []string{
			"-root", from, "-out", out, "-version", "v0.0.0-test", "-date", "1700000000",
			"-platforms", here,
		}); err != nil {
			t.Fatal(err)
		}
		made[i] = readAll(t, out)
		// A later hour reveals bytes that depend on the time.
		t.Setenv("TZ", "Pacific/Kiritimati")
		t.Setenv("LANG", "tr_TR.UTF-8")
	}
	if len(made[0]) != 2 {
		t.Errorf("%d files were made, want an archive and its list of contents", len(made[0]))
	}
	for name, data := range made[0] {
		if !bytes.Equal(data, made[1][name]) {
			t.Errorf("%s is another file when it is made again", name)
		}
		if bytes.Contains(data, []byte(root)) || bytes.Contains(data, []byte(elsewhere)) {
			t.Errorf("%s names the folder that it was made in", name)
		}
	}
	name := "ptyctl-0.0.0-test-" + runtime.GOOS + "-" + runtime.GOARCH
	checkContents(t, made[0][name+".spdx.json"])
	checkArchive(t, made[0][name+".tar.gz"], name)
}

// copySource copies the files of a source archive.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "build" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for _, f := range files {
		if all[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// checkContents checks the demands of SPDX 2.3, and that every linked module of go.mod is
// listed.
func checkContents(t *testing.T, text []byte) {
	t.Helper()
	var d spdxDocument
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Version != "SPDX-2.3" || d.License != "CC0-1.0" || d.ID != "SPDXRef-DOCUMENT" ||
		d.Creation.Created != "2023-11-14T22:13:20Z" ||
		!slices.Equal(d.Describes, []string{"SPDXRef-ptyctl"}) {
		t.Errorf("the head is %+v", d)
	}
	ids := map[string]bool{d.ID: true}
	versions := make(map[string]string)
	form := regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)
	for _, p := range d.Packages {
		if ids[p.ID] || !form.MatchString(p.ID) || p.Name == "" || p.Version == "" ||
			p.Location != "NOASSERTION" { // a module is named by its purl alone, not by an address
			t.Errorf("package %+v: its ID, name, version or location is wrong", p)
		}
		if want := "pkg:golang/" + p.Name + "@" + p.Version; p.Purpose == "LIBRARY" &&
			(len(p.External) != 1 || p.External[0].Locator != want) {
			t.Errorf("package %s is named by %+v, want its purl %s alone", p.Name, p.External, want)
		}
		ids[p.ID], versions[p.Name] = true, p.Version
	}
	for _, r := range d.Relationships {
		if !ids[r.From] || !ids[r.To] {
			t.Errorf("the relationship %+v names an unknown element", r)
		}
	}
	for _, name := range []string{"stdlib", "golang.org/x/crypto", "github.com/mark3labs/mcp-go"} {
		if versions[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if v := versions["github.com/rogpeppe/go-internal"]; v != "" {
		t.Errorf("go-internal %s is listed, which only tests use", v)
	}
}

func checkArchive(t *testing.T, archive []byte, folder string) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	r, dir := tar.NewReader(zipped), t.TempDir()
	found := make(map[string]string)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name, inFolder := strings.CutPrefix(h.Name, folder+"/")
		if !inFolder || h.ModTime.Unix() != 1700000000 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("entry %+v", h)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(data)
		if name == "ptyctl" {
			if err := os.WriteFile(filepath.Join(dir, name), data, h.FileInfo().Mode()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, part := range map[string]string{
		"README.md": "ptyctl", "LICENSE": "MIT", "NOTICE": "SIL OPEN FONT LICENSE", "CHANGELOG.md": "Unreleased", "ptyctl.1": `.TH "PTYCTL" "1" "" "ptyctl v0.0.0\-test"`, "ptyctl.toml.example": "[session]",
		"completions/ptyctl.bash": "complete -F", "completions/ptyctl.fish": "complete -c", "completions/_ptyctl": "compdef",
		"packaging/systemd/ptyctl.service": "ExecStart=", "packaging/systemd/ptyctl-daemon.socket": "@SOCKET@", "packaging/systemd/ptyctl-daemon.service": "ExecStart=", "docs/configuration.md": "max_sessions", "docs/README.md": "# Documentation", "ptyctl.spdx.json": "SPDX-2.3",
		"THIRD-PARTY-LICENSES.txt": "Redistribution and use in source and binary forms",
	} {
		if !strings.Contains(found[name], part) {
			t.Errorf("%s does not have %q", name, part)
		}
	}
	if n := strings.Count(found["THIRD-PARTY-LICENSES.txt"], "\nPermission is hereby granted"); n < 5 {
		t.Errorf("%d licences of the MIT kind are given, want those of 5 modules and more", n)
	}
	got, err := exec.Command(filepath.Join(dir, "ptyctl"), "version").Output()
	if err != nil || !strings.HasPrefix(string(got), "ptyctl v0.0.0-test\n") {
		t.Errorf("the program says %q, %v", got, err)
	}
}

func TestZip(t *testing.T) {
	r := release{date: time.Unix(1700000000, 0).UTC()}
	a, err := r.zip("folder", []entry{{"ptyctl.exe", 0o755, []byte("program")}, {"doc/README.md", 0o644, []byte("text")}})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(a), int64(len(a)))
	if err != nil || len(z.File) != 2 {
		t.Fatalf("%d files, %v", len(z.File), err)
	}
	f := z.File[0]
	if f.Name != "folder/ptyctl.exe" || f.Mode() != 0o755 || f.Modified.Unix() != 1700000000 {
		t.Errorf("entry %+v", f)
	}
}

func TestChoose(t *testing.T) {
	if got, err := choose(""); err != nil || len(got) != 8 {
		t.Errorf("all are %v, %v", got, err)
	}
	if got, err := choose("windows/arm64,linux/amd64"); err != nil ||
		!slices.Equal(got, []platform{{"windows", "arm64"}, {"linux", "amd64"}}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := choose("plan9/amd64"); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("got %v", err)
	}
}

// A module in the place of another one must be a folder of this repository.
func TestLinked(t *testing.T) {
	kept := &debug.Module{Path: "example.com/a", Version: "v1.0.0", Sum: "h1:x"}
	own := &debug.Module{Path: "example.com/b", Replace: &debug.Module{Path: "./internal/b"}}
	if deps, err := linked(&debug.BuildInfo{Deps: []*debug.Module{own, kept}}); err != nil || !slices.Equal(deps, []*debug.Module{kept}) {
		t.Errorf("linked = %v, %v; want the module that is in go.sum", deps, err)
	}
	for _, path := range []string{"../b", "/b", "example.com/fork"} {
		other := &debug.Module{Path: "example.com/b", Replace: &debug.Module{Path: path}}
		if _, err := linked(&debug.BuildInfo{Deps: []*debug.Module{kept, other}}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a module in its place at %s: %v, want an error that names it", path, err)
		}
	}
}

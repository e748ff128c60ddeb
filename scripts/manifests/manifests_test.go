package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const testURL = "https://github.com/OWNER/ptyctl/releases/download/v1.2.3-rc.1"

// made makes the manifests of archives that are in fact small texts, and returns the folder.
func made(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for platform, end := range archives {
		name := "ptyctl-1.2.3-rc.1-" + platform + end
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run("v1.2.3-rc.1", testURL+"/", []string{dir}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "manifests")
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each address must be followed by the hash of its file.
func TestHomebrew(t *testing.T) {
	text := read(t, made(t), "homebrew", "ptyctl.rb")
	for _, platform := range []string{"darwin-arm64", "darwin-amd64", "linux-arm64", "linux-amd64"} {
		name := "ptyctl-1.2.3-rc.1-" + platform + ".tar.gz"
		want := fmt.Sprintf("      url \"%s/%s\"\n      sha256 \"%s\"\n", testURL, name, sum(name))
		if strings.Count(text, want) != 1 {
			t.Errorf("the formula lacks\n%s\n%s", want, text)
		}
	}
	for _, line := range []string{"  version \"1.2.3-rc.1\"\n", "  homepage \"https://github.com/OWNER/ptyctl\"\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("the formula lacks %q", line)
		}
	}
	// Without Ruby, its blocks are counted: each do, def and class has its end.
	opened := 0
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case line == "end":
			opened--
		case strings.HasSuffix(line, " do"), strings.HasPrefix(line, "def "), strings.HasPrefix(line, "class "):
			opened++
		}
		if opened < 0 {
			t.Fatalf("the formula has an end too many at %q", line)
		}
	}
	if opened != 0 {
		t.Errorf("the formula lacks %d ends", opened)
	}
}

func TestScoop(t *testing.T) {
	var m scoopManifest
	dec := json.NewDecoder(bytes.NewReader([]byte(read(t, made(t), "scoop", "ptyctl.json"))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	for arch, f := range map[string]scoopFile{"amd64": m.Architecture.AMD64, "arm64": m.Architecture.ARM64} {
		folder := "ptyctl-1.2.3-rc.1-windows-" + arch
		if want := (scoopFile{testURL + "/" + folder + ".zip", sum(folder + ".zip"), folder}); f != want {
			t.Errorf("%s is %+v, want %+v", arch, f, want)
		}
	}
	if m.Version != "1.2.3-rc.1" || m.Bin != "ptyctl.exe" {
		t.Errorf("the manifest is %+v", m)
	}
}

// TestPKGBUILD has bash read the PKGBUILD, and package the files of an archive as makepkg would.
func TestPKGBUILD(t *testing.T) {
	aur := filepath.Join(made(t), "aur")
	folder := filepath.Join(t.TempDir(), "ptyctl-1.2.3-rc.1-linux-amd64")
	for name := range strings.FieldsSeq("ptyctl ptyctl.1 completions/ptyctl.bash completions/ptyctl.fish completions/_ptyctl LICENSE NOTICE THIRD-PARTY-LICENSES.txt README.md " +
		"CHANGELOG.md ptyctl.toml.example ptyctl.spdx.json docs/a.md packaging/systemd/ptyctl.service") {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("ExecStart=%h/.local/bin/ptyctl mcp\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	to := t.TempDir()
	cmd := exec.Command("bash", "-euc", `. "$1/PKGBUILD"; echo "$pkgver ${arch[*]} ${source_armv7h[*]} ${sha256sums_armv7h[*]} $url"; pkgdir=$2; package`, "bash", aur, to)
	cmd.Dir = filepath.Dir(folder)
	out, err := cmd.CombinedOutput()
	name := "ptyctl-1.2.3-rc.1-linux-arm.tar.gz"
	want := fmt.Sprintf("1.2.3_rc.1 x86_64 aarch64 armv7h %s/%s %s https://github.com/OWNER/ptyctl\n", testURL, name, sum(name))
	if err != nil || string(out) != want {
		t.Fatalf("bash prints %q, %v; want %q", out, err, want)
	}
	if info, err := os.Stat(filepath.Join(to, "usr", "bin", "ptyctl")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the program is %v, %v", info, err)
	}
	if unit := read(t, to, "usr", "lib", "systemd", "user", "ptyctl.service"); unit != "ExecStart=/usr/bin/ptyctl mcp\n" {
		t.Errorf("the unit is %q", unit)
	}
	// .SRCINFO says the same.
	info := read(t, aur, ".SRCINFO")
	for _, line := range []string{"\tpkgver = 1.2.3_rc.1\n", "\tsource_armv7h = " + testURL + "/" + name + "\n", "\tsha256sums_armv7h = " + sum(name) + "\n", "\tarch = x86_64\n"} {
		if !strings.Contains(info, line) {
			t.Errorf(".SRCINFO lacks %q:\n%s", line, info)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	if err := run("v1.2.3", testURL, []string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("run without archives = %v, want an error that names one", err)
	}
	if err := run("v1.2.3", "", []string{t.TempDir()}); err == nil {
		t.Error("run without a URL succeeds, want an error")
	}
}

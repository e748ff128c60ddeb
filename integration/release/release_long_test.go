//go:build linux && long

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// number is the version of the release that is made; package formats treat its hyphen differently.
const number = "0.0.0-rc.1"

const url = "https://example.com/ptyctl"

// TestRelease makes a release twice and compares it (scripts/reproduce), and then looks at its files as their users do.
func TestRelease(t *testing.T) {
	key := newKey(t)
	dir := makeTwice(t, key)
	t.Run("files", func(t *testing.T) { checkFiles(t, dir) })
	t.Run("signature", func(t *testing.T) { checkSignature(t, dir, key) })
	t.Run("versions", func(t *testing.T) { checkVersions(t, dir) })
	t.Run("deb", func(t *testing.T) { installDeb(t, dir) })
	t.Run("rpm", func(t *testing.T) { installRPM(t, dir) })
	t.Run("apk", func(t *testing.T) { readAPK(t, dir) })
}

// newKey makes a key that signs, and returns its file.
func newKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	runOK(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
	return file
}

// runOK runs a program and returns its output.
func runOK(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// makeTwice returns the folder of the release that scripts/reproduce has made twice, with the tools of Taskfile.yml.
func makeTwice(t *testing.T, key string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("scripts/reproduce", dir)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "NFPM="+pinned(t, "NFPM"), "VERSION=v"+number, "URL="+url, "KEY="+key)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("scripts/reproduce: %v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("files are the same, byte for byte")) {
		t.Fatalf("scripts/reproduce does not say that all files are the same:\n%s", out)
	}
	return dir
}

// pinned returns the tool of a variable of Taskfile.yml, as PATH@VERSION.
func pinned(t *testing.T, variable string) string {
	t.Helper()
	tool := regexp.MustCompile(`(?m)^  ` + variable + `: (\S+@v\S+)$`).FindSubmatch(readFile(t, "..", "..", "Taskfile.yml"))
	if tool == nil {
		t.Fatalf("Taskfile.yml does not pin %s", variable)
	}
	return string(tool[1])
}

// checkFiles compares the names of all files with those that a release must have.
func checkFiles(t *testing.T, dir string) {
	want := map[string]bool{
		"SHA256SUMS": true, "SHA256SUMS.sig": true, "server.json": true, "ptyctl-" + number + ".intoto.json": true, "ptyctl-" + number + "-image.tar": true,
		"manifests/homebrew/ptyctl.rb": true, "manifests/scoop/ptyctl.json": true, "manifests/aur/PKGBUILD": true, "manifests/aur/.SRCINFO": true,
	}
	for platform, ends := range map[string]string{
		"linux-amd64": "tar.gz spdx.json deb rpm apk mcpb", "linux-arm64": "tar.gz spdx.json deb rpm apk mcpb", "linux-arm": "tar.gz spdx.json deb rpm apk",
		"darwin-amd64": "tar.gz spdx.json mcpb", "darwin-arm64": "tar.gz spdx.json mcpb", "freebsd-amd64": "tar.gz spdx.json",
		"windows-amd64": "zip spdx.json mcpb", "windows-arm64": "zip spdx.json mcpb",
	} {
		for end := range strings.FieldsSeq(ends) {
			want["ptyctl-"+number+"-"+platform+"."+end] = true
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if !want[name] {
			t.Errorf("the release has %s, want no such file", name)
		}
		delete(want, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("the release lacks %s", name)
	}
}

// checkSignature has ssh-keygen and the program of the release check the files, and then a changed one.
func checkSignature(t *testing.T, dir, key string) {
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(signers, append([]byte("release "), public...), 0o644); err != nil {
		t.Fatal(err)
	}
	runOK(t, dir, "sh", "-c", `ssh-keygen -Y verify -f "$1" -I release -n ptyctl-release -s SHA256SUMS.sig <SHA256SUMS && sha256sum -c --quiet SHA256SUMS`, "sh", signers)

	work := t.TempDir()
	program := programOf(t, dir, work)
	if got := runOK(t, "", program, "version", "--short"); got != "v"+number+"\n" {
		t.Errorf("the program says %q, want v%s", got, number)
	}
	name := "ptyctl-" + number + "-linux-arm.apk"
	if got := runOK(t, dir, program, "verify", name, "--key", key+".pub"); !strings.HasPrefix(got, "good: "+name) {
		t.Errorf("ptyctl verify says %q", got)
	}
	changed := filepath.Join(work, name)
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(changed, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "verify", changed, "--key", signers, "--sums", filepath.Join(dir, "SHA256SUMS")).CombinedOutput()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 1 || !bytes.Contains(out, []byte(" was changed: its SHA-256 is ")) {
		t.Errorf("ptyctl verify of a changed file: %v\n%s\nwant status 1 and that it was changed", err, out)
	}
}

// programOf unpacks the program for this machine.
func programOf(t *testing.T, dir, to string) string {
	t.Helper()
	folder := "ptyctl-" + number + "-linux-" + runtime.GOARCH
	runOK(t, to, "tar", "-xzf", filepath.Join(dir, folder+".tar.gz"))
	return filepath.Join(to, folder, "ptyctl")
}

// checkVersions looks for the version in the files that registries and clients read.
func checkVersions(t *testing.T, dir string) {
	var server struct {
		Version  string
		Packages []struct{ Identifier string }
	}
	decode(t, readFile(t, dir, "server.json"), &server)
	if server.Version != number || len(server.Packages) != 6 || !strings.HasPrefix(server.Packages[0].Identifier, url+"/ptyctl-"+number+"-") {
		t.Errorf("server.json is of %+v", server)
	}
	bundle, err := zip.OpenReader(filepath.Join(dir, "ptyctl-"+number+"-darwin-arm64.mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	defer bundle.Close()
	f, err := bundle.Open("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Version string }
	if decode(t, text, &manifest); manifest.Version != number {
		t.Errorf("the bundle is of version %q, want %s", manifest.Version, number)
	}
	index := runOK(t, dir, "tar", "-xOf", "ptyctl-"+number+"-image.tar", "index.json")
	if !strings.Contains(index, `"org.opencontainers.image.ref.name":"ptyctl:`+number+`"`) {
		t.Errorf("the image's index is %s, want ptyctl:%s as its name", index, number)
	}
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// entries reads gzipped tar streams, one behind the other, as one archive.
func entries(t *testing.T, text []byte) map[string]*tar.Header {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]*tar.Header)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = h
	}
}

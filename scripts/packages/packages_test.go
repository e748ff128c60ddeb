package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unpackedArchive makes the files of an archive, with the real units of this repository.
func unpackedArchive(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range append(files("deb"), file{from: "docs/a.md"}) {
		text := []byte("text of " + f.from)
		if strings.HasPrefix(f.from, "packaging/") {
			var err error
			if text, err = os.ReadFile(filepath.Join("..", "..", f.from)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "linux-arm", f.from)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDescribe checks the description for nfpm; task test:long installs the packages that it makes.
func TestDescribe(t *testing.T) {
	r := release{version: "1.2.3-rc.1", url: "https://example.com/ptyctl/releases/download/v1.2.3-rc.1", date: time.Unix(1700000000, 0).UTC()}
	from := filepath.Join(unpackedArchive(t), "linux-arm")
	for format, want := range map[string]struct {
		arch, zsh string
		files     []string
	}{
		"deb": {"armhf", "/usr/share/zsh/vendor-completions/_ptyctl", []string{"/usr/share/doc/ptyctl/copyright", "/usr/share/doc/ptyctl/LICENSE"}},
		"rpm": {"armv7hl", "/usr/share/zsh/site-functions/_ptyctl", []string{"/usr/share/licenses/ptyctl/LICENSE"}},
		"apk": {"armv7", "/usr/share/zsh/site-functions/_ptyctl", []string{"/usr/share/licenses/ptyctl/LICENSE"}},
	} {
		work := t.TempDir()
		d, err := r.describe(format, "arm", from, work)
		if err != nil {
			t.Fatal(err)
		}
		version := map[bool]string{false: "1.2.3-rc.1", true: "1.2.3_rc1"}[format == "apk"]
		if want := "https://example.com/ptyctl"; d.Homepage != want {
			t.Errorf("%s: the project is %s, want %s", format, d.Homepage, want)
		}
		if d.Arch != want.arch || d.Version != version {
			t.Errorf("%s: architecture %s and version %s, want %s and %s", format, d.Arch, d.Version, want.arch, version)
		}
		var have []string
		for _, c := range d.Contents {
			have = append(have, c.To)
			mode := os.FileMode(0o644)
			if c.To == "/usr/bin/ptyctl" || c.Type == "dir" {
				mode = 0o755
			}
			if c.Info.Mode != mode || !c.Info.ModTime.Equal(r.date) {
				t.Errorf("%s: %s has mode %o and time %v", format, c.To, c.Info.Mode, c.Info.ModTime)
			}
			if c.Type == "" && strings.Contains(c.To, "/systemd/user/") {
				if text, err := os.ReadFile(c.From); err != nil || !bytes.Contains(text, []byte("\nExecStart=/usr/bin/ptyctl mcp")) {
					t.Errorf("%s: %s does not start /usr/bin/ptyctl (%v)", format, c.To, err)
				}
			}
		}
		for _, name := range append(want.files, want.zsh, "/usr/bin/ptyctl", "/usr/share/man/man1/ptyctl.1.gz", "/usr/share/doc/ptyctl/docs/a.md", "/usr/lib/systemd/user/ptyctl.service") {
			if !slices.Contains(have, name) {
				t.Errorf("%s lacks %s", format, name)
			}
		}
	}
	if _, err := r.describe("msi", "arm", from, t.TempDir()); err == nil {
		t.Error("describe makes an msi, want an error")
	}
	if _, err := r.describe("deb", "arm", t.TempDir(), t.TempDir()); err == nil {
		t.Error("describe of an empty folder succeeds, want an error")
	}
}

func TestCompressed(t *testing.T) {
	packed, err := compressed([]byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil || z.Name != "" || !z.ModTime.IsZero() {
		t.Fatalf("the header is %+v, %v; want no name and no time", z, err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != "text" {
		t.Errorf("it unpacks as %q, %v", text, err)
	}
	if _, err := installed([]byte("ExecStart=/elsewhere/ptyctl mcp\n")); err == nil {
		t.Error("installed takes a unit that starts another program, want an error")
	}
}

//go:build linux && long

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readAPK reads the apk as Alpine's apk does: two gzip streams. The first has .PKGINFO and no end of a tar archive, and
// the second has the files. .PKGINFO has the SHA-256 of the second (https://wiki.alpinelinux.org/wiki/Apk_spec).
func readAPK(t *testing.T, dir string) {
	for arch, name := range map[string]string{"amd64": "x86_64", "arm64": "aarch64", "arm": "armv7"} {
		text := readFile(t, filepath.Join(dir, "ptyctl-"+number+"-linux-"+arch+".apk"))
		control, data := streams(t, text)
		found := entries(t, text)
		var about bytes.Buffer
		r := tar.NewReader(bytes.NewReader(control))
		if h, err := r.Next(); err != nil || h.Name != ".PKGINFO" {
			t.Fatalf("%s: the first entry is %+v, %v; want .PKGINFO", arch, h, err)
		}
		if _, err := io.Copy(&about, r); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"pkgname = ptyctl", "pkgver = 0.0.0_rc1", "arch = " + name, "license = MIT", "url = " + url, fmt.Sprintf("datahash = %x", sha256.Sum256(data))} {
			if !strings.Contains("\n"+about.String(), "\n"+line) {
				t.Errorf("%s: .PKGINFO lacks the line %q:\n%s", arch, line, &about)
			}
		}
		for _, word := range []string{"depend", "triggers", "install_if"} {
			if strings.Contains(about.String(), "\n"+word+" ") {
				t.Errorf("%s: .PKGINFO has %s:\n%s", arch, word, &about)
			}
		}
		for path, h := range found {
			mode := int64(0o644)
			if path == "usr/bin/ptyctl" || h.Typeflag == tar.TypeDir {
				mode = 0o755
			}
			if path == ".PKGINFO" {
				continue
			}
			if strings.HasPrefix(path, ".") { // .post-install and the like
				t.Errorf("%s: the package has %s, want no scripts", arch, path)
			}
			if h.Mode&0o7777 != mode || h.Uid != 0 || h.Gid != 0 || h.Typeflag == tar.TypeReg && h.PAXRecords["APK-TOOLS.checksum.SHA1"] == "" {
				t.Errorf("%s: %s has mode %o, owner %d:%d and records %v", arch, path, h.Mode, h.Uid, h.Gid, h.PAXRecords)
			}
		}
		for _, path := range []string{
			"usr/bin/ptyctl", "usr/share/man/man1/ptyctl.1.gz", "usr/share/bash-completion/completions/ptyctl", "usr/share/zsh/site-functions/_ptyctl",
			"usr/share/fish/vendor_completions.d/ptyctl.fish", "usr/lib/systemd/user/ptyctl.service", "usr/share/licenses/ptyctl/LICENSE",
			"usr/share/doc/ptyctl/docs/configuration.md", "usr/share/doc/ptyctl/systemd/ptyctl-daemon.socket",
		} {
			if found[path] == nil {
				t.Errorf("%s: the package lacks %s; it has %q", arch, path, slices.Sorted(maps.Keys(found)))
			}
		}
	}
}

// streams returns the first gzip stream of an apk, unpacked, and the bytes of the rest.
func streams(t *testing.T, text []byte) (control, data []byte) {
	t.Helper()
	rest := bytes.NewReader(text)
	z, err := gzip.NewReader(rest) // reads no byte too many: a bytes.Reader is an io.ByteReader
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	if control, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return control, text[len(text)-rest.Len():]
}

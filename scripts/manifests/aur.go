package main

import (
	"fmt"
	"strings"
)

// aurArchitectures are those of Arch Linux and Arch Linux ARM.
var aurArchitectures = []struct{ name, platform string }{
	{"x86_64", "linux-amd64"}, {"aarch64", "linux-arm64"}, {"armv7h", "linux-arm"},
}

// aurVersion has no hyphen, which separates the release of a package: https://wiki.archlinux.org/title/PKGBUILD#pkgver.
func (r release) aurVersion() string { return strings.ReplaceAll(r.Version, "-", "_") }

// pkgbuild returns a package of the built program, named -bin as the AUR wants it.
func (r release) pkgbuild() string {
	var b strings.Builder
	fmt.Fprintf(&b, `pkgname=ptyctl-bin
pkgver=%s
pkgrel=1
pkgdesc='%s'
arch=(%s)
url='%s'
license=('MIT')
provides=('ptyctl')
conflicts=('ptyctl')
options=('!strip')
`, r.aurVersion(), about, r.aurNames(), r.Homepage)
	for _, a := range aurArchitectures {
		f := r.files[a.platform]
		fmt.Fprintf(&b, "source_%s=('%s')\nsha256sums_%[1]s=('%[3]s')\n", a.name, f.URL, f.SHA256)
	}
	fmt.Fprintf(&b, `
package() {
  cd ptyctl-%s-linux-*
  install -Dm755 ptyctl "$pkgdir/usr/bin/ptyctl"
  install -Dm644 ptyctl.1 "$pkgdir/usr/share/man/man1/ptyctl.1"
  install -Dm644 completions/ptyctl.bash "$pkgdir/usr/share/bash-completion/completions/ptyctl"
  install -Dm644 completions/ptyctl.fish "$pkgdir/usr/share/fish/vendor_completions.d/ptyctl.fish"
  install -Dm644 completions/_ptyctl "$pkgdir/usr/share/zsh/site-functions/_ptyctl"
  install -Dm644 -t "$pkgdir/usr/share/licenses/ptyctl-bin" LICENSE NOTICE THIRD-PARTY-LICENSES.txt
  install -Dm644 -t "$pkgdir/usr/share/doc/ptyctl" README.md CHANGELOG.md ptyctl.toml.example ptyctl.spdx.json
  install -Dm644 -t "$pkgdir/usr/share/doc/ptyctl/docs" docs/*.md
  install -d "$pkgdir/usr/lib/systemd/user"
  sed 's|%%h/.local/bin/ptyctl|/usr/bin/ptyctl|' packaging/systemd/ptyctl.service >"$pkgdir/usr/lib/systemd/user/ptyctl.service"
}
`, r.Version)
	return b.String()
}

// aurNames returns the architectures as words of a shell.
func (r release) aurNames() string {
	names := make([]string, len(aurArchitectures))
	for i, a := range aurArchitectures {
		names[i] = "'" + a.name + "'"
	}
	return strings.Join(names, " ")
}

// srcinfo returns the output of makepkg --printsrcinfo for the PKGBUILD.
func (r release) srcinfo() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pkgbase = ptyctl-bin\n\tpkgdesc = %s\n\tpkgver = %s\n\tpkgrel = 1\n\turl = %s\n", about, r.aurVersion(), r.Homepage)
	for _, a := range aurArchitectures {
		fmt.Fprintf(&b, "\tarch = %s\n", a.name)
	}
	b.WriteString("\tlicense = MIT\n\tprovides = ptyctl\n\tconflicts = ptyctl\n\toptions = !strip\n")
	for _, a := range aurArchitectures {
		f := r.files[a.platform]
		fmt.Fprintf(&b, "\tsource_%s = %s\n\tsha256sums_%[1]s = %[3]s\n", a.name, f.URL, f.SHA256)
	}
	b.WriteString("\npkgname = ptyctl-bin\n")
	return b.String()
}

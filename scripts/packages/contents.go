package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ptyctl/internal/releases"
)

// A description is the part of nfpm's configuration that a package needs: https://nfpm.goreleaser.com/configuration.
type description struct {
	Name        string    `json:"name"`
	Arch        string    `json:"arch"`
	Platform    string    `json:"platform"`
	Version     string    `json:"version"`
	Schema      string    `json:"version_schema"`
	Section     string    `json:"section"`
	Priority    string    `json:"priority"`
	Maintainer  string    `json:"maintainer"`
	Description string    `json:"description"`
	Homepage    string    `json:"homepage"`
	License     string    `json:"license"`
	ModTime     time.Time `json:"mtime"`
	Contents    []content `json:"contents"`
	RPM         rpm       `json:"rpm"`
}

// rpm are the fields that only that format has. The host that built a package is named there, unless it is given.
type rpm struct {
	Group     string `json:"group"`
	Summary   string `json:"summary"`
	BuildHost string `json:"buildhost"`
}

// A content is one file, or a folder if the type is dir.
type content struct {
	From string   `json:"src,omitempty"`
	To   string   `json:"dst"`
	Type string   `json:"type,omitempty"`
	Info fileInfo `json:"file_info"`
}

// A fileInfo has the mode and the time of a file. nfpm makes root its owner.
type fileInfo struct {
	Mode    os.FileMode `json:"mode"`
	ModTime time.Time   `json:"mtime"`
}

// architectures has the name of each architecture of Go in a format. The program for arm is for ARMv6, and the package for
// the distributions' ARMv7: those for ARMv6 have names of their own.
var architectures = map[string]map[string]string{
	"deb": {"amd64": "amd64", "arm64": "arm64", "arm": "armhf"},
	"rpm": {"amd64": "x86_64", "arm64": "aarch64", "arm": "armv7hl"},
	"apk": {"amd64": "x86_64", "arm64": "aarch64", "arm": "armv7"},
}

// summary is the first line of a package's description, for all formats.
const summary = "real terminals for AI agents, over MCP"

// describe returns the configuration of a package of the files in a folder. Those that it changes are written to work.
func (r release) describe(format, arch, from, work string) (d description, err error) {
	name, ok := architectures[format][arch]
	if !ok {
		return d, fmt.Errorf("there is no package %s for %s", format, arch)
	}
	d = description{
		Name: "ptyctl", Arch: name, Platform: "linux", Version: r.version, Schema: "semver", Section: "utils", Priority: "optional",
		Maintainer: "The ptyctl authors <noreply@ptyctl.invalid>", Homepage: releases.Homepage(r.url), License: "MIT", ModTime: r.date,
		Description: summary + "\nAn MCP server that gives agents terminals over SSH, Telnet and serial lines, and on this machine.",
		RPM:         rpm{Group: "Applications/System", Summary: summary, BuildHost: "localhost"},
	}
	if format == "apk" { // nfpm would write _rc.1, which apk does not take, and a description of two lines
		d.Version, d.Schema, d.Description = apkVersion(r.version), "none", summary
	}
	// rpm removes only the folders that a package owns.
	for _, folder := range folders(format) {
		d.Contents = append(d.Contents, content{To: folder, Type: "dir", Info: fileInfo{0o755, r.date}})
	}
	for _, f := range files(format) {
		src := filepath.Join(from, filepath.FromSlash(f.from))
		if f.change != nil {
			text, err := os.ReadFile(src)
			if err != nil {
				return d, err
			}
			if text, err = f.change(text); err != nil {
				return d, fmt.Errorf("%s: %w", f.from, err)
			}
			src = filepath.Join(work, strings.ReplaceAll(f.to, "/", "_"))
			if err := os.WriteFile(src, text, 0o644); err != nil {
				return d, err
			}
		}
		d.Contents = append(d.Contents, content{From: src, To: f.to, Info: fileInfo{f.mode, r.date}})
	}
	pages, err := filepath.Glob(filepath.Join(from, "docs", "*.md")) // sorted
	if err != nil {
		return d, err
	}
	if len(pages) == 0 {
		return d, fmt.Errorf("%s has no docs: run scripts/dist with -unpacked first", from)
	}
	for _, page := range pages {
		d.Contents = append(d.Contents, content{From: page, To: docFolder + "/docs/" + filepath.Base(page), Info: fileInfo{0o644, r.date}})
	}
	return d, nil
}

// apkVersion returns a version in apk's form, 1.2.3_rc1 for 1.2.3-rc.1:
// https://wiki.alpinelinux.org/wiki/APKBUILD_Reference#pkgver.
func apkVersion(version string) string {
	number, pre, ok := strings.Cut(version, "-")
	if !ok {
		return number
	}
	return number + "_" + strings.ReplaceAll(pre, ".", "")
}

// A file is one of an archive and its place in a package.
type file struct {
	from, to string
	mode     os.FileMode
	change   func([]byte) ([]byte, error) // nil: it stays as it is
}

const docFolder = "/usr/share/doc/ptyctl"

// files returns the places of an archive's files, which differ by the distributions' customs.
func files(format string) []file {
	licences, zsh := docFolder, "/usr/share/zsh/site-functions"
	switch format {
	case "deb":
		zsh = "/usr/share/zsh/vendor-completions"
	case "rpm", "apk":
		licences = "/usr/share/licenses/ptyctl"
	}
	list := []file{
		{"ptyctl", "/usr/bin/ptyctl", 0o755, nil},
		{"ptyctl.1", "/usr/share/man/man1/ptyctl.1.gz", 0o644, compressed},
		{"completions/ptyctl.bash", "/usr/share/bash-completion/completions/ptyctl", 0o644, nil},
		{"completions/ptyctl.fish", "/usr/share/fish/vendor_completions.d/ptyctl.fish", 0o644, nil},
		{"completions/_ptyctl", zsh + "/_ptyctl", 0o644, nil},
		{"packaging/systemd/ptyctl.service", "/usr/lib/systemd/user/ptyctl.service", 0o644, installed},
		// The socket needs a path that depends on the user's configuration: it is a template, which its first lines explain.
		{"packaging/systemd/ptyctl-daemon.service", docFolder + "/systemd/ptyctl-daemon.service", 0o644, installed},
		{"packaging/systemd/ptyctl-daemon.socket", docFolder + "/systemd/ptyctl-daemon.socket", 0o644, nil},
		{"ptyctl.toml.example", docFolder + "/ptyctl.toml.example", 0o644, nil},
		{"README.md", docFolder + "/README.md", 0o644, nil},
		{"CHANGELOG.md", docFolder + "/CHANGELOG.md", 0o644, nil},
		{"ptyctl.spdx.json", docFolder + "/ptyctl.spdx.json", 0o644, nil},
		{"LICENSE", licences + "/LICENSE", 0o644, nil},
		{"NOTICE", licences + "/NOTICE", 0o644, nil},
		{"THIRD-PARTY-LICENSES.txt", licences + "/THIRD-PARTY-LICENSES.txt", 0o644, nil},
	}
	if format == "deb" { // Debian Policy 12.5
		list = append(list, file{"LICENSE", docFolder + "/copyright", 0o644, nil})
	}
	return list
}

// folders returns the folders that belong to no other package.
func folders(format string) []string {
	list := []string{docFolder, docFolder + "/docs", docFolder + "/systemd"}
	if format != "deb" {
		list = append(list, "/usr/share/licenses/ptyctl")
	}
	return list
}

// compressed is gzip without a name and a time.
func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// installed has a unit start the program of the package.
func installed(unit []byte) ([]byte, error) {
	const own, packaged = "ExecStart=%h/.local/bin/ptyctl ", "ExecStart=/usr/bin/ptyctl "
	if bytes.Count(unit, []byte(own)) != 1 {
		return nil, fmt.Errorf("it does not have %q once", own)
	}
	return bytes.Replace(unit, []byte(own), []byte(packaged), 1), nil
}

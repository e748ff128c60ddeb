package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ptyctl/internal/releases"
)

// main parses the flags; run does the work.
func main() {
	version := flag.String("version", "", "the `VERSION` of the release, such as v1.2.3")
	url := flag.String("url", "", "the `URL` of the folder that the archives will be in")
	flag.Parse()
	if err := run(*version, *url, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

// A release holds the facts in all manifests.
type release struct {
	Version  string // without v
	Homepage string
	files    map[string]archive // by platform, such as linux-amd64
}

// An archive is a file of the release.
type archive struct{ URL, SHA256, Folder string }

// about is one line for people. Homebrew wants no article and no name at its beginning.
const about = "Real terminals for AI agents, over MCP: SSH, Telnet, serial and local"

// archives are those that the manifests name, with the end of each one's name.
var archives = map[string]string{
	"linux-amd64": ".tar.gz", "linux-arm64": ".tar.gz", "linux-arm": ".tar.gz", "darwin-amd64": ".tar.gz", "darwin-arm64": ".tar.gz",
	"windows-amd64": ".zip", "windows-arm64": ".zip",
}

// run writes the manifests for the archives in a folder.
func run(version, url string, folders []string) error {
	if version == "" || url == "" || len(folders) != 1 {
		return errors.New("missing arguments: pass -version, -url and the folder of the archives")
	}
	url = strings.TrimSuffix(url, "/")
	r := release{strings.TrimPrefix(version, "v"), releases.Homepage(url), make(map[string]archive)}
	for platform, end := range archives {
		name := "ptyctl-" + r.Version + "-" + platform
		text, err := os.ReadFile(filepath.Join(folders[0], name+end))
		if err != nil {
			return err
		}
		r.files[platform] = archive{url + "/" + name + end, fmt.Sprintf("%x", sha256.Sum256(text)), name}
	}
	scoop, err := r.scoop()
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"homebrew/ptyctl.rb": r.homebrew(), "scoop/ptyctl.json": scoop, "aur/PKGBUILD": r.pkgbuild(), "aur/.SRCINFO": r.srcinfo(),
	} {
		path := filepath.Join(folders[0], "manifests", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

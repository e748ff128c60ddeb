package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// main parses the flags; run does the work.
func main() {
	version := flag.String("version", "", "the `VERSION` of the release, such as 0.1.0")
	url := flag.String("url", "", "the `URL` of the folder that the bundles will be in")
	server := flag.String("server", "server.json", "the `FILE` with the texts for the registry")
	notice := flag.String("notice", "NOTICE", "the `FILE` with the licences of the files that are not Go")
	out := flag.String("out", "", "the `FOLDER` to write to")
	flag.Parse()
	if err := run(*version, strings.TrimSuffix(*url, "/"), *server, *notice, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// run packs each program, given as PLATFORM=FILE, and writes server.json. The version
// must not have a leading v.
func run(version, url, server, notice, out string, programs []string) error {
	if version == "" || url == "" || out == "" || len(programs) == 0 {
		return fmt.Errorf("missing arguments: pass -version, -url, -out and programs; see go doc ./scripts/bundle")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	licences, err := os.ReadFile(notice)
	if err != nil {
		return err
	}
	var packages []registryPackage
	for _, program := range programs {
		platform, file, ok := strings.Cut(program, "=")
		if !ok {
			return fmt.Errorf("%q is not PLATFORM=FILE", program)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		bundle, err := pack(version, platform, text, licences)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		name := "ptyctl-" + version + "-" + platform + ".mcpb"
		if err := os.WriteFile(filepath.Join(out, name), bundle, 0o644); err != nil {
			return err
		}
		packages = append(packages, packageOf(url+"/"+name, bundle))
	}
	text, err := os.ReadFile(server)
	if err != nil {
		return err
	}
	text, err = release(text, version, packages)
	if err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	return os.WriteFile(filepath.Join(out, "server.json"), text, 0o644)
}

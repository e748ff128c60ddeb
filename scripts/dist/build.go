package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// build builds the program for a platform and returns its path.
func (r release) build(ctx context.Context, p platform, work string) (string, error) {
	if path, ok := r.built[p]; ok {
		return path, nil
	}
	name := "ptyctl"
	if p.os == "windows" {
		name += ".exe"
	}
	out, err := filepath.Abs(filepath.Join(work, p.os+"-"+p.arch, name))
	if err != nil {
		return "", err
	}
	// All settings that the environment could change are given here. The stamp of the
	// version control system is off: -version replaces it, and a source archive has no
	// history.
	env := []string{
		"CGO_ENABLED=0",
		"GOOS=" + p.os,
		"GOARCH=" + p.arch,
		"GOFLAGS=-mod=readonly",
		"GOAMD64=v1",
		"GOARM64=v8.0",
		"GOARM=6", // runs on ARMv7, too, and on the first Raspberry Pi
		"GOEXPERIMENT=",
		"GOTOOLCHAIN=local",
	}
	// -trimpath and the empty build id keep the folder and the linker out of the binary;
	// -s and -w drop symbols and debug data, which no user needs.
	_, err = output(
		ctx,
		r.root,
		env,
		"go",
		"build",
		"-trimpath",
		"-buildvcs=false",
		"-ldflags",
		"-s -w -buildid= -X main.release="+r.version,
		"-o",
		out,
		"./cmd/ptyctl",
	)
	if err == nil {
		r.built[p] = out
	}
	return out, err
}

// manual returns the pages of docs, without the records of decisions, which are for
// developers.
func (r release) manual() ([]string, error) {
	pages, err := filepath.Glob(filepath.Join(r.root, "docs", "*.md")) // sorted
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s has no docs/*.md: give -root, the folder of the source", r.root)
	}
	for i, page := range pages {
		pages[i] = "docs/" + filepath.Base(page)
	}
	return pages, nil
}

// documents returns the files that are the same on every platform. The program itself
// writes some of them, for example the completions for shells.
func (r release) documents(ctx context.Context, work string) ([]entry, error) {
	here, err := r.build(ctx, platform{runtime.GOOS, runtime.GOARCH}, work)
	if err != nil {
		return nil, err
	}
	names, err := r.manual()
	if err != nil {
		return nil, err
	}
	var list []entry
	for _, name := range append(names, "README.md", "CHANGELOG.md", "LICENSE", "NOTICE", "packaging/systemd/ptyctl.service",
		"packaging/systemd/ptyctl-daemon.service", "packaging/systemd/ptyctl-daemon.socket") {
		text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		list = append(list, entry{name, 0o644, text})
	}
	for _, made := range []struct {
		name string
		args []string
	}{
		{"ptyctl.1", []string{"man"}},
		{"ptyctl.toml.example", []string{"config", "example"}},
		{"completions/ptyctl.bash", []string{"completion", "bash"}},
		{"completions/ptyctl.fish", []string{"completion", "fish"}},
		{"completions/_ptyctl", []string{"completion", "zsh"}},
	} {
		text, err := output(ctx, work, nil, here, made.args...)
		if err != nil {
			return nil, err
		}
		list = append(list, entry{made.name, 0o644, []byte(text + "\n")})
	}
	return list, nil
}

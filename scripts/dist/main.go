package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are the platforms of a release.
var platforms = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
	{"freebsd", "amd64"},
	{"linux", "arm"},
}

// A platform is the target of one archive.
type platform struct{ os, arch string }

// String returns the form of -platforms, for example linux/amd64.
func (p platform) String() string { return p.os + "/" + p.arch }

// A release holds the values that all archives share.
type release struct {
	root    string // of the source
	out     string
	unpack  string // folder for the files of the archives, not packed; "" for none
	version string
	date    time.Time
	built   map[platform]string // path of the program
}

// main ends the build on an interrupt.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run parses the flags and makes the release.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	root := flags.String("root", ".", "folder of the source")
	out := flags.String("out", filepath.Join("build", "dist"), "folder for the archives")
	version := flags.String("version", "", "of the release; default what git describe says")
	date := flags.String(
		"date",
		os.Getenv("SOURCE_DATE_EPOCH"),
		"of the release, in seconds since 1970; default the commit's",
	)
	unpack := flags.String("unpacked", "", "folder for the files of each archive, in a folder such as linux-amd64; default none")
	only := flags.String("platforms", "", "such as linux/amd64,windows/arm64; default all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := release{root: *root, out: *out, unpack: *unpack, version: *version, built: make(map[platform]string)}
	var err error
	if r.version == "" {
		if r.version, err = git(ctx, r.root, "describe", "--tags", "--always", "--dirty"); err != nil {
			return fmt.Errorf("the version is unknown (%w); give -version", err)
		}
	}
	// The version is part of file names and of linker flags.
	if strings.ContainsFunc(
		r.version,
		func(c rune) bool { return c <= ' ' || c == '/' || c == '\\' || c == '\'' || c == '"' },
	) {
		return fmt.Errorf("the version %q does not do for the name of a file", r.version)
	}
	// The date of the commit makes repeated builds equal.
	if *date == "" {
		if *date, err = git(ctx, r.root, "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("the date is unknown (%w); give -date", err)
		}
	}
	seconds, err := strconv.ParseInt(*date, 10, 64)
	if err != nil {
		return fmt.Errorf("-date %q: %w", *date, err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	wanted, err := choose(*only)
	if err != nil {
		return err
	}
	return r.make(ctx, wanted)
}

// choose parses a list of platforms.
func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var wanted []platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no release for %q; choose from %v", name, platforms)
		}
		wanted = append(wanted, platforms[i])
	}
	return wanted, nil
}

// make writes the archives, and a list of contents for each.
func (r release) make(ctx context.Context, wanted []platform) error {
	work, err := os.MkdirTemp("", "ptyctl-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	docs, err := r.documents(ctx, work)
	if err != nil {
		return err
	}
	for _, p := range wanted {
		binary, err := r.build(ctx, p, work)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("ptyctl-%s-%s-%s", strings.TrimPrefix(r.version, "v"), p.os, p.arch)
		bom, licences, err := r.contents(ctx, binary, name)
		if err != nil {
			return err
		}
		entries, err := withProgram(binary, append(
			slices.Clip(docs),
			entry{"THIRD-PARTY-LICENSES.txt", 0o644, licences},
			entry{"ptyctl.spdx.json", 0o644, bom},
		))
		if err != nil {
			return err
		}
		archive, file, err := r.pack(p, name, entries)
		if err != nil {
			return err
		}
		if err := errors.Join(
			os.WriteFile(filepath.Join(r.out, file), archive, 0o644),
			os.WriteFile(filepath.Join(r.out, name+".spdx.json"), bom, 0o644),
			r.keep(p, entries),
		); err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "%x  %s (%d KiB)\n", sha256.Sum256(archive), file, len(archive)>>10)
	}
	return nil
}

// keep writes the files of an archive into a folder of its platform's name, for the packages that have the same files.
func (r release) keep(p platform, entries []entry) error {
	if r.unpack == "" {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(r.unpack, p.os+"-"+p.arch, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, e.data, e.mode); err != nil {
			return err
		}
	}
	return nil
}

// git runs git and returns the line that it prints.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return output(ctx, dir, nil, "git", args...)
}

// output runs a program and returns its output without surrounding blanks. Errors of the
// program go to stderr.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// main ends the build on an interrupt.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// A release holds the values that all packages share.
type release struct {
	nfpm     string // module path and version
	version  string // without v
	url      string
	date     time.Time
	unpacked string
	out      string
}

// run parses the flags and makes a package of each format for each architecture.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	nfpm := flags.String("nfpm", "", "nfpm as go run takes it, `PATH@VERSION`")
	version := flags.String("version", "", "of the release, such as v1.2.3")
	url := flags.String("url", "", "the `URL` of the folder that the files will be in; a package names its project")
	date := flags.Int64("date", 0, "of the release, in seconds since 1970")
	unpacked := flags.String("unpacked", "", "the `FOLDER` of scripts/dist -unpacked")
	out := flags.String("out", "", "the `FOLDER` for the packages")
	only := flags.String("formats", "deb,rpm,apk", "formats of packages")
	architectures := flags.String("arch", "amd64,arm64,arm", "architectures, as GOARCH")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *nfpm == "" || *version == "" || *url == "" || *date == 0 || *unpacked == "" || *out == "" {
		return errors.New("missing arguments: see go doc ./scripts/packages")
	}
	r := release{*nfpm, strings.TrimPrefix(*version, "v"), *url, time.Unix(*date, 0).UTC(), *unpacked, *out}
	for arch := range strings.SplitSeq(*architectures, ",") {
		for format := range strings.SplitSeq(*only, ",") {
			if err := r.make(ctx, format, arch); err != nil {
				return fmt.Errorf("%s for %s: %w", format, arch, err)
			}
		}
	}
	return nil
}

// make makes one package.
func (r release) make(ctx context.Context, format, arch string) error {
	work, err := os.MkdirTemp("", "ptyctl-packages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	p, err := r.describe(format, arch, filepath.Join(r.unpacked, "linux-"+arch), work)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "  ") // nfpm reads YAML, which JSON is
	if err != nil {
		return err
	}
	config := filepath.Join(work, "nfpm.yaml")
	if err := os.WriteFile(config, text, 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	target := filepath.Join(r.out, fmt.Sprintf("ptyctl-%s-linux-%s.%s", r.version, arch, format))
	// The tool runs here, whatever the package is for.
	cmd := exec.CommandContext(ctx, "go", "run", r.nfpm, "package", "--config", config, "--packager", format, "--target", target)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=", "GOARCH=", "GOFLAGS=", "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.date.Unix(), 10))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nfpm: %w\n%s", err, out)
	}
	return nil
}

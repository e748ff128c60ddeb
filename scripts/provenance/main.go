package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// main parses the flags; run does the work.
func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

// tools collects the values of a repeated flag.
type tools []string

func (t *tools) String() string { return strings.Join(*t, " ") }

func (t *tools) Set(value string) error {
	*t = append(*t, value)
	return nil
}

// commitName is a whole SHA-1 or SHA-256 of git.
var commitName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// run writes the statement about the files in a folder.
func run(args []string) error {
	flags := flag.NewFlagSet("provenance", flag.ContinueOnError)
	version := flags.String("version", "", "of the release, such as v1.2.3")
	url := flags.String("url", "", "the `URL` of the folder that the files will be in")
	commit := flags.String("commit", "", "the whole name of the commit that was built")
	dirty := flags.Bool("dirty", false, "the tree had changes that the commit lacks")
	date := flags.Int64("date", 0, "of the commit, in seconds since 1970")
	var used tools
	flags.Var(&used, "tool", "a tool as go run takes it, `PATH@VERSION`; may be given again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *url == "" || *date == 0 || flags.NArg() != 1 {
		return errors.New("missing arguments: see go doc ./scripts/provenance")
	}
	if !commitName.MatchString(*commit) {
		return fmt.Errorf("-commit %q is not the whole name of a commit", *commit)
	}
	folder, name := flags.Arg(0), "ptyctl-"+strings.TrimPrefix(*version, "v")+".intoto.json"
	subjects, err := subjectsIn(folder, name)
	if err != nil {
		return err
	}
	b := build{
		version: *version, url: strings.TrimSuffix(*url, "/"), commit: *commit, dirty: *dirty, date: time.Unix(*date, 0).UTC(), tools: used,
		goVersion: runtime.Version(),
	}
	text, err := indented(b.statement(subjects))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), text, 0o644)
}

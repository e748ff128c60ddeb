package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// main prints all errors at once.
func main() {
	if err := run(context.Background(), os.Args[1:], time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "checkrelease:", strings.ReplaceAll(err.Error(), "\n", "\ncheckrelease: "))
		os.Exit(1)
	}
}

// run checks a release. It returns all faults joined.
func run(ctx context.Context, args []string, now time.Time) error {
	flags := flag.NewFlagSet("checkrelease", flag.ContinueOnError)
	version := flags.String("version", "", "of the release, such as v1.2.3 or v1.2.3-rc.1")
	address := flags.String("url", "", "the `URL` of the folder that the files will be in")
	root := flags.String("root", ".", "folder of the source")
	dirty := flags.Bool("dirty", false, "take a tree with changes, to try a release")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := checkVersion(*version); err != nil {
		return err // the rest depends on it
	}
	faults := []error{checkURL(*address), checkTag(ctx, *root, *version)}
	if !*dirty {
		faults = append(faults, checkTree(ctx, *root))
	}
	text, err := os.ReadFile(filepath.Join(*root, "CHANGELOG.md"))
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	return errors.Join(append(faults, checkChangelog(string(text), *version, now))...)
}

// semantic matches the versions of https://semver.org that all formats of packages can express: with a v, without build
// metadata, and with no other pre-releases than those which apk sorts before the release. Numbers have no leading zero.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(alpha|beta|rc)(\.(0|[1-9]\d*))?)?$`)

func checkVersion(version string) error {
	if !semantic.MatchString(version) {
		return fmt.Errorf("VERSION %q is no semantic version with a v, or its pre-release is none of alpha, beta and rc: "+
			"give one such as v1.2.3, v1.2.3-rc.1 or v1.2.3-beta.2", version)
	}
	return nil
}

// safeURL matches addresses that need no escaping in any manifest: a shell, Ruby and JSON read them.
var safeURL = regexp.MustCompile(`^https://[A-Za-z0-9][A-Za-z0-9.-]*(:\d+)?(/[A-Za-z0-9._~+-]+)*/?$`)

func checkURL(address string) error {
	if _, err := url.Parse(address); err != nil || !safeURL.MatchString(address) {
		return fmt.Errorf("URL %q is not the https:// address of a folder: give one without a query, a user or escapes, such as https://example.com/ptyctl/v1.2.3", address)
	}
	return nil
}

// checkTree refuses changes that are not in the commit: the release could not be made again.
func checkTree(ctx context.Context, root string) error {
	text, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if text != "" {
		first, _, more := strings.Cut(text, "\n")
		if more {
			first += ", and more"
		}
		return fmt.Errorf("the tree has changes (%s): commit them, or try the release with DIRTY=1", first)
	}
	return nil
}

// checkTag refuses a version that another commit has.
func checkTag(ctx context.Context, root, version string) error {
	tags, err := git(ctx, root, "tag", "--list", version)
	if err != nil || tags == "" {
		return err
	}
	tagged, err := git(ctx, root, "rev-parse", version+"^{commit}")
	if err != nil {
		return err
	}
	head, err := git(ctx, root, "rev-parse", "HEAD")
	if err == nil && head != tagged {
		err = fmt.Errorf("the tag %s is commit %.12s, and this is %.12s: check out the tag, or choose another version", version, tagged, head)
	}
	return err
}

// checkChangelog wants a dated section of the version, with something in it (https://keepachangelog.com).
func checkChangelog(text, version string, now time.Time) error {
	number := strings.TrimPrefix(version, "v")
	want := fmt.Sprintf("## [%s] - %s", number, now.Format(time.DateOnly))
	heading := regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(number) + `\](.*)$`).FindStringSubmatchIndex(text)
	if heading == nil {
		return fmt.Errorf("CHANGELOG.md has no section for %s: write the line %q below \"## [Unreleased]\", above its lines", version, want)
	}
	if date := text[heading[2]:heading[3]]; !regexp.MustCompile(`^ - \d{4}-\d{2}-\d{2}$`).MatchString(date) {
		return fmt.Errorf("the section of %s in CHANGELOG.md has no date: write its line as %q", version, want)
	}
	section := text[heading[1]:]
	if end := strings.Index(section, "\n## "); end >= 0 {
		section = section[:end]
	}
	if !strings.Contains(section, "\n- ") {
		return fmt.Errorf("the section of %s in CHANGELOG.md lists no change: move the lines of \"## [Unreleased]\" below it", version)
	}
	return nil
}

// git runs git and returns its output without the last line's end.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}

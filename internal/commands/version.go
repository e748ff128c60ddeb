package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/cli"

	"ptyctl/internal/releases"
	"ptyctl/internal/tty"
	"ptyctl/packaging"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version, and the source it was built from, as --version does; it never uses the network",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "short", Usage: "print the version alone"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON, with the modules that are linked in"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			switch b := readBuild(c.App.Version); {
			case c.Bool("json"):
				return printJSON(c.App.Writer, b)
			case c.Bool("short"):
				_, err := fmt.Fprintln(c.App.Writer, b.Version)
				return err
			default:
				return b.print(c.App.Writer, c.App.Name)
			}
		},
	}
}

// A build describes the origin of this program.
type build struct {
	Version  string        `json:"version"`
	Commit   string        `json:"commit,omitempty"`
	Time     string        `json:"commit_time,omitempty"`
	Modified bool          `json:"modified,omitempty"` // the source differed from the commit
	Go       string        `json:"go"`
	Platform string        `json:"platform"`
	Modules  []buildModule `json:"modules,omitempty"`
}

type buildModule struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"`
}

// readBuild describes this program. Without a release, its version is the one that the Go tool recorded from the source.
func readBuild(release string) build {
	b := build{Version: "dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Time = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		for _, m := range info.Deps {
			b.Modules = append(b.Modules, buildModule{m.Path, m.Version, m.Sum})
		}
	}
	switch {
	case release != "":
		b.Version = release
	case len(b.Commit) >= 12:
		b.Version = "dev-" + b.Commit[:12]
	}
	return b
}

func (b build) print(w io.Writer, program string) error {
	text := fmt.Sprintf("%s %s\n", program, b.Version)
	if b.Commit != "" {
		text += "commit   " + b.Commit
		if b.Time != "" {
			text += " of " + b.Time
		}
		if b.Modified {
			text += ", modified since"
		}
		text += "\n"
	}
	_, err := fmt.Fprintf(w, "%sbuilt    with %s for %s\n", text, b.Go, b.Platform)
	return err
}

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check a file of a release: SHA256SUMS beside it must be signed by the maintainer, and have its hash",
		ArgsUsage: "FILE",
		Description: "FILE may also be SHA256SUMS itself. Nothing is downloaded: SHA256SUMS and SHA256SUMS.sig come from the same\n" +
			"place as FILE. The exit status is 0 if all is good, else 1.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "take the maintainer's public key from `FILE`, a line of authorized_keys or allowed_signers; default the key in this program"},
			&cli.StringFlag{Name: "sums", Usage: "take `FILE` for SHA256SUMS; default that beside the file that is checked"},
		},
		Action: verifyFile,
	}
}

func verifyFile(c *cli.Context) error {
	words, err := arguments(c, 1, 1)
	if err != nil {
		return err
	}
	keys, err := releaseKeys(c.String("key"), packaging.ReleaseKey)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	r, err := releases.Verify(words[0], c.String("sums"), keys)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	what := fmt.Sprintf("has the hash that %s lists", tty.Printable(r.Sums))
	if r.Name == "" {
		what = "lists " + tty.Count(r.Size, "file")
	}
	_, err = fmt.Fprintf(c.App.Writer, "good: %s %s, signed by %s\n", tty.Printable(words[0]), what, r.Key)
	return err
}

// releaseKeys returns the public keys of a file, or else those in the program.
func releaseKeys(path string, embedded []byte) ([]ssh.PublicKey, error) {
	text := embedded
	if path != "" {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	keys, err := releases.Keys(text)
	switch {
	case err != nil && path != "":
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("packaging/release.pub, as it was when this program was built: %w", err)
	case len(keys) == 0 && path != "":
		return nil, fmt.Errorf("%s has no public key: want a line of authorized_keys or allowed_signers", path)
	case len(keys) == 0:
		return nil, errors.New("this program has no release key, because packaging/release.pub had none when it was built: " +
			"get the maintainer's public key from a place that you trust, and name its file with --key")
	}
	return keys, nil
}

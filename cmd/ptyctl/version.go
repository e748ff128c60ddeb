package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"ptyctl/internal/cli"
)

// release is set by the build of a release: -ldflags "-X main.release=v1.2.3".
var release string

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version, and the source it was built from",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "short", Usage: "print the version alone"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON, with the modules that are linked in"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			switch b := readBuild(); {
			case c.Bool("json"):
				return printJSON(c.App.Writer, b)
			case c.Bool("short"):
				_, err := fmt.Fprintln(c.App.Writer, b.Version)
				return err
			default:
				return b.print(c.App.Writer)
			}
		},
	}
}

// version returns the release, or else the version that the Go tool recorded from the source.
func version() string { return readBuild().Version }

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

func readBuild() build {
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

func (b build) print(w io.Writer) error {
	text := fmt.Sprintf("ptyctl %s\n", b.Version)
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

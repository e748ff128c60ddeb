package commands

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"

	"filippo.io/age"

	"ptyctl/internal/cli"

	"ptyctl/internal/recordings"
	"ptyctl/internal/tty"
	"ptyctl/record"
)

func recordingsCommand() *cli.Command {
	return group(&cli.Command{
		Name: "recordings", Usage: "list, check, search and export the recordings of sessions",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "the recordings in the folder, oldest first",
				Flags:  recordingFlags(&cli.BoolFlag{Name: "json", Usage: "print JSON, one recording a line"}),
				Before: endAtOnce, Action: listRecordings,
			},
			{
				Name: "show", Usage: "what a recording is of, and its markers: the calls", ArgsUsage: "FILE|ID",
				Flags: recordingFlags(), Before: endAtOnce, Action: showRecording,
			},
			{
				Name: "verify", Usage: "check the seals of recordings; ptyctl audit verify also finds a cut tail, and a " +
					"file that was exchanged", ArgsUsage: "FILE|ID...",
				Flags: recordingFlags(), Before: endAtOnce, Action: verifyRecordings,
			},
			{
				Name: "search", Usage: "the lines that match, markers included", ArgsUsage: "REGEX [FILE|ID...]",
				Flags: recordingFlags(
					&cli.BoolFlag{Name: "i", Usage: "upper and lower case are the same"},
					&cli.IntFlag{Name: "n", Value: 1000, Usage: "at most so many `LINES`"},
				), Action: searchRecordings,
			},
			{
				Name: "export", Usage: "a recording as asciicast v2, text, an animated picture, or as it is, decrypted",
				ArgsUsage: "FILE|ID",
				Flags: recordingFlags(
					&cli.StringFlag{Name: "to", Required: true, Usage: "the `FORM`: one of v2, txt, svg, v3"},
					&cli.StringFlag{Name: "o", Usage: "the `FILE` to write, which must not exist; default stdout"},
					&cli.IntFlag{Name: "max-bytes", Value: 2 << 20, Usage: "svg: how large it may become, in `BYTES`"},
				), Before: endAtOnce, Action: exportRecording,
			},
		},
	})
}

// endAtOnce lets ctrl-c and TERM end this process, as they do where nothing has to be closed first. Recordings are large,
// and a file may have no end.
func endAtOnce(*cli.Context) error {
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	return nil
}

// recordingFlags are those of commands about recordings, with more.
func recordingFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		configFlag(),
		&cli.StringFlag{Name: "dir", Usage: "the `FOLDER` of recordings; default record.dir of the configuration"},
		identityFlag(),
	}, more...)
}

func identityFlag() cli.Flag {
	return &cli.StringFlag{Name: "identity", Usage: "a `FILE` with identities of age, for encrypted recordings"}
}

// identities reads the file that --identity names.
func identities(c *cli.Context) ([]age.Identity, error) {
	name := c.String("identity")
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ids, err := age.ParseIdentities(f)
	if err != nil {
		return nil, usageError{fmt.Errorf("--identity %s: %w", name, err)}
	}
	return ids, nil
}

// recordingsFolder returns the folder of recordings, or "" without one.
func recordingsFolder(c *cli.Context) (string, error) {
	if dir := c.String("dir"); dir != "" {
		return dir, nil
	}
	cfg, _, err := loadConfig(c)
	return cfg.Record.Dir, err
}

// errNoFolder means that recordings are off.
var errNoFolder = usageError{errors.New(
	"there is no folder of recordings: set record.dir in the configuration, or give --dir",
)}

// recordingPaths returns the paths of recordings that words name; all in the folder without any words.
func recordingPaths(c *cli.Context, words []string) (paths []string, err error) {
	dir, err := recordingsFolder(c)
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		path, err := record.Find(dir, w)
		switch {
		case err == nil:
		case dir == "":
			return nil, fmt.Errorf("%w; give the path of a recording, or its folder by --dir or record.dir", err)
		default:
			return nil, fmt.Errorf("%w; ptyctl recordings list shows those that there are", err)
		}
		paths = append(paths, path)
	}
	if len(words) > 0 {
		return paths, nil
	}
	if dir == "" {
		return nil, errNoFolder
	}
	err = record.List(dir, func(s record.Stored) bool { paths = append(paths, s.Path); return true })
	return paths, err
}

// namedRecording returns the path of the recording that the command line names, and the identities to read it.
func namedRecording(c *cli.Context) (string, []age.Identity, error) {
	words, err := arguments(c, 1, 1)
	if err != nil {
		return "", nil, err
	}
	paths, err := recordingPaths(c, words)
	if err != nil {
		return "", nil, err
	}
	ids, err := identities(c)
	return paths[0], ids, err
}

func listRecordings(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	dir, err := recordingsFolder(c)
	if err != nil {
		return err
	}
	if dir == "" {
		return errNoFolder
	}
	ids, err := identities(c)
	if err != nil {
		return err
	}
	return recordings.List(c.App.Writer, dir, c.Bool("json"), ids...)
}

func showRecording(c *cli.Context) error {
	path, ids, err := namedRecording(c)
	if err != nil {
		return err
	}
	return recordings.Show(c.App.Writer, path, ids...)
}

func verifyRecordings(c *cli.Context) error {
	words, err := arguments(c, 1, -1)
	if err != nil {
		return err
	}
	paths, err := recordingPaths(c, words)
	if err != nil {
		return err
	}
	ids, err := identities(c)
	if err != nil {
		return err
	}
	var broken []error
	for _, path := range paths {
		rep, err := record.Verify(path, nil, ids...)
		switch {
		case err != nil:
			broken = append(broken, err)
		case rep.Seals == 0:
			broken = append(broken, fmt.Errorf("%s: there is no seal, so nothing proves what is in it: its writer was killed "+
				"within seconds, or it is no recording", path))
		default:
			fmt.Fprintf(c.App.Writer, "ok: %s: %s\n", tty.Printable(path), recordings.Verdict(rep))
		}
	}
	return errors.Join(broken...)
}

func searchRecordings(c *cli.Context) error {
	words, err := arguments(c, 1, -1)
	if err != nil {
		return err
	}
	if c.Int("n") < 1 {
		return usageError{fmt.Errorf("-n takes a number of lines from 1 on, not %d", c.Int("n"))}
	}
	expr := words[0]
	if c.Bool("i") {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return usageError{fmt.Errorf("%q is not a pattern: %w", words[0], err)}
	}
	paths, err := recordingPaths(c, words[1:])
	if err != nil {
		return err
	}
	ids, err := identities(c)
	if err != nil {
		return err
	}
	return recordings.Search(c.Context, c.App.Writer, paths, re, c.Int("n"), ids...)
}

func exportRecording(c *cli.Context) error {
	form := c.String("to")
	switch {
	case !slices.Contains([]string{recordings.FormV2, recordings.FormText, recordings.FormSVG, recordings.FormV3}, form):
		return usageError{fmt.Errorf("--to takes v2, txt, svg or v3, not %q", form)}
	case c.Int("max-bytes") < 1:
		return usageError{fmt.Errorf("--max-bytes takes a number of bytes from 1 on, not %d", c.Int("max-bytes"))}
	case form != recordings.FormText && c.String("o") == "" && tty.IsTerminal(os.Stdout):
		return usageError{
			fmt.Errorf("--to %s is for programs, not for a terminal: give -o FILE, or redirect the output", form),
		}
	}
	path, ids, err := namedRecording(c)
	if err != nil {
		return err
	}
	out := c.App.Writer
	if name := c.String("o"); name != "" {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	return recordings.Export(out, path, form, c.Int("max-bytes"), ids...)
}

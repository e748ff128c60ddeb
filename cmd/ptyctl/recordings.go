package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"filippo.io/age"
	"github.com/urfave/cli/v2"

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
				Action: listRecordings,
			},
			{
				Name: "show", Usage: "what a recording is of, and its markers: the calls", ArgsUsage: "FILE|ID",
				Flags: recordingFlags(), Action: showRecording,
			},
			{
				Name: "verify", Usage: "check the seals of recordings; ptyctl audit verify also finds a cut tail, and a " +
					"file that was exchanged", ArgsUsage: "FILE|ID...",
				Flags: recordingFlags(), Action: verifyRecordings,
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
				), Action: exportRecording,
			},
		},
	})
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

// recordingsFolder returns the folder of recordings; "" if there is none.
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
		if err != nil {
			return nil, err
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

// A storedRecording is the JSON of recordings list.
type storedRecording struct {
	Path      string    `json:"path"`
	Name      string    `json:"name"`
	Session   string    `json:"session_id,omitempty"`
	Host      string    `json:"host,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Written   time.Time `json:"written"`
	Bytes     int64     `json:"bytes"`
	Complete  bool      `json:"complete"`
	Encrypted bool      `json:"encrypted,omitempty"`
	Problem   string    `json:"problem,omitempty"`
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
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	if !c.Bool("json") {
		fmt.Fprintln(table, "STARTED\tSESSION\tHOST\tSIZE\tSTATE\tFILE")
	}
	var failed error
	rows := 0
	err = record.List(dir, func(s record.Stored) bool {
		about := s.Header.About
		state := "open or cut off"
		switch {
		case errors.Is(s.Err, record.ErrEncrypted):
			state = "encrypted"
		case s.Err != nil:
			state = tty.Printable(s.Err.Error())
		case s.Ended:
			state = "complete"
		}
		if c.Bool("json") {
			row := storedRecording{
				Path: s.Path, Name: s.Name, Session: tty.Printable(about.Session), Host: tty.Printable(about.Host), Started: about.Started, Written: s.Written,
				Bytes: s.Size, Complete: s.Ended, Encrypted: s.Encrypted,
			}
			if s.Err != nil && !errors.Is(s.Err, record.ErrEncrypted) {
				row.Problem = tty.Printable(s.Err.Error())
			}
			failed = json.NewEncoder(c.App.Writer).Encode(row)
			return failed == nil
		}
		started := about.Started
		if started.IsZero() {
			started = s.Written
		}
		_, failed = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", started.Local().Format(time.DateTime),
			tty.Printable(cmp.Or(about.Session, s.Name)), tty.Printable(about.Host), sizeText(s.Size), state, tty.Printable(s.Path))
		if rows++; rows%256 == 0 { // the widths of columns are those of a part, so that memory is bounded
			failed = errors.Join(failed, table.Flush())
		}
		return failed == nil
	}, ids...)
	return errors.Join(err, failed, table.Flush())
}

// sizeText is a size for people.
func sizeText(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func showRecording(c *cli.Context) error {
	r, path, err := oneRecording(c)
	if err != nil {
		return err
	}
	defer r.Close()
	h := r.Header
	out := bufio.NewWriter(c.App.Writer)
	fmt.Fprintf(out, "file      %s\nsession   %s\nhost      %s\nprotocol  %s\nstarted   %s\nterminal  %dx%d\n\n",
		tty.Printable(path), tty.Printable(h.About.Session), tty.Printable(h.About.Host), tty.Printable(h.About.Protocol),
		h.About.Started.Local().Format(time.RFC3339), h.Term.Cols, h.Term.Rows)
	n := 0
	var last time.Duration
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		last = e.Time
		if e.Code == 'm' {
			n++
			fmt.Fprintf(out, "%4d %9s  %s\n", n, record.Clock(e.Time), tty.Printable(e.Text))
		}
	}
	fmt.Fprintf(out, "\n%s, %s\n", record.Clock(last), tty.Count(n, "marker"))
	if r.Torn() {
		fmt.Fprintln(out, "note: the file ends in the middle of a line: it is being written, or was cut off")
	}
	return out.Flush()
}

// oneRecording opens the recording that the command line names.
func oneRecording(c *cli.Context) (*record.Reader, string, error) {
	path, ids, err := namedRecording(c)
	if err != nil {
		return nil, "", err
	}
	r, err := record.Open(path, ids...)
	return r, path, err
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
			fmt.Fprintf(c.App.Writer, "ok: %s: %s\n", tty.Printable(path), verdict(rep))
		}
	}
	return errors.Join(broken...)
}

// verdict says what the seals of a recording show.
func verdict(rep record.Report) string {
	switch {
	case rep.Ended:
		return tty.Count(rep.Seals, "seal") + ", complete"
	case rep.Open > 0:
		return fmt.Sprintf("%s, and %d bytes after the last, which prove nothing: it is being written, or was cut off",
			tty.Count(rep.Seals, "seal"), rep.Open)
	}
	return tty.Count(rep.Seals, "seal") + ", not complete: it is being written, or was cut off"
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
	s := search{re: re, left: c.Int("n"), out: bufio.NewWriter(c.App.Writer), progress: newProgress(len(paths))}
	for i, path := range paths {
		if err := s.file(c, i, path, ids); err != nil {
			s.progress.clear()
			return err
		}
		if s.left <= 0 {
			s.progress.clear()
			fmt.Fprintln(os.Stderr, "ptyctl: there may be more: -n is reached")
			break
		}
	}
	s.progress.clear()
	if s.found == 0 && s.left > 0 {
		return fmt.Errorf("search: no line of %s matches", tty.Count(len(paths), "recording"))
	}
	return nil
}

// A search goes through recordings.
type search struct {
	re       *regexp.Regexp
	found    int
	left     int
	out      *bufio.Writer
	progress *progress
}

// file searches one recording. One that cannot be read must not keep others from being searched.
func (s *search) file(c *cli.Context, i int, path string, ids []age.Identity) error {
	r, err := record.Open(path, ids...)
	if err != nil {
		s.progress.clear()
		fmt.Fprintln(os.Stderr, "ptyctl: skipped:", tty.Printable(err.Error()))
		return nil
	}
	defer r.Close()
	err = record.Search(c.Context, r, s.re, func(read, of int64) { s.progress.show(i, read, of) }, func(m record.Match) bool {
		s.progress.clear()
		mark := " "
		if m.Line.Marker {
			mark = "-"
		}
		fmt.Fprintf(s.out, "%s:%s:%s %s\n", tty.Printable(path), record.Clock(m.Time), mark, tty.Printable(m.Text))
		s.found++
		s.left--
		return s.left > 0
	})
	if failed := s.out.Flush(); failed != nil || err == nil || c.Context.Err() != nil {
		return errors.Join(err, failed)
	}
	s.progress.clear()
	fmt.Fprintln(os.Stderr, "ptyctl: the rest of it is skipped:", tty.Printable(err.Error()))
	return nil
}

// A progress shows on a terminal how far a search is.
type progress struct {
	files int
	on    bool
	last  time.Time
	shown bool
}

func newProgress(files int) *progress {
	return &progress{files: files, on: tty.IsTerminal(os.Stderr), last: time.Now()}
}

func (p *progress) show(file int, read, of int64) {
	if !p.on || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d recordings, %d of %d MiB of this one", file+1, p.files, read>>20, of>>20)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
		p.shown = false
	}
}

func exportRecording(c *cli.Context) error {
	form := c.String("to")
	switch {
	case !slices.Contains([]string{"v2", "txt", "svg", "v3"}, form):
		return usageError{fmt.Errorf("--to takes v2, txt, svg or v3, not %q", form)}
	case c.Int("max-bytes") < 1:
		return usageError{fmt.Errorf("--max-bytes takes a number of bytes from 1 on, not %d", c.Int("max-bytes"))}
	case form != "txt" && c.String("o") == "" && tty.IsTerminal(os.Stdout):
		return usageError{fmt.Errorf("--to %s is for programs, not for a terminal: give -o FILE, or redirect the output", form)}
	}
	path, ids, err := namedRecording(c)
	if err != nil {
		return err
	}
	out := io.Writer(c.App.Writer)
	if name := c.String("o"); name != "" {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	switch form {
	case "svg":
		return exportSVG(out, path, ids, c.Int("max-bytes"))
	case "v3":
		return record.Plain(out, path, ids...)
	}
	r, err := record.Open(path, ids...)
	if err != nil {
		return err
	}
	defer r.Close()
	if form == "v2" {
		return record.V2(out, r)
	}
	return record.Text(out, r)
}

func exportSVG(w io.Writer, path string, ids []age.Identity, most int) error {
	p, err := record.Play(path, ids...)
	if err != nil {
		return err
	}
	defer p.Close()
	cut, err := record.SVG(w, p, record.SVGOptions{MaxBytes: most})
	if err == nil && cut > 0 {
		fmt.Fprintf(os.Stderr, "ptyctl: the picture ends at %s, because it would be too large; see --max-bytes\n",
			strings.TrimSpace(record.Clock(cut)))
	}
	return err
}

package filecopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"

	"ptyctl/term"
)

// An End is one end of a copy.
type End struct {
	Path string
	Open func(ctx context.Context) (term.CopyFiles, error) // called once, when the copy is permitted
	// Machine names the machine, so that no copy resumes the partial copy of another machine's file.
	Machine string
}

// A Permit asks whether a file may be read or written, and has that recorded. If it may, done must be called with the
// outcome.
type Permit func(ctx context.Context, verb term.Verb, path, what string) (done Done, err error)

// A Done takes the number of bytes moved, a note on them, such as their checksum, and the error.
type Done func(bytes int64, note string, err error)

// A Copy is a request. A zero field takes the default named beside it.
type Copy struct {
	From, To  End
	Recursive bool  // From is a folder
	Resume    bool  // resume the partial file of an earlier copy with Resume, and leave one on failure
	Verify    *bool // read the target back, and compare the checksums; nil: if the file is smaller than 64 MiB
	New       bool  // a single file replaces none
	MaxBytes  int64 // 0: 1 GiB
	MaxFiles  int   // in a tree, with folders; 0: 10,000

	Parts  *Parts // those in use; nil: no other copies run
	Permit Permit // nil: all is permitted
	// Compare asks whether the file at the target's path may be read. A single file is left alone then if it has the
	// bytes of the source. nil: it is not looked at.
	Compare  func(ctx context.Context, path string) bool
	Progress func(moved, total int64) // must not block; may be nil
}

// A Result counts the files and bytes of a copy.
type Result struct {
	To       string // the path of the copy
	Bytes    int64  // moved
	Files    int
	Folders  int
	Same     int    // files of a tree that an earlier copy had brought
	SHA256   string // of a single file's content now, in hex; empty: not known
	Verified bool   // all of it was read back
	Resumed  int64  // bytes of a single file that an earlier copy had brought
	Tree     bool   // a folder was copied
	Created  bool   // there was no such file
	Changed  bool   // a file changed while it was copied, so the copy may be of no one state of it

	Size      int64 // of a single file now
	Unchanged bool  // a single file had the bytes of the source, and was left alone
	Unsure    bool  // with an error: a single file may have been replaced, as the answer to the last request is missing

	Skipped []Skip // the first of those that were not copied
	Skips   int    // how many were not copied
	Failed  int    // how many of these because of an error
}

// A Skip is an entry of a tree that was not copied.
type Skip struct {
	Path string
	Why  string // empty: Err says it
	Err  error
}

const (
	defaultBytes = 1 << 30
	defaultFiles = 10_000
	verifyBelow  = 64 << 20
	maxSkipped   = 20  // Skips in a Result
	maxSkipPath  = 512 // bytes of the path of one, which a far side may choose
	maxDepth     = 64  // folders in folders

	// maxName is the longest name of a file, in bytes. File systems have up to 255 characters; a far side could fill
	// the memory with names of its own.
	maxName = 1024
)

// A copying is a Copy that runs.
type copying struct {
	*Copy
	from, to term.CopyFiles
	pump     *pump
	total    int64 // bytes, as far as is known
	kept     bool  // the file under way is left for a later copy
	result   Result
}

// Run copies. The Result is valid also with an error.
//
// A target path that ends in a slash, or is an existing folder to which a file is copied, names the folder in which the
// copy gets the name of its source. A folder is copied into an existing one of that path: their entries are merged.
func (c *Copy) Run(ctx context.Context) (Result, error) {
	x := &copying{Copy: c}
	c.MaxBytes, c.MaxFiles = cmp.Or(c.MaxBytes, defaultBytes), cmp.Or(c.MaxFiles, defaultFiles)
	if c.Permit == nil {
		c.Permit = func(context.Context, term.Verb, string, string) (Done, error) {
			return func(int64, string, error) {}, nil
		}
	}
	err := x.run(ctx)
	if err != nil && ctx.Err() != nil {
		e, ok := errors.AsType[*term.Error](err)
		if !ok || e.Kind == term.Canceled || e.Reason == term.ReasonTransferSlow {
			err = x.unfinished(x.ended(ctx)) // which says more than the error of a request under way
		}
	}
	return x.result, err
}

// run asks for both ends, opens them, and copies.
func (x *copying) run(ctx context.Context) (err error) {
	what := "copy"
	if x.Recursive {
		what = "copy of a tree"
	}
	read, err := x.Permit(ctx, term.VerbFileRead, x.From.Path, what)
	if err != nil {
		return err
	}
	var note string
	var moved int64
	defer func() { read(moved, note, err) }()
	into, err := x.Permit(ctx, term.VerbFileWrite, x.To.Path, what)
	if err != nil {
		return err
	}
	defer func() { into(moved, note, err) }()

	if x.from, err = x.From.Open(ctx); err != nil {
		return err
	}
	if x.to, err = x.To.Open(ctx); err != nil {
		return err
	}
	x.pump = newPump(x.from, x.to)
	source, err := x.from.Look(ctx, x.From.Path)
	if err != nil {
		return err
	}
	if x.result.To, err = x.target(ctx, source); err != nil {
		return err
	}
	if x.result.To != x.To.Path { // one more path, which has a right of its own
		below, err := x.Permit(ctx, term.VerbFileWrite, x.result.To, what)
		if err != nil {
			return err
		}
		defer func(outer Done) {
			into = func(_ int64, _ string, err error) { outer(0, "", err) }
			below(moved, note, err)
		}(into)
	}
	if x.result.Tree = source.Mode.IsDir(); x.result.Tree {
		return x.tree(ctx)
	}
	moved, err = x.file(ctx, job{from: x.From.Path, to: x.result.To, alone: true})
	if x.result.SHA256 != "" {
		note = "sha256 " + x.result.SHA256
	}
	if x.result.Unchanged {
		note = "unchanged " + note
	}
	return err
}

// target returns the path of the copy.
func (x *copying) target(ctx context.Context, source term.FileEntry) (string, error) {
	switch dir := source.Mode.IsDir(); {
	case dir && !x.Recursive:
		return "", invalid(term.FieldCopyFrom, "the source is a folder; a copy of it must be recursive")
	case !dir && x.Recursive:
		return "", invalid(term.FieldCopyFrom, "the source is no folder; a copy of it is not recursive")
	}
	to := x.To.Path
	into := strings.HasSuffix(to, "/")
	if !into && !source.Mode.IsDir() {
		e, err := x.to.Look(ctx, to)
		into = err == nil && e.Mode.IsDir()
	}
	if !into {
		return to, nil
	}
	name := path.Base(path.Clean(x.From.Path))
	if name == "." || name == ".." || name == "/" {
		return "", invalid(term.FieldCopyTo, "the source's path ends in no name; give the path of the copy with its name")
	}
	return path.Join(to, name), nil
}

// count adds to the bytes moved.
func (x *copying) count(n int) error {
	x.result.Bytes += int64(n)
	if x.Progress != nil {
		x.Progress(x.result.Bytes, max(x.total, x.result.Bytes))
	}
	if x.result.Bytes > x.MaxBytes {
		return x.tooLarge(x.result.Bytes)
	}
	return nil
}

// tooLarge is the error for more bytes than one copy may move. The sum of sizes that a far side names may overflow.
func (x *copying) tooLarge(n int64) error {
	if n < 0 {
		n = math.MaxInt64
	}
	return &term.Error{
		Op: string(term.VerbFileRead), Kind: term.LimitExceeded,
		Msg:    fmt.Sprintf("a copy may move %d bytes, and this one has %d or more", x.MaxBytes, n),
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitCopyBytes, Value: x.MaxBytes}},
		Advice: "copy a part of it at a time",
	}
}

// ended is the error of a copy after the end of its context.
func (x *copying) ended(ctx context.Context) error {
	kept := ""
	if x.Resume && (x.kept || x.result.Files > 0) {
		kept = "; what has come is kept, and a copy with resume goes on with it"
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &term.Error{
			Op: "copy", Kind: term.IOError, Reason: term.ReasonTransferSlow, Err: ctx.Err(),
			Msg: "the copy timed out" + kept, Advice: "give it more time, or copy less at a time",
		}
	}
	return &term.Error{Op: "copy", Kind: term.Canceled, Err: ctx.Err(), Msg: "the copy was canceled" + kept}
}

// invalid is the error for a path that cannot be copied from or to.
func invalid(field term.Field, text string) error {
	return &term.Error{
		Op: "copy", Kind: term.InvalidArgument, Msg: text, Facts: term.Facts{term.ArgumentFault{Field: field}},
	}
}

// placed names the part of a target that was not found: its folder, for the file itself need not be there. Some
// folders, such as /proc, refuse a new file in the same words. The error about a name with ~ is returned as it is.
func (x *copying) placed(ctx context.Context, to string, err error) error {
	if !errors.Is(err, term.NotFound) || to == "~" || strings.HasPrefix(to, "~/") {
		return err
	}
	e := &term.Error{
		Op: string(term.VerbFileWrite), Kind: term.NotFound, Err: err,
		Msg: fmt.Sprintf("the folder of %.300q does not exist; make it first", to),
	}
	if !strings.Contains(to, "/") { // on Windows, it may still have a folder
		return e
	}
	if dir, err := x.to.Look(ctx, path.Dir(path.Clean(to))); err == nil && dir.Mode.IsDir() {
		e.Kind = term.Unsupported
		e.Msg = fmt.Sprintf(
			"%.300q cannot be made: its folder is there, and the system answers \"no such file\"; copy to another folder", to,
		)
	}
	return e
}

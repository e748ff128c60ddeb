package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ptyctl/fleet/stage"
	"ptyctl/session"
	"ptyctl/session/access"
	"ptyctl/session/known"
	"ptyctl/session/transfer"
	"ptyctl/term"
)

// A Copy is a file that is brought to all hosts, or one that is collected from each of them, in place of a command.
// Only regular files are copied, no folders.
type Copy struct {
	Collect   bool
	From      session.CopyPlace // of the file; Collect: its path on each host, without a session
	To        string            // its path on each host; Collect: the folder here that gets a folder for each host
	Overwrite bool              // Collect: replace a file that is here and has other content
	Verify    *bool             // read each copy back before it takes its place; nil: of files smaller than 64 MiB
}

// A Copied is the outcome of the copy of one host's file.
type Copied struct {
	Bytes     int64  // its size
	SHA256    string // empty: not known
	Unchanged bool   // it was there already, and nothing was written
	Verified  bool   // it was read back
	Changed   bool   // Collect: it changed while it was copied
}

// copyTimeout is how long the copy of one host may take if the request does not say.
const copyTimeout = 10 * time.Minute

// copyWindow is the most memory for the blocks of all copies of a run that are under way.
const copyWindow = 64 << 20

// words describes the copy for people.
func (c *Copy) words() string {
	if c.Collect {
		return "collect " + c.From.Path + " to " + c.To
	}
	return "copy " + c.From.Path + " to " + c.To
}

// check refuses paths that name no file, and hosts that would share a folder.
func (c *Copy) check(hosts []Host) error {
	invalid := func(field term.Field, format string, args ...any) error {
		e := term.Errorf(term.InvalidArgument, format, args...)
		e.Op, e.Facts = "fleet", term.Facts{term.ArgumentFault{Field: field}}
		return e
	}
	from := term.FieldCopyFrom
	if c.Collect {
		from = term.FieldPath
	}
	switch {
	case c.From.Path == "" || strings.IndexByte(c.From.Path, 0) >= 0:
		return invalid(from, "the path of the file is empty, or holds a NUL byte")
	case c.To == "" || strings.IndexByte(c.To, 0) >= 0:
		return invalid(term.FieldCopyTo, "the path of the copy is empty, or holds a NUL byte")
	case !c.Collect && !strings.HasSuffix(c.To, "/"):
		return nil
	}
	if name := c.name(); name == "" || strings.HasSuffix(c.From.Path, "/") {
		return invalid(from, "the path %.300q ends in no name of a file, and only files are copied", c.From.Path)
	}
	had := make(map[string]string, len(hosts))
	for _, h := range hosts {
		folder := strings.ToLower(FolderName(h.Label)) // which some file systems take for the same
		if other, ok := had[folder]; ok && c.Collect {
			return invalid("", "the files of %.100q and %.100q would have one folder; collect them in two calls, to two folders",
				other, h.Label)
		}
		had[folder] = h.Label
	}
	return nil
}

// name returns the name of the file without its folder, or "".
func (c *Copy) name() string {
	name := path.Base(path.Clean(c.From.Path))
	if name == "." || name == "/" || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return ""
	}
	return name
}

// targets returns the paths that a copy to hosts may write, as far as is known before: To may be a folder.
func (c *Copy) targets() []string {
	if strings.HasSuffix(c.To, "/") {
		return []string{c.To, path.Join(c.To, c.name())}
	}
	return []string{c.To}
}

// here returns the path of the collected file of a host.
func (c *Copy) here(label string) string { return filepath.Join(c.To, FolderName(label), c.name()) }

// maxFolder is the length of the longest name of a host's folder.
const maxFolder = 200

// FolderName returns the name of the folder for the files of a host: its label without brackets, with an underscore for
// each byte that is no letter, digit, dot, hyphen or @, and for a dot at its begin or end. It never leads out of its
// folder.
func FolderName(label string) string {
	name := []byte(strings.NewReplacer("[", "", "]", "").Replace(label))
	for i, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '@':
		case c == '.' && i > 0 && i < len(name)-1:
		default:
			name[i] = '_'
		}
	}
	if len(name) == 0 {
		return "_"
	}
	return string(name[:min(len(name), maxFolder)])
}

// copying is shared by the hosts of a run for a copy.
type copying struct {
	id    string     // of the copy, for the record
	file  stage.File // that is brought to the hosts
	here  *access.Authorizer
	limit int64           // bytes of a file, and of all files that are collected
	links map[string]bool // the names in the folder for collected files that are symbolic links
	moved counter
}

// newCopying prepares a copy that has not begun.
func (r *Run) newCopying() *copying {
	c := r.f.c
	return &copying{
		id: session.NewID("copy"), limit: c.CopyBytes,
		here: access.New(access.Options{
			Protocol: "local", Host: "localhost", Fleet: r.id,
			Gate: c.Gate, Journal: c.Journal, Observers: c.Observers, Log: c.Logger,
		}),
	}
}

// visitHere returns the secrets that messages about files of this machine must not show.
func (r *Run) visitHere() (*known.View, func()) { return r.f.c.Known.Visit(term.Place("", 0)) }

// local returns files of this machine for the run. Each action on them is authorized and recorded.
func (r *Run) local(files term.Files) *transfer.Files {
	return transfer.Local(r.copying.here, files, r.visitHere)
}

// unrecorded returns files that are no part of any machine: the file of a run between its two ends.
func unrecorded(files term.CopyFiles) *transfer.Files {
	return transfer.Local(access.New(access.Options{}), files, nil)
}

// judgeCopy asks whether the file may be read and written, as far as this host is concerned.
func (h *host) judgeCopy(ctx context.Context, far *term.PlannedHop) error {
	c := h.run.r.Copy
	if !c.Collect {
		for _, to := range c.targets() {
			if _, err := h.auth.Judge(ctx, term.Action{Verb: term.VerbFileWrite, Path: to, Far: far}); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := h.auth.Judge(ctx, term.Action{Verb: term.VerbFileRead, Path: c.From.Path, Far: far}); err != nil {
		return err
	}
	_, err := h.run.copying.here.Judge(ctx, term.Action{Verb: term.VerbFileWrite, Path: c.here(h.Label)})
	return err
}

// prepare reads the file for the hosts, or makes the folder for theirs. All hosts have been judged, and none has been
// connected to.
func (r *Run) prepare(ctx context.Context) error {
	if r.r.Copy == nil {
		return nil
	}
	err := r.stage(ctx)
	if err == nil {
		return nil
	}
	view, leave := r.visitHere()
	defer leave()
	e, ok := errors.AsType[*term.Error](view.Error(err))
	if !ok {
		return err
	}
	said := *e
	said.Msg = "nothing was copied: " + e.Msg
	return &said
}

// stage does the work of prepare.
func (r *Run) stage(ctx context.Context) error {
	c := r.r.Copy
	if c.Collect {
		return r.makeFolder(ctx)
	}
	from := transfer.CopyEnd{Path: c.From.Path, Files: r.local(r.f.c.Here)}
	if c.From.Session != nil {
		from.Files = c.From.Session.Files()
	}
	_, err := transfer.Copy(ctx, transfer.CopyRequest{
		From: from, To: transfer.CopyEnd{Files: unrecorded(r.copying.file.Files()), Path: "/file"}, Verify: new(false), MaxBytes: r.copying.limit,
		ID: r.copying.id,
	})
	if fault := term.FactOf[term.ArgumentFault](err); fault.Field == term.FieldCopyFrom {
		return &term.Error{
			Op: "fleet", Kind: term.InvalidArgument, Err: err, Facts: term.Facts{fault},
			Msg: fmt.Sprintf("%.300q is a folder, and only files are copied to many hosts; pack it into one file first", c.From.Path),
		}
	}
	return err
}

// makeFolder makes the folder for collected files.
func (r *Run) makeFolder(ctx context.Context) error {
	files, ok := r.f.c.Here.(term.CopyFiles)
	if !ok {
		return notOffered(term.SettingLocalFiles)
	}
	d := r.copying.here.Begin(ctx, term.VerbFileWrite, term.Event{
		Path: r.r.Copy.To, Detail: "folder", PartOf: term.PartOf{Copy: r.copying.id},
	})
	err := d.PermitUnlocked(ctx, term.Action{Path: r.r.Copy.To})
	made := false
	if err == nil {
		made, err = files.MakeFolder(ctx, r.r.Copy.To, folderMode)
	}
	if err == nil && !made {
		r.copying.links, err = linksIn(ctx, files, r.r.Copy.To)
	}
	d.End(err)
	return err
}

// maxEntries is the most entries of a folder for collected files that was there before.
const maxEntries = 100_000

// linksIn returns the names in a folder that are symbolic links.
func linksIn(ctx context.Context, files term.CopyFiles, folder string) (map[string]bool, error) {
	entries, err := files.Entries(ctx, folder, maxEntries)
	links := make(map[string]bool)
	for _, e := range entries {
		if e.Mode.Type() == fs.ModeSymlink {
			links[e.Name] = true
		}
	}
	return links, err
}

// folderMode has the permissions of new folders for collected files: files that are private on a host stay private
// here.
const folderMode = 0o700

// notOffered is the error for files that the operator does not offer.
func notOffered(files term.Setting) error {
	return &term.Error{
		Op: "fleet", Kind: term.PolicyDenied, Facts: term.Facts{term.Denial{Setting: files}},
		Msg: "the " + string(files) + " are not offered", Advice: "the operator may change that",
	}
}

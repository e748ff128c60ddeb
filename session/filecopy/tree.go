package filecopy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"ptyctl/term"
)

// An item is a file or a folder of a tree.
type item struct {
	rel   string // below the source; empty: the source itself
	entry term.FileEntry
	twin  bool // another name of its folder differs only in upper and lower case
}

// tree copies a folder. It is listed as a whole before anything is copied, so a tree that is too large changes nothing.
func (x *copying) tree(ctx context.Context) error {
	source, err := x.from.Look(ctx, x.From.Path)
	if err != nil {
		return err
	}
	items, err := x.walk(ctx)
	if err != nil {
		return err
	}
	if x.total > x.MaxBytes {
		return x.tooLarge(x.total)
	}
	x.result.Verified = true // unless a file is not
	gone := make(map[string]bool)
	for _, i := range append([]item{{entry: source}}, items...) {
		if gone[path.Dir(i.rel)] && i.rel != "" {
			gone[i.rel] = i.entry.Mode.IsDir()
			continue // its folder was not copied, which says enough
		}
		err := x.item(ctx, i)
		switch {
		case err == nil:
		case ctx.Err() != nil || !alone(err) || i.rel == "":
			return x.unfinished(err)
		default:
			x.fail(i.rel, err)
			gone[i.rel] = i.entry.Mode.IsDir()
		}
	}
	x.result.Verified = x.result.Verified && x.result.Files > 0
	return nil
}

// alone says whether an error is about one file, so that the others of a tree can still be copied.
func alone(err error) bool {
	switch term.KindOf(err) {
	case term.NotFound, term.AccessDenied, term.PolicyDenied, term.Unsupported, term.InvalidArgument:
		return true
	}
	return false
}

// unfinished says how much of the tree was copied before an error.
func (x *copying) unfinished(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok || x.result.Files == 0 {
		return err
	}
	more := *e
	more.Msg += fmt.Sprintf(" (%d files were copied before)", x.result.Files)
	return &more
}

// walk lists the tree: each folder before its entries. Every folder is asked for as a list of it is.
func (x *copying) walk(ctx context.Context) (items []item, err error) {
	seen := 0
	folders := []string{""}
	for len(folders) > 0 {
		dir := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		entries, err := x.list(ctx, dir, seen)
		if err != nil && (dir == "" || ctx.Err() != nil || !alone(err)) {
			return nil, err
		}
		if err != nil {
			x.fail(dir, err)
			continue
		}
		if seen += len(entries); seen > x.MaxFiles {
			return nil, x.tooMany()
		}
		twins := twins(entries)
		for _, e := range entries {
			rel := path.Join(dir, e.Name)
			switch {
			case !filepath.IsLocal(e.Name) || filepath.Base(e.Name) != e.Name: // on Windows, names that are paths here
				x.skip(Skip{Path: rel, Why: "no name for a file of this machine"})
			case len(e.Name) > maxName:
				x.skip(Skip{Path: rel, Why: "its name is too long"})
			case e.Mode.IsDir():
				if strings.Count(rel, "/") >= maxDepth {
					return nil, &term.Error{
						Op: "copy", Kind: term.LimitExceeded,
						Msg: fmt.Sprintf("the tree has more than %d folders in each other", maxDepth),
					}
				}
				items = append(items, item{rel, e, twins[e.Name]})
				folders = append(folders, rel)
			case e.Mode.IsRegular():
				items = append(items, item{rel, e, twins[e.Name]})
				x.total += e.Size
				if x.total > x.MaxBytes || x.total < 0 {
					return nil, x.tooLarge(x.total)
				}
			default:
				x.skip(Skip{Path: rel, Why: kind(e)})
			}
		}
	}
	return items, nil
}

// list lists one folder of the source.
func (x *copying) list(ctx context.Context, dir string, seen int) (entries []term.FileEntry, err error) {
	name := x.below(x.From.Path, dir)
	done, err := x.Permit(ctx, term.VerbFileRead, name, "list")
	if err != nil {
		return nil, err
	}
	entries, err = x.from.Entries(ctx, name, x.MaxFiles-seen)
	if errors.Is(err, term.LimitExceeded) && len(entries) == 0 && x.MaxFiles-seen < x.MaxFiles {
		err = x.tooMany()
	}
	done(0, "", err)
	return entries, err
}

// tooMany is the error for more files than one copy may have.
func (x *copying) tooMany() error {
	return &term.Error{
		Op: "copy", Kind: term.LimitExceeded,
		Msg:    fmt.Sprintf("the tree has more than %d files and folders, the most that one copy may have", x.MaxFiles),
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitCopyFiles, Value: int64(x.MaxFiles)}},
		Advice: "copy its folders one by one, or pack it into one file",
	}
}

// twins returns the names that differ from another only in upper and lower case.
func twins(entries []term.FileEntry) map[string]bool {
	first := make(map[string]string, len(entries))
	var found map[string]bool
	for _, e := range entries {
		lower := strings.ToLower(e.Name)
		if other, ok := first[lower]; ok {
			if found == nil {
				found = make(map[string]bool)
			}
			found[e.Name], found[other] = true, true
		} else {
			first[lower] = e.Name
		}
	}
	return found
}

// item copies one item of a tree.
func (x *copying) item(ctx context.Context, i item) error {
	from, to := x.below(x.From.Path, i.rel), x.below(x.result.To, i.rel)
	there, err := x.there(ctx, i, to)
	if err != nil {
		return err
	}
	if i.entry.Mode.IsDir() {
		return x.folder(ctx, i, to)
	}
	if x.same(i, there) {
		x.result.Same++
		return nil
	}
	read, err := x.Permit(ctx, term.VerbFileRead, from, "copy")
	if err != nil {
		return err
	}
	write, err := x.Permit(ctx, term.VerbFileWrite, to, "copy")
	if err != nil {
		read(0, "", err)
		return err
	}
	n, err := x.file(ctx, job{from: from, to: to})
	read(n, "", err)
	write(n, "", err)
	return err
}

// there returns the entry at the path of an item, zero for none, and refuses one that must not be replaced: a symbolic
// link, which leads elsewhere, and a file that the same copy has made of a name that this file system takes for the same.
func (x *copying) there(ctx context.Context, i item, to string) (term.FileEntry, error) {
	there, err := x.to.Stat(ctx, to)
	switch {
	case errors.Is(err, term.NotFound):
		return term.FileEntry{}, nil
	case err != nil:
		return there, err
	case there.Type() == "link" && i.rel != "":
		return there, unsupported("the target has a symbolic link there, which is not followed")
	case !i.twin:
		return there, nil
	}
	entries, err := x.to.Entries(ctx, path.Dir(to), x.MaxFiles)
	for _, e := range entries {
		if e.Name == path.Base(to) {
			return there, nil
		}
	}
	if err != nil {
		return there, err
	}
	return there, unsupported("the target takes the name for that of another file, which differs only in upper and lower case")
}

// unsupported is the error for one item that is not copied.
func unsupported(why string) error {
	return &term.Error{Op: "copy", Kind: term.Unsupported, Msg: why}
}

// folder makes a folder at the target.
func (x *copying) folder(ctx context.Context, i item, to string) error {
	if i.rel == "" { // permitted already, with the copy
		made, err := x.to.MakeFolder(ctx, to, i.entry.Mode.Perm())
		x.result.Created = made
		return x.placed(ctx, to, err)
	}
	done, err := x.Permit(ctx, term.VerbFileWrite, to, "folder")
	if err != nil {
		return err
	}
	made, err := x.to.MakeFolder(ctx, to, i.entry.Mode.Perm())
	done(0, "", err)
	if made {
		x.result.Folders++
	}
	return err
}

// same says whether an earlier copy has brought the file, which has the size and the time of the source then.
func (x *copying) same(i item, there term.FileEntry) bool {
	return x.Resume && (x.Verify == nil || !*x.Verify) && there.Name != "" && there.Mode.IsRegular() &&
		there.Size == i.entry.Size && there.Modified.Unix() == i.entry.Modified.Unix()
}

// below returns the path of an item.
func (x *copying) below(root, rel string) string {
	if rel == "" {
		return root
	}
	return strings.TrimSuffix(root, "/") + "/" + rel
}

// skip notes an entry that is not copied.
func (x *copying) skip(s Skip) {
	x.result.Skips++
	if n := len(s.Path); n > maxSkipPath {
		s.Path = "..." + s.Path[n-maxSkipPath:]
	}
	if len(x.result.Skipped) < maxSkipped {
		x.result.Skipped = append(x.result.Skipped, s)
	}
}

// fail notes an entry that could not be copied.
func (x *copying) fail(rel string, err error) {
	x.result.Failed++
	x.skip(Skip{Path: rel, Err: err})
}

// kind names an entry that is neither a file nor a folder.
func kind(e term.FileEntry) string {
	if e.Type() == "link" {
		return "symbolic link"
	}
	return "no regular file"
}

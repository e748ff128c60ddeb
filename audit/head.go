package audit

// A Head is the end of the chain at one moment. Kept where ptyctl's user cannot write, it shows later that no line up to
// it was changed or removed: see VerifyHeads.
type Head struct {
	File  int64  // number of the file, from 1
	Bytes int64  // of that file, up to the end of the line
	Hash  string // of the line
}

// head returns the end of the chain; nil: the file is not open.
func (a *file) head() *Head {
	if a.f == nil {
		return nil
	}
	return &Head{File: a.number, Bytes: a.size, Hash: a.last}
}

// Head returns the end of the chain as far as it was forced to the disk, with FsyncNever as far as it was written: a
// crash of the machine then leaves it in the chain. It reports false for a nil Log.
func (l *Log) Head() (Head, bool) {
	if l == nil {
		return Head{}, false
	}
	h := l.head.Load()
	if h == nil {
		return Head{}, false
	}
	return *h, true
}

// VerifyHeads is Verify with any number of heads. missing are those that no line has, in the order of heads; after an
// error it is nil.
func VerifyHeads(heads []string, names ...string) (r Report, missing []string, err error) {
	v := verifier{heads: make(map[string]bool)}
	for _, h := range heads {
		v.heads[h] = false
	}
	if err := v.files(names); err != nil {
		return v.report, nil, err
	}
	if err := v.end(); err != nil {
		return v.report, nil, err
	}
	for _, h := range heads {
		if !v.heads[h] {
			missing = append(missing, h)
		}
	}
	return v.report, missing, nil
}

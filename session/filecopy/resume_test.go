//go:build unix

package filecopy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ptyctl/fsx"
	"ptyctl/term"
)

// TestResume: the connection is cut in the middle, and the next copy goes on, in both directions, with and without a
// comparison of the bytes there. Damage in between never stays if they are compared.
func TestResume(t *testing.T) {
	const size, cut = 24 << 20, 18 << 20
	for _, put := range []bool{true, false} {
		for _, verify := range []bool{true, false} {
			for _, damaged := range []bool{false, true} {
				if damaged && !verify {
					continue
				}
				name := map[bool]string{true: "put", false: "get"}[put] + map[bool]string{true: " verified"}[verify] +
					map[bool]string{true: " damaged"}[damaged]
				t.Run(name, func(t *testing.T) {
					b := newBench(t)
					data := noise(size)
					b.write(filepath.Join(b.from, "file"), data)
					b.write(filepath.Join(b.to, "file"), []byte("old"))
					run := func(cutAt int64) (Result, error) {
						far, s := b.far(nil)
						c := Copy{From: end(far, b.from, "file"), To: end(b.here, b.to, "file")}
						if put {
							c = Copy{From: end(b.here, b.from, "file"), To: end(far, b.to, "file")}
						}
						c.Resume, c.Verify, c.Parts = true, &verify, new(Parts)
						c.Progress = func(moved, total int64) {
							if total != size {
								t.Errorf("%d of %d bytes are told of", moved, total)
							}
							if cutAt > 0 && moved >= cutAt {
								_ = s.Close()
							}
						}
						return c.Run(t.Context())
					}
					if r, err := run(cut); !errors.Is(err, term.RemoteClosed) {
						t.Fatalf("a copy whose connection is cut: %+v, %v", r, err)
					}
					b.want("after the cut", []byte("old"), 1)
					if damaged {
						parts, _ := filepath.Glob(filepath.Join(b.to, ".file.*.ptyctl-part"))
						f, err := os.OpenFile(parts[0], os.O_WRONLY, 0)
						if err == nil {
							_, err = f.WriteAt([]byte("damaged"), 1<<20)
						}
						if err != nil {
							t.Fatal(err)
						}
						_ = f.Close()
					}
					r, err := run(0)
					if err != nil {
						t.Fatal(err)
					}
					if (r.Resumed > 0) == damaged || r.Bytes+r.Resumed != size || r.Verified != verify ||
						(r.SHA256 != "") != verify {
						t.Errorf("the copy that goes on: %+v; want a checksum only of what was compared", r)
					}
					b.want("at last", data, 0)
				})
			}
		}
	}
}

// TestResumeOther: a copy does not resume the partial copy of another file.
func TestResumeOther(t *testing.T) {
	b := newBench(t)
	b.write(filepath.Join(b.from, "file"), noise(16<<20))
	run := func(when int64) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		no := false
		c := Copy{
			From: end(b.here, b.from, "file"), To: end(b.here, b.to, "file"), Resume: true, Verify: &no,
			Progress: func(moved, _ int64) {
				if moved > when {
					cancel()
				}
			},
		}
		_, err := c.Run(ctx)
		return err
	}
	if err := run(12 << 20); !errors.Is(err, term.Canceled) {
		t.Fatalf("a copy that is canceled: %v", err)
	}
	b.want("after the cancel", nil, 1)
	other := bytes.Repeat([]byte("x"), 17<<20)
	b.write(filepath.Join(b.from, "file"), other)
	if err := run(1 << 40); err != nil {
		t.Fatal(err)
	}
	b.want("after the copy of another file", other, 1)

	parts := new(Parts)
	release, err := parts.take("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parts.take("x"); !errors.Is(err, term.Busy) {
		t.Errorf("a part in use: %v, want BUSY", err)
	}
	release()
	if _, err := parts.take("x"); err != nil {
		t.Errorf("a part that is free again: %v", err)
	}
}

// TestForeignPart: a copy never goes on with a file that another account may have put there.
func TestForeignPart(t *testing.T) {
	for _, put := range []bool{true, false} {
		b := newBench(t)
		data := noise(20 << 20)
		b.write(filepath.Join(b.from, "file"), data)
		b.write(filepath.Join(b.from, "victim"), []byte("untouched"))
		far, _ := b.far(nil)
		to := term.CopyFiles(b.here)
		if put {
			to = far
		}
		c := Copy{From: end(b.here, b.from, "file"), To: end(to, b.to, "file"), Resume: true}
		x := &copying{Copy: &c}
		e, err := b.here.Stat(t.Context(), c.From.Path)
		if err != nil {
			t.Fatal(err)
		}
		part := filepath.Join(b.to, x.partName(job{from: c.From.Path, to: c.To.Path}, e))
		if err := os.Symlink(filepath.Join(b.from, "victim"), part); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context()); !errors.Is(err, term.AccessDenied) {
			t.Errorf("a link in the part's place: %v, want ACCESS_DENIED", err)
		}
		if text, _ := os.ReadFile(filepath.Join(b.from, "victim")); string(text) != "untouched" {
			t.Errorf("the link's target holds %.20q", text)
		}
		if names, _ := filepath.Glob(filepath.Join(b.to, ".*.tmp")); names != nil {
			t.Errorf("left are %q", names)
		}
	}
}

// TestForeignPartSwapped: a part that is replaced by a link between the look at it and its opening is refused.
func TestForeignPartSwapped(t *testing.T) {
	b := newBench(t)
	b.write(filepath.Join(b.from, "file"), noise(20<<20))
	victim := filepath.Join(b.from, "victim")
	b.write(victim, []byte("untouched"))
	var part string
	swapped := false
	far, _ := b.far(func(p []byte) []byte {
		// SSH_FXP_OPEN of draft-ietf-secsh-filexfer-02 section 6.3, by its type after the length.
		if len(p) > 4 && p[4] == 3 && bytes.Contains(p, []byte(filepath.Base(part))) {
			swapped = true
			if err := errors.Join(os.Remove(part), os.Symlink(victim, part)); err != nil {
				t.Error(err)
			}
		}
		return p
	})
	c := Copy{From: end(b.here, b.from, "file"), To: end(far, b.to, "file"), Resume: true}
	x := &copying{Copy: &c}
	e, err := b.here.Stat(t.Context(), c.From.Path)
	if err != nil {
		t.Fatal(err)
	}
	part = filepath.Join(b.to, x.partName(job{from: c.From.Path, to: c.To.Path}, e))
	b.write(part, noise(12<<20))
	if _, err := c.Run(t.Context()); !errors.Is(err, term.AccessDenied) || !swapped {
		t.Errorf("a part that became a link (%v): %v, want ACCESS_DENIED", swapped, err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "untouched" {
		t.Errorf("the link's target holds %.20q", text)
	}
	if names, _ := filepath.Glob(filepath.Join(b.to, ".*.tmp")); names != nil {
		t.Errorf("left are %q", names)
	}
}

// An overdue is a context that reports an exceeded deadline once it is canceled.
type overdue struct{ context.Context }

func (o overdue) Err() error {
	if o.Context.Err() == nil {
		return nil
	}
	return context.DeadlineExceeded
}

// TestTimeout: the error of a copy that took too long says whether its data is kept.
func TestTimeout(t *testing.T) {
	for _, resume := range []bool{true, false} {
		for _, put := range []bool{true, false} {
			b := newBench(t)
			b.write(filepath.Join(b.from, "file"), noise(16<<20))
			to := term.CopyFiles(b.here)
			if put {
				to, _ = b.far(nil)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c := Copy{
				From: end(b.here, b.from, "file"), To: end(to, b.to, "file"), Resume: resume,
				Progress: func(int64, int64) { cancel(context.DeadlineExceeded) },
			}
			_, err := c.Run(overdue{ctx})
			if !errors.Is(err, term.IOError) || !strings.Contains(err.Error(), "the copy timed out") ||
				strings.Contains(err.Error(), "is kept") != resume {
				t.Errorf("resume %v: a copy that takes too long: %v; want IO_ERROR, and to hear of data that is kept", resume, err)
			}
			b.want("after the timeout", nil, map[bool]int{true: 1}[resume])
		}
	}
}

// TestResumeShrunk: a file that is copied between two servers shrinks while a copy goes on with it. Its beginning was
// never read by that copy, so that its checksum is not known, also where it is small enough now to be read back.
func TestResumeShrunk(t *testing.T) {
	const size, cut, left = 100 << 20, 40 << 20, 50 << 20
	b := newBench(t)
	name := filepath.Join(b.from, "file")
	b.write(name, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	run := func(progress func(moved int64, stop func())) (Result, error) {
		from, s := b.far(nil)
		to, _ := b.far(nil)
		c := Copy{
			From: end(from, b.from, "file"), To: end(to, b.to, "file"), Resume: true,
			Progress: func(moved, _ int64) { progress(moved, func() { _ = s.Close() }) },
		}
		return c.Run(t.Context())
	}
	_, err := run(func(moved int64, stop func()) {
		if moved >= cut {
			stop()
		}
	})
	if !errors.Is(err, term.RemoteClosed) {
		t.Fatalf("a copy whose connection is cut: %v", err)
	}
	var once sync.Once
	r, err := run(func(int64, func()) {
		once.Do(func() {
			if err := os.Truncate(name, left); err != nil {
				t.Error(err)
			}
		})
	})
	if err != nil || r.Verified || r.SHA256 != "" || !r.Changed {
		t.Errorf("a copy of a file that has shrunk: %+v, %v; want one that is not verified", r, err)
	}
}

// A shrinking is files that each shrink to size before they are read.
type shrinking struct {
	*fsx.Local
	size int64
}

func (s shrinking) Source(ctx context.Context, path string, follow bool) (term.FileSource, error) {
	src, err := s.Local.Source(ctx, path, follow)
	if err == nil {
		err = os.Truncate(path, s.size)
	}
	return src, err
}

// TestResumeShorter: a source that shrinks to less than the rest of an earlier copy is copied from its start. Data that
// it does not have any more does not come into the target.
func TestResumeShorter(t *testing.T) {
	for _, verify := range []bool{true, false} {
		b := newBench(t)
		data := noise(24 << 20)
		b.write(filepath.Join(b.from, "file"), data)
		run := func(from term.CopyFiles, stop int64) (Result, error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := Copy{
				From: end(from, b.from, "file"), To: end(b.here, b.to, "file"), Resume: true, Verify: &verify,
				Progress: func(moved, _ int64) {
					if moved >= stop {
						cancel()
					}
				},
			}
			return c.Run(ctx)
		}
		if _, err := run(b.here, 18<<20); !errors.Is(err, term.Canceled) {
			t.Fatalf("a copy that is canceled: %v", err)
		}
		const left = 3 << 20
		r, err := run(shrinking{b.here, left}, 1<<40)
		if err != nil || r.Resumed != 0 || r.Bytes != left || !r.Changed || r.SHA256 == "" {
			t.Errorf("verify %v: a copy of a file that has shrunk: %+v, %v; want all of it from its start", verify, r, err)
		}
		b.want("after the copy of what is left", data[:left], 0)
	}
}

//go:build unix

package hostkeys

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// policies are all policies: none of them may decide without the files.
var policies = []Policy{Strict, Ask, AcceptNew, Disabled}

// TestUnreadableFiles: whichever file cannot be read, and whatever the policy, no key is accepted.
func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	files := []struct {
		name, file string
		cause      error
	}{
		{"directory", dir, errDirectory},
		{"loop of links", loop, syscall.ELOOP},
	}
	if runtime.GOOS == "linux" {
		files = append(files, struct {
			name, file string
			cause      error
		}{"EIO", "/proc/self/mem", syscall.EIO}) // address 0 is never mapped
	}
	for _, f := range files {
		for name, o := range map[string]Options{
			"user":    {UserFiles: []string{writeLines(t), f.file}},
			"system":  {GlobalFiles: []string{f.file}},
			"caller":  {CallerFiles: []string{f.file}},
			"revoked": {RevokedFiles: []string{f.file}},
		} {
			o.Floor = Disabled
			for _, o.Policy = range policies {
				_, err := NewVerifier("server", 22, nil, o)
				if e := (*UnreadableError)(nil); !errors.As(err, &e) || e.File != f.file || !errors.Is(err, f.cause) {
					t.Errorf("%s as a %s file under %s: NewVerifier = %v, want UnreadableError of %s with %v",
						f.name, name, o.Policy, err, f.file, f.cause)
				}
			}
		}
	}
}

// withoutDescriptors calls f while this process cannot open a file.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// TestNoDescriptors: a process without descriptors must not take a changed key for a new one.
func TestNoDescriptors(t *testing.T) {
	k := keys()
	file := writeLines(t, "server "+text(k.ed), "@revoked * "+text(k.rsa))
	for name, o := range map[string]Options{
		"user":    {UserFiles: []string{file}},
		"system":  {GlobalFiles: []string{file}},
		"caller":  {CallerFiles: []string{file}},
		"revoked": {RevokedFiles: []string{writeLines(t, text(k.rsa))}},
	} {
		for _, o.Policy = range policies {
			var err error
			withoutDescriptors(t, func() { _, err = NewVerifier("server", 22, nil, o) })
			if !errors.As(err, new(*UnreadableError)) || !errors.Is(err, syscall.EMFILE) {
				t.Errorf("%s file under %s: NewVerifier = %v, want UnreadableError with EMFILE", name, o.Policy, err)
			}
		}
	}
}

// TestNoDescriptorsToRecord: a key that cannot be recorded for want of descriptors is refused, because the files were
// not read again, and because the next key would be a first one, too.
func TestNoDescriptorsToRecord(t *testing.T) {
	k := keys()
	for _, policy := range []Policy{AcceptNew, Disabled} {
		v := verifier(t, 22, Options{Policy: policy})
		var err error
		withoutDescriptors(t, func() { err = verify(t, v, k.ed) })
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("Verify under %s without descriptors = %v, want EMFILE", policy, err)
		}
		if err := verify(t, v, k.ed); err != nil {
			t.Errorf("Verify under %s with descriptors again = %v, want nil", policy, err)
		}
	}
}

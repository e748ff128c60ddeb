package leaktest

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Folder is the environment variable with the folder for the trails of several test
// programs.
const Folder = "PTYCTL_TEST_TRAIL"

// secretsEntry is the last entry of a trail: a trail without it is incomplete.
const secretsEntry = "secrets"

// A trail is a zip file with the registrations of one test program: an entry for each
// output, and the secrets.
type trail struct {
	mu      sync.Mutex // guards the following
	file    *os.File   // nil unless Main is running
	zip     *zip.Writer
	count   int
	secrets map[string]string // secrets, with the tests that registered them first
}

// keep is the trail of this test program.
var keep trail

// secret registers a secret.
func (k *trail) secret(tb testing.TB, text string) {
	tb.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		tb.Fatal("leaktest: TestMain does not call leaktest.Main")
	}
	if _, known := k.secrets[text]; !known {
		k.secrets[text] = tb.Name()
	}
}

// output writes an output to the trail.
func (k *trail) output(tb testing.TB, name string, data []byte) {
	tb.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		tb.Fatal("leaktest: TestMain does not call leaktest.Main")
	}
	k.count++
	if err := k.add(fmt.Sprintf("%s/%s#%d", tb.Name(), name, k.count), data); err != nil {
		tb.Errorf("leaktest: %v", err)
	}
}

// add writes an entry. The caller must hold k.mu.
func (k *trail) add(name string, data []byte) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	if len(data) < 4<<10 {
		h.Method = zip.Store // most are small, and compression would dominate the time
	}
	w, err := k.zip.CreateHeader(h)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// open creates the trail of this program in folder.
func (k *trail) open(folder string) error {
	f, err := os.CreateTemp(folder, strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")+"-*.zip")
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.file, k.zip, k.secrets = f, zip.NewWriter(f), make(map[string]string)
	return nil
}

// close writes the secrets and closes the file.
func (k *trail) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := json.Marshal(k.secrets)
	if err == nil {
		err = k.add(secretsEntry, text)
	}
	return errors.Join(err, k.zip.Close(), k.file.Close())
}

// read calls output for each output of a trail, or secret for each secret; the other one
// must be nil.
func read(path string, output func(name string, data []byte), secret func(text, test string)) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("%s: %w; its test program ended before it was whole", path, err)
	}
	defer z.Close()
	for _, e := range z.File {
		if (e.Name == secretsEntry) != (secret != nil) {
			continue
		}
		data, err := content(e)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, e.Name, err)
		}
		if output != nil {
			output(e.Name, data)
			continue
		}
		var secrets map[string]string
		if err := json.Unmarshal(data, &secrets); err != nil {
			return fmt.Errorf("%s: %s: %w", path, e.Name, err)
		}
		for text, test := range secrets {
			secret(text, test)
		}
	}
	return nil
}

// content returns the bytes of an entry.
func content(e *zip.File) ([]byte, error) {
	r, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

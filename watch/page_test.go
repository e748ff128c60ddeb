package watch

import (
	"io/fs"
	"testing"

	"ptyctl/watch/renderer"
)

// The page is small enough to be read, and to be opened at once.
func TestSize(t *testing.T) {
	const most = 150 << 10
	total := int64(0)
	for _, files := range []fs.FS{page, renderer.Files()} {
		err := fs.WalkDir(files, ".", func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				total += info.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if total > most {
		t.Errorf("the page has %d bytes, want at most %d", total, most)
	}
}

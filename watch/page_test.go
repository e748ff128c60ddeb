package watch

import (
	"io/fs"
	"testing"
)

// The page is small enough to be read, and to be opened at once.
func TestSize(t *testing.T) {
	const most = 150 << 10
	total := int64(0)
	err := fs.WalkDir(page, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil || total > most {
		t.Errorf("the page has %d bytes (%v), want at most %d", total, err, most)
	}
}

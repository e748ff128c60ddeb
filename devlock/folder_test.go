package devlock_test

import (
	"testing"

	"ptyctl/devlock"
	"ptyctl/devlock/locktest"
)

func TestFolderStore(t *testing.T) {
	locktest.Run(t, func(t testing.TB) (one, other devlock.Store) {
		dir := t.TempDir() + "/devices"
		return devlock.Folder(dir), devlock.Folder(dir)
	})
}

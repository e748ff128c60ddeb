package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"ptyctl/config"
	"ptyctl/fsx"
	"ptyctl/session"
	"ptyctl/term"
)

// fileLimits returns the limits on the bytes that one call may transfer.
func fileLimits(c config.FS) fsx.Limits {
	return fsx.Limits{Read: int64(c.MaxReadBytes), Write: int64(c.MaxWriteBytes), Entries: c.MaxEntries}
}

// localFiles returns the files of this machine that clients may reach; nil: none.
func localFiles(c config.FS) (term.Files, error) {
	if len(c.Roots) == 0 {
		return nil, nil
	}
	files, err := fsx.NewLocal(c.Roots, fileLimits(c))
	if err != nil {
		return nil, fmt.Errorf("fs.roots: %w; give folders that exist", err)
	}
	return files, nil
}

// farFiles returns the opener of the files on the hosts of SSH sessions; nil: they are not offered.
func farFiles(c config.FS) session.FarFiles {
	if !c.Remote {
		return nil
	}
	return func(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error) {
		files, err := fsx.NewSFTP(ctx, channel, fileLimits(c))
		if err != nil {
			return nil, err
		}
		return files, nil
	}
}

// offerOwnFiles offers the files of this machine and of hosts to a person, if these sets have tools for them. The folders
// of the configuration are for agents.
func (a *App) offerOwnFiles(toolsets []string) (err error) {
	if !slices.Contains(toolsets, "fs") {
		return nil
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	a.cfg.FS.Remote, a.cfg.FS.Roots = true, []string{filepath.VolumeName(here) + string(filepath.Separator)}
	if a.files, err = localFiles(a.cfg.FS); err == nil {
		a.closers = append(a.closers, func() { closeFiles(a.files) })
	}
	return err
}

func closeFiles(files term.Files) {
	if files != nil {
		_ = files.Close()
	}
}

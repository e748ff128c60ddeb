// Package fsx reaches files: those of this machine that lie in folders the operator has named, and those that an SFTP
// server shows.
//
//	files, err := fsx.NewLocal([]string{"/srv/app"}, fsx.Limits{})
//	if err != nil {
//		return err
//	}
//	defer files.Close()
//	data, err := files.Read(ctx, term.FileRead{Path: "/srv/app/config.toml"})
//
// Both are [term.Files], with the same arguments, the same results and the same way to replace a file: a temporary file
// beside it is written, forced to the disk, and renamed over it. Only regular files are read and written: a FIFO never
// blocks a call, and a device is never opened.
//
// [Local] never leaves its folders: no "..", no absolute path and no symbolic link leads out, also when one is put there
// in the middle of a call (see [os.Root]). What it cannot see is a file of elsewhere that somebody with rights inside has
// given a second name there (a hard link), or a file system that is mounted there.
//
// [SFTP] shows whatever the account on the far side may see: there the server is the one who judges.
//
// The names may change before 1.0.
package fsx

// Package fsx reads and writes files: those of this machine below folders that the operator
// has named, and those of an SFTP server. For example:
//
//	files, err := fsx.NewLocal([]string{"/srv/app"}, fsx.Limits{})
//	if err != nil {
//		return err
//	}
//	defer files.Close()
//	data, err := files.Read(ctx, term.FileRead{Path: "/srv/app/config.toml"})
//
// Both implement [term.Files], with the same arguments and results. Both replace a file in
// the same way: they write a temporary file beside it, force it to the disk, and rename it.
// Only regular files are read and written: a FIFO must never block a call, and a device must
// never be opened.
//
// [Local] never leaves its folders: no "..", absolute path or symbolic link leads out, even
// if one is created during a call (see [os.Root]). It cannot detect a hard link to a file
// elsewhere, created by a process with rights inside, or a file system mounted inside.
//
// [SFTP] gives access to every file that the remote account can use; the server enforces the
// rights.
//
// The names may change before 1.0.
package fsx

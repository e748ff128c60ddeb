// Package filecopy copies a file or a tree from one machine to another, or within one:
//
//	c := filecopy.Copy{
//		From: filecopy.End{Path: "/var/log/app.log", Open: there},
//		To:   filecopy.End{Path: "/srv/app.log", Open: here},
//	}
//	result, err := c.Run(ctx)
//
// The data goes through this process in blocks: some are read ahead and some are written at the same time, and memory
// holds no others, however large the file is. The package promises:
//
//   - A file is replaced as a whole. Until then the old file stays, whatever fails or is canceled. No temporary file
//     stays if the target can still be reached.
//   - A copy that resumes an earlier one never mixes two files; see part.go.
//   - In a tree nothing but regular files and folders is copied, no symbolic link is followed on either side, and no
//     name leads out of the target.
//   - Every file is asked for and put on record by itself (Copy.Permit).
//
// It knows only package term, no session and no protocol.
package filecopy

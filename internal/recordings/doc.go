// Package recordings prints the output of ptyctl recordings: the list of a folder, the facts and lines of recordings,
// and their other forms.
//
//	err := recordings.Search(ctx, os.Stdout, paths, regexp.MustCompile("error"), 100)
//
// The output of a far side is shown without a control character.
package recordings

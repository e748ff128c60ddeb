// Package recordings prints what ptyctl recordings shows: the list of a folder, the facts and lines of recordings, and
// their other forms.
//
//	err := recordings.Search(ctx, os.Stdout, paths, regexp.MustCompile("error"), 100)
//
// What a far side has written is shown without a control character.
package recordings

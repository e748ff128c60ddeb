// Package linediff shows in which lines two texts differ, in few words.
//
//	d := linediff.Compare(linediff.Lines(before), linediff.Lines(after), linediff.Options{})
//	fmt.Print(d.Text)
//
//	@@ 12
//	 listen 80;
//	-server_tokens on;
//	+server_tokens off;
//	 root /var/www;
//
// The number is that of the hunk's first line in the first text, or in the second if the first has none of its lines.
//
// Promises:
//   - The lines of a diff that is not cut turn the first text into the second.
//   - The work is bounded: of texts with more than 1,000 removed and added lines together, TooDifferent is
//     set and there is no text, only the counts of lines that one text has and the other has not. Otherwise
//     no other difference has fewer of them.
package linediff

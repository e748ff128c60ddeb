// Package quote writes words so that a command interpreter reads exactly those words.
//
//	line, err := quote.Line(quote.Posix, []string{"grep", "it's", "/var/log/my file"})
//	// 'grep' 'it'\''s' '/var/log/my file'
//
// Each word is put in single quotes, in which shells expand nothing. Three characters are
// special there in some shell and must be outside the quotes, after a backslash: the
// quote itself, the backslash (fish) and the exclamation mark (csh, and the history of
// interactive shells). POSIX shells, fish and csh read the result alike, except for a
// line end, which needs another form in csh.
//
// Other interpreters, for example cmd.exe, PowerShell and network devices, get words
// without quotes. A word that would need quotes there is an error.
package quote

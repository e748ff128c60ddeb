// Package quote writes words so that a command interpreter reads exactly those words.
//
//	line, err := quote.Line(quote.Posix, []string{"grep", "it's", "/var/log/my file"})
//	// 'grep' 'it'\''s' '/var/log/my file'
//
// Every word is put in single quotes, which no shell looks into, except for the three characters that some shell treats
// specially there: the quote itself, the backslash (fish) and the exclamation mark (csh, and the history of interactive
// shells). They stand outside the quotes, behind a backslash. POSIX shells, fish and csh read the result alike; only a
// line end differs, for which csh has a form of its own.
//
// An interpreter of another class (cmd.exe, PowerShell, a network device) gets words without quotes. It gets none that
// would need them.
package quote

// Package keys knows the names of keys and the bytes that a terminal sends for them.
//
//	b, ok := keys.Bytes("arrow_up", applicationCursor)
//
// A name is lower case with underscores, for example enter, ctrl_c, f5 or page_down; [List] has all of them. [Similar]
// finds the key that a name from elsewhere means, such as Ctrl-C or <C-c>, and [Spelled] the key that a text spells
// instead of pressing it, such as \x03.
//
// Input that is more than a key: [Paste] gives data the form that a terminal sends for pasted text, and a [Line]
// counts typed bytes, because a terminal takes [MaxLine] bytes of a line and no more.
//
// The package does no I/O. Only a Line has state.
package keys

// Package forms finds secrets in output, as they are and in the forms in which programs write text.
//
//	m := forms.New([]forms.Value{{Text: password}})
//	defer m.Wipe()
//	shown := m.Mask(output) // each form of the password is Mask
//
// The forms of a value are the value itself; base64 in both alphabets, wherever in a longer text the value is, also of
// UTF-16; hexadecimal, plain and as dumps write it; the escapes of URLs, shells, JSON, HTML and SQL; and the value from
// its end to its beginning. A form may be wrapped: line ends, backspaces and control sequences between its characters
// are no part of it, up to 64 bytes at a time.
//
// Nothing else is replaced. The search looks at a few bytes of every word of the text, by a table of all forms, so that
// its cost hardly depends on their number. A Filter does it for a stream that is cut anywhere.
package forms

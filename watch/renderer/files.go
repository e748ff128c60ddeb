package renderer

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed screen.js screen.css
var files embed.FS

// Files has screen.js, which is a module, and screen.css.
func Files() fs.FS { return files }

// Style is screen.css.
func Style() string { return read("screen.css") }

// Script is screen.js for a page whose own script follows it in the same element: without the word export, which
// modules alone may have, its Screen and printable are names of that script.
func Script() string {
	lines := strings.SplitAfter(read("screen.js"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "export ")
	}
	return strings.Join(lines, "")
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil { // it is embedded
		panic(err)
	}
	return string(text)
}

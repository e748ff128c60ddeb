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

// Script returns screen.js for a page that has its own script after it in the same element. It is without the word
// export, which only modules may have, so that the page's script can use the names Screen and printable.
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

package profile

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed families/*.toml
var files embed.FS

// A family is a profile that is read when somebody first asks for it: to compile the patterns of one takes a
// millisecond, and most sessions have none.
type family struct {
	name    string
	profile func() Profile
}

// families are all there are, sorted by name.
var families = sync.OnceValue(func() []family {
	paths, err := fs.Glob(files, "families/*.toml")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	all := make([]family, len(paths))
	for i, name := range paths {
		all[i] = family{strings.TrimSuffix(path.Base(name), ".toml"), sync.OnceValue(func() Profile {
			p, err := load(files, name)
			if err != nil {
				panic(err) // a fault of the build, which the tests find
			}
			return p
		})}
	}
	return all
})

// load reads one file.
func load(fsys fs.FS, name string) (Profile, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Profile{}, err
	}
	p, err := parse(text)
	if err != nil {
		return Profile{}, fmt.Errorf("profile: %s: %w", name, err)
	}
	p.Name = strings.TrimSuffix(path.Base(name), ".toml")
	return p, nil
}

// parse reads the text of a file. A key that does not exist is an error: it would be a pattern that nobody sees.
func parse(text []byte) (Profile, error) {
	var p Profile
	return p, toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&p)
}

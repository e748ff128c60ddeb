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

// A family is a profile that is read at its first use, because compiling its patterns
// takes a millisecond and most sessions have no profile.
type family struct {
	name    string
	profile func() Profile
}

// families holds all families, sorted by name.
var families = sync.OnceValue(func() []family {
	paths, err := fs.Glob(files, "families/*.toml")
	if err != nil {
		panic(err) // only for a malformed pattern
	}
	all := make([]family, len(paths))
	for i, name := range paths {
		all[i] = family{strings.TrimSuffix(path.Base(name), ".toml"), sync.OnceValue(func() Profile {
			p, err := load(files, name)
			if err != nil {
				panic(err) // an error in the build, which the tests detect
			}
			return p
		})}
	}
	return all
})

// load reads one file. The profile gets the name of the file.
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

// parse parses a file. An unknown key is an error, for example a misspelled pattern that
// would otherwise never match.
func parse(text []byte) (Profile, error) {
	var p Profile
	return p, toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&p)
}

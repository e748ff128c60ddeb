package sshconfig

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const maxEntries = 100_000 // most directory entries for all Include patterns together

// glob returns the sorted paths that match pattern, like glob(3): a wildcard does not match a
// leading dot, and a path without wildcards is returned as it is. Unlike filepath.Glob it has
// a limit on the directory entries it reads.
func (e *evaluator) glob(pattern string) ([]string, error) {
	// The path is matched part by part, because only then the entries read can be counted.
	volume := filepath.VolumeName(pattern)
	parts := strings.Split(filepath.ToSlash(pattern[len(volume):]), "/")
	paths, wild := []string{volume}, false
	for i, part := range parts {
		if i > 0 {
			for j := range paths {
				paths[j] += string(filepath.Separator)
			}
		}
		if !strings.ContainsAny(part, `*?[`) {
			for j := range paths {
				paths[j] += part
			}
			continue
		}
		wild = true
		// glob(3) writes [!a] where package filepath writes [^a].
		part = strings.ReplaceAll(part, "[!", "[^")
		if _, err := filepath.Match(part, ""); err != nil {
			return nil, errors.New("the pattern is malformed: a bracket is not closed")
		}
		var found []string
		for _, dir := range paths {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue // an unreadable directory counts as empty
			}
			if e.budget.entries += len(entries); e.budget.entries > maxEntries {
				return nil, errors.New("the pattern covers too many files: name the directory")
			}
			for _, entry := range entries {
				name := entry.Name()
				if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") {
					continue
				}
				if ok, _ := filepath.Match(part, name); ok {
					found = append(found, dir+name)
				}
			}
		}
		paths = found
	}
	if wild {
		// The part after the last wildcard was appended without a check.
		paths = slices.DeleteFunc(paths, func(path string) bool {
			_, err := os.Lstat(path)
			return err != nil
		})
	}
	slices.Sort(paths)
	return paths, nil
}

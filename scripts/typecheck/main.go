// Command typecheck reads packages and their tests as the compiler of each platform would, and reports code that does
// not compile:
//
//	go run ./scripts/typecheck darwin/arm64 freebsd/amd64 windows/amd64 -- PACKAGE...
//
// It compiles nothing, and needs nothing compiled: of Go's own packages it reads the declarations alone. A platform takes 5 s
// of a processor, and go build 86 s where nothing of it is in the cache.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

func main() {
	at := slices.Index(os.Args, "--")
	if at < 2 {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS/GOARCH... -- PACKAGE...")
		os.Exit(2)
	}
	// What is read of a platform is kept until its end, so that a collection finds little: with fewer of them, five platforms
	// take 22 s of a processor and not 27 s. Two at once then need no more memory than all of them did.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	var wait sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	faults := make([][]error, at-1)
	for i, platform := range os.Args[1:at] {
		wait.Go(func() {
			turns <- struct{}{}
			faults[i] = check(platform, os.Args[at+1:])
			<-turns
		})
	}
	wait.Wait()
	status := 0
	for i, platform := range os.Args[1:at] {
		for _, fault := range faults[i] {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, fault)
			status = 1
		}
	}
	os.Exit(status)
}

// A listed is a package as go list -json describes it. A package with its tests is one of its own.
type listed struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	ImportMap             map[string]string // the package that an import means here, if it is another one
	Standard              bool
	Error                 *struct{ Err string }
}

// check returns the errors in packages, and in their tests, on a platform.
func check(platform string, packages []string) []error {
	system, arch, _ := strings.Cut(platform, "/")
	list := exec.Command("go", append([]string{
		"list", "-e", "-deps", "-test", "-json=ImportPath,Dir,Name,GoFiles,ImportMap,Standard,Error",
	}, packages...)...)
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return []error{fmt.Errorf("go list: %w", err)}
	}
	c := checker{
		fset: token.NewFileSet(), sizes: types.SizesFor("gc", arch), files: make(map[string]*ast.File),
		known: map[string]*types.Package{"unsafe": types.Unsafe},
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; { // the packages that one imports come before it
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return c.faults
		} else if err != nil {
			return append(c.faults, fmt.Errorf("go list: %w", err))
		}
		if p.Error != nil {
			c.faults = append(c.faults, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err))
		}
		if p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test") { // a main function that go test writes
			c.check(p)
		}
	}
}

// A checker holds the packages and faults of one platform.
type checker struct {
	fset   *token.FileSet
	sizes  types.Sizes
	files  map[string]*ast.File // by path: a file is in a package, and in the same with its tests
	known  map[string]*types.Package
	faults []error
}

// check adds a package, and its errors if it is not Go's own.
func (c *checker) check(p listed) {
	ours := !p.Standard
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		f := c.files[path]
		if f == nil {
			var err error
			if f, err = parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution); err != nil && ours {
				c.faults = append(c.faults, err)
			}
			c.files[path] = f
		}
		files = append(files, f)
	}
	config := types.Config{
		Sizes: c.sizes, IgnoreFuncBodies: !ours, FakeImportC: true,
		Importer: importer{c, p.ImportMap},
		Error: func(err error) {
			if ours {
				c.faults = append(c.faults, err)
			}
		},
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	c.known[p.ImportPath], _ = config.Check(path, c.fset, files, nil) // Error has the errors
}

// An importer resolves the imports of a package.
type importer struct {
	c    *checker
	here map[string]string
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if other, ok := i.here[path]; ok {
		path = other
	}
	if p := i.c.known[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not known here", path)
}

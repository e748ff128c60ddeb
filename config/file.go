package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
)

// Limits against files that are not configurations.
const (
	maxFileBytes    = 1 << 18 // far more than every key with a long comment needs
	maxFileProblems = 100     // more problems than a configuration has
)

// readFile reads the values of the TOML file at path. If optional is true, the file may
// be missing.
func (l *loader) readFile(path string, optional bool) {
	doc, err := readBounded(path)
	switch {
	case err == nil:
		l.readTOML(path, doc)
	case optional && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		// ENOTDIR counts as missing, too: for example, service accounts have the home
		// /dev/null.
	case errors.Is(err, fs.ErrNotExist):
		l.fail(path, "configuration file does not exist; create it, or correct the path", err)
	default:
		l.fail(
			path,
			fmt.Sprintf("configuration file not readable (%v); use a TOML file that this user may read", err),
			err,
		)
	}
}

// errTooLong keeps a wrong path, for example /dev/zero, from filling the memory.
var errTooLong = fmt.Errorf("it is longer than %d bytes", maxFileBytes)

// readBounded reads a file of at most maxFileBytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(doc) > maxFileBytes {
		err = errTooLong
	}
	return doc, err
}

// readTOML reads the values of a document. It walks the syntax tree, because decoding
// into a struct would stop at the first value of a wrong type. The walk does not know the
// rules between expressions, for example that no key is defined twice, so the document is
// also decoded for its errors.
func (l *loader) readTOML(name string, doc []byte) {
	w := &walk{
		loader: l,
		name:   name,
		doc:    bytes.TrimPrefix(doc, []byte("\ufeff")),
		most:   len(l.problems) + maxFileProblems,
	}
	w.parser.Reset(w.doc)
	for w.parser.NextExpression() {
		w.expression(w.parser.Expression())
		if w.full() {
			l.fail(
				name,
				fmt.Sprintf(
					"reading stopped after %d problems; correct these first, or use another file",
					maxFileProblems,
				),
				nil,
			)
			return
		}
	}
	w.finish()
	var invalid *toml.DecodeError
	if err := toml.Unmarshal(w.doc, &struct{}{}); errors.As(err, &invalid) {
		line, column := invalid.Position()
		l.fail(fmt.Sprintf("%s:%d:%d", name, line, column),
			"this is not valid TOML ("+strings.TrimPrefix(invalid.Error(), "toml: ")+"); correct the line", invalid)
	} else if err != nil {
		l.fail(name, "this is not valid TOML; correct the file", err)
	}
}

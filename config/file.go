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

const (
	maxFileBytes    = 1 << 18 // far more than every key with a long comment
	maxFileProblems = 100     // a file with more is not one of ours
)

// readFile takes the values of the TOML file at path. If optional, a file that
// does not exist is fine.
func (l *loader) readFile(path string, optional bool) {
	doc, err := readBounded(path)
	switch {
	case err == nil:
		l.readTOML(path, doc)
	case optional && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		// Also ENOTDIR: service accounts have a home such as /dev/null.
	case errors.Is(err, fs.ErrNotExist):
		l.fail(path, "the configuration file does not exist; create it, or correct the path", err)
	default:
		l.fail(
			path,
			fmt.Sprintf("the configuration file cannot be read (%v); name a TOML file that this user may read", err),
			err,
		)
	}
}

var errTooLong = fmt.Errorf("it is longer than %d bytes", maxFileBytes)

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

// readTOML takes the values of a document. It walks the syntax tree itself,
// because decoding into a struct stops at the first value of a wrong type. The
// walk knows nothing of the rules between expressions, such as a key defined
// twice, so the document is decoded as well, for its error alone.
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
				fmt.Sprintf("the rest was not read after %d problems; correct these first, or name another file", maxFileProblems),
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

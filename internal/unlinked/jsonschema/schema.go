// Package jsonschema stands in for github.com/santhosh-tekuri/jsonschema/v6, the validator of mcp-go, which ptyctl never
// calls: it checks arguments itself. That package compiles the schemas of all drafts when a program starts, a fifth of the
// time until ptyctl answers, and Go has no other way to leave out a package that another one imports. go.mod puts this
// module in its place (replace); docs/decisions/0038 has the figures.
//
// It has the names that mcp-go uses. A schema compiles, since mcp-go checks nothing against one that does not, and
// refuses every value: a server with input validation accepts no unchecked call.
package jsonschema

import (
	"encoding/json"
	"errors"
	"io"
)

var errUnlinked = errors.New("the validator is not linked: see docs/decisions/0038 of ptyctl")

// A Schema refuses every value.
type Schema struct{}

// Validate returns an error.
func (*Schema) Validate(any) error { return errUnlinked }

// A Compiler compiles every text.
type Compiler struct{}

// NewCompiler returns a Compiler.
func NewCompiler() *Compiler { return &Compiler{} }

// AddResource does nothing.
func (*Compiler) AddResource(string, any) error { return nil }

// Compile returns a Schema that refuses every value.
func (*Compiler) Compile(string) (*Schema, error) { return new(Schema), nil }

// A ValidationError is a type of error that Validate never returns.
type ValidationError struct {
	InstanceLocation []string
	ErrorKind        any
	Causes           []*ValidationError
}

func (*ValidationError) Error() string { return errUnlinked.Error() }

// UnmarshalJSON returns the value that r holds as JSON, with its numbers as they are written.
func UnmarshalJSON(r io.Reader) (any, error) {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

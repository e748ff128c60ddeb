package elicit

import (
	"bytes"
	"io"
)

// A sentForm is a form as a browser sends it: application/x-www-form-urlencoded. Its values are bytes that wipe can
// overwrite; package net/url has them as strings, which stay in memory.
type sentForm struct {
	body   []byte
	fields map[string][]byte // parts of body
}

// readForm reads a form; wipe it when it is no longer needed. Of a name that comes more than once, the first counts.
func readForm(r io.Reader) (*sentForm, error) {
	f := &sentForm{body: make([]byte, 0, pageBody+1), fields: make(map[string][]byte)}
	for len(f.body) < cap(f.body) { // the reader fails behind pageBody
		n, err := r.Read(f.body[len(f.body):cap(f.body)])
		f.body = f.body[:len(f.body)+n]
		if err == io.EOF { // which Read returns as it is
			break
		}
		if err != nil {
			f.wipe()
			return nil, err
		}
	}
	for pair := range bytes.SplitSeq(f.body, []byte("&")) {
		name, value, _ := bytes.Cut(pair, []byte("="))
		if _, again := f.fields[string(name)]; !again {
			f.fields[string(name)] = unescape(value)
		}
	}
	return f, nil
}

// get returns the value of a field, nil if the form lacks it. The value is valid until wipe.
func (f *sentForm) get(name string) []byte { return f.fields[name] }

func (f *sentForm) has(name string) bool { _, ok := f.fields[name]; return ok }

// wipe overwrites all that was read.
func (f *sentForm) wipe() {
	clear(f.body[:cap(f.body)])
	clear(f.fields)
}

// unescape decodes a value in place (URL Standard, 5.1). An invalid escape is copied literally.
func unescape(b []byte) []byte {
	n := 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(b) && isHex(b[i+1]) && isHex(b[i+2]):
			c = hexValue(b[i+1])<<4 | hexValue(b[i+2])
			i += 2
		}
		b[n] = c
		n++
	}
	return b[:n]
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hexValue(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

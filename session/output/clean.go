package output

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"ptyctl/vt"
)

// FirstLine returns Head with the start of the line that it goes on with, as far as that was held; nothing if Head is
// empty.
func (o Excerpt) FirstLine() []byte {
	begun := o.before[bytes.LastIndexByte(o.before, '\n')+1:]
	if len(begun) == 0 || len(o.Head) == 0 {
		return o.Head
	}
	return append(slices.Clip(begun), o.Head...)
}

// Clean returns Head and Tail as text for reading, of a terminal of known width (0: unknown): without escape sequences,
// and overwritten text in its last state; see package vt.
func (o Excerpt) Clean(cols int) (head, tail []byte, removed vt.Sanitized) {
	c := vt.Cleaner{Cols: cols}
	if o.Complete() {
		head, removed = c.From(o.before, o.Bytes())
		return head, nil, removed
	}
	head, removed = c.From(o.before, o.Head)
	c = vt.Cleaner{Cols: cols}
	tail, more := c.From(o.beforeTail, o.Tail)
	return head, tail, removed.Plus(more)
}

// WithoutSGR returns Head and Tail of an output that was not made for a terminal without their colours; see
// vt.WithoutSGR. They stay as they are if they are not UTF-8.
func (o Excerpt) WithoutSGR() (head, tail []byte, removed vt.Sanitized) {
	if o.Complete() {
		if head = o.Bytes(); utf8.Valid(head) {
			head, removed = vt.WithoutSGR(o.before, head, !o.ended)
		}
		return head, nil, removed
	}
	if !utf8.Valid(o.Head) || !utf8.Valid(o.Tail) {
		return o.Head, o.Tail, removed
	}
	head, removed = vt.WithoutSGR(o.before, o.Head, true)
	tail, more := vt.WithoutSGR(o.beforeTail, o.Tail, !o.ended)
	return head, tail, removed.Plus(more)
}

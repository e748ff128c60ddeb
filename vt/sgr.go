package vt

import "bytes"

// longestSGR is the length of the longest SGR that WithoutSGR takes for one.
const longestSGR = 128

// WithoutSGR returns data, a part of an output that was not made for a terminal, without its colours: the sequences of
// SGR (Select Graphic Rendition, ECMA-48 section 8.3.117). Any other ESC becomes the four characters \x1b, which
// Sanitized.Escapes counts. All other bytes stay as they are.
//
// context is the output directly before data; 128 bytes are enough. more says that output may follow: then the
// beginning of an SGR at the end of data is left for the next call, which gets data as part of its context.
//
// The result is data itself if there is nothing to change.
func WithoutSGR(context, data []byte, more bool) (text []byte, s Sanitized) {
	if n := partialSGR(context); n > 0 {
		data = append(bytes.Clone(context[len(context)-n:]), data...)
	}
	if more {
		data = data[:len(data)-partialSGR(data)]
	}
	at := bytes.IndexByte(data, esc)
	if at < 0 {
		return data, s
	}
	text = make([]byte, 0, len(data))
	for ; at >= 0; at = bytes.IndexByte(data, esc) {
		text = append(text, data[:at]...)
		data = data[at:]
		n, whole := sgr(data)
		if !whole {
			text = append(text, `\x1b`...)
			s.Escapes++
			n = 1
		}
		data = data[n:]
	}
	return append(text, data...), s
}

// sgr returns the length of the SGR, or of as much of one as there is, at the front of b, which begins with ESC.
func sgr(b []byte) (n int, whole bool) {
	b = b[:min(len(b), longestSGR)]
	if n = 1; n < len(b) && b[n] == '[' {
		for n++; n < len(b) && b[n] >= '0' && b[n] <= ';'; n++ {
		}
		if n < len(b) && b[n] == 'm' {
			return n + 1, true
		}
	}
	return n, false
}

// partialSGR returns how many bytes at the end of b begin an SGR that b does not finish.
func partialSGR(b []byte) int {
	b = b[max(len(b)-longestSGR+1, 0):]
	at := bytes.LastIndexByte(b, esc)
	if at < 0 {
		return 0
	}
	if n, whole := sgr(b[at:]); whole || at+n < len(b) {
		return 0
	}
	return len(b) - at
}

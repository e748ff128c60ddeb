package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"slices"
)

// pageSize is the characters of a page: few enough that a page is read in a moment, many
// enough that they compress well.
const pageSize = 1024

// pack writes the pages as package screen/picture reads them; see its file bitmap.go.
func pack(glyphs map[rune][]byte) ([]byte, error) {
	var numbers []rune
	for r := range glyphs {
		if n := r / pageSize; !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	index := binary.BigEndian.AppendUint16(nil, uint16(len(numbers)))
	var pages bytes.Buffer
	for _, n := range numbers {
		page := make([]byte, pageSize)
		for i := range rune(pageSize) {
			glyph := glyphs[n*pageSize+i]
			page[i] = byte(len(glyph) / height)
			page = append(page, glyph...)
		}
		z, err := flate.NewWriter(&pages, flate.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(page); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		index = binary.BigEndian.AppendUint16(index, uint16(n))
		index = binary.BigEndian.AppendUint32(index, uint32(pages.Len()))
	}
	return append(index, pages.Bytes()...), nil
}

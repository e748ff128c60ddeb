package nodeset

import (
	"cmp"
	"strings"
)

// Compare orders names for people: web2 before web10, web01 before web1. It returns 0 for equal names alone.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var m, n string
			m, x = leading(x)
			n, y = leading(y)
			m, n = strings.TrimLeft(m, "0"), strings.TrimLeft(n, "0")
			if c := compareNumbers(m, n); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// leading cuts off the digits at the start of a text.
func leading(text string) (number, rest string) {
	i := 0
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return text[:i], text[i:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

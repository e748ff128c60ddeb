package fsx

import "slices"

// A page collects the names of a folder, in any order, and keeps the first ones
// after a given name. A folder of a million names needs only the memory of the
// page.
type page struct {
	after string
	limit int
	kept  []string
}

// newPage returns a page of the limit names that follow after.
func newPage(after string, limit int) *page { return &page{after: after, limit: limit} }

// add adds a name of the folder.
func (p *page) add(name string) {
	if name <= p.after {
		return
	}
	// Sorting now and then keeps both the memory and the time small.
	if p.kept = append(p.kept, name); len(p.kept) > 2*p.limit+1024 {
		p.cut()
	}
}

// cut keeps one name more than the page has, which shows that more follow.
func (p *page) cut() {
	slices.Sort(p.kept)
	p.kept = p.kept[:min(len(p.kept), p.limit+1)]
}

// names returns the page's names in order. If others follow, it also returns the
// last of the page.
func (p *page) names() (names []string, last string, more bool) {
	p.cut()
	if len(p.kept) > p.limit {
		return p.kept[:p.limit], p.kept[p.limit-1], true
	}
	return p.kept, "", false
}

package elicit

import (
	"context"

	"ptyctl/session"
)

// PageBody is the most that a form may have, in bytes.
const PageBody = pageBody

// OpenPage makes a page for a question.
func OpenPage(ctx context.Context, p *Pages, a *session.Question) (string, error) {
	return p.open(ctx, a)
}

package toolset

// NewID returns a fresh id for a session that the call is about to open. It has the name of this node, if there are
// others, so that calls about the session come here from each of them.
func NewID(c *Call, program string) string { return c.shared.Sessions.ServerView().NewID(program) }

// FreshID is NewID for ids of another form: it returns an id from form that no session has.
func FreshID(c *Call, form func() string) string {
	for {
		id := c.shared.Sessions.ServerView().IDHere(form())
		if _, err := c.shared.Sessions.Get(id); err != nil {
			return id
		}
	}
}
